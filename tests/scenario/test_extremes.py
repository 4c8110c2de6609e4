"""Numbers that no arithmetic can hold: the field is named, whether its own bound or what comes of it is in the way."""

from __future__ import annotations

import pytest

from simnet import Scenario, ScenarioError, run
from simnet.scenario.extremes import most_extreme, within_numbers
from tests.worlds import STUDIED


def refused(**changes: object) -> str:
    with pytest.raises(ScenarioError) as refusal:
        run(Scenario.of(STUDIED).with_(**changes))
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("method", "field", "value"),
    [
        ("pdml", "primal_decay", 1e-300),
        ("m-admm", "noise_growth", 1e-300),
        ("m-admm", "noise_growth", 1e300),
        ("r-admm", "noise_growth", 1e300),
        ("m-admm", "penalty_growth", 1e300),
        ("r-admm", "penalty_growth", 1e300),
        ("m-admm", "dual_growth", 1.7e308),
        ("m-admm", "noise_rate", 5e-324),
        ("m-admm", "loss_weight", 1e300),
        ("m-admm", "eta", 1e-300),
        ("dp-admm", "sigma", 1e-300),
        ("pdml", "label_epsilon", 5e-324),
        ("pdml", "primal_scale", 1e-300),
    ],
)
def test_a_value_that_nobody_means_is_refused_by_its_field(method, field, value):
    star = {"topology": {"kind": "star", "agents": 4}} if method == "dp-admm" else {}
    told = refused(algorithm={"name": method, field: value}, **star)
    assert told.startswith(f"algorithm.{field} = ")
    assert "at least" in told or "at most" in told or "a factor per round" in told


@pytest.mark.parametrize("field", ["noise_growth", "penalty_growth", "dual_growth"])
def test_growth_over_many_rounds_is_refused_before_it_overflows(field):
    told = refused(rounds=5000, algorithm={"name": "m-admm", field: 1.5})
    assert told == (
        f"algorithm.{field} = 1.5: over 5,000 rounds that is a factor of 1e+880, and numbers have room for 1e±100; "
        "nearer to 1 would do"
    )


@pytest.mark.parametrize("field", ["agent_growth", "agent_noise_growth"])
def test_growth_of_single_agents_counts_too(field):
    told = refused(rounds=5000, algorithm={"name": "m-admm", field: [1.0, 1.0, 0.5, 1.0]})
    assert told.startswith(f"algorithm.{field} = 0.5: over 5,000 rounds")


@pytest.mark.parametrize("method", ["dvp", "pvp", "m-admm", "r-admm"])
@pytest.mark.parametrize("epsilon", [1e7, 1e12, 1e18])
def test_a_budget_as_good_as_none_can_be_met(method, epsilon):
    """Calibration looked for its noise below ε = 1e6 only, and found no sign there."""
    found = run(Scenario.of(STUDIED).with_(**{"algorithm.name": method, "privacy.epsilon": epsilon}))
    assert found.summary["privacy"]["proven_epsilon"] <= epsilon


def test_arithmetic_that_gives_way_is_blamed_on_the_field_farthest_from_1():
    scenario = Scenario.of(STUDIED).with_(**{"algorithm.eta": 1e-20, "network.link.latency": 1e9, "seed": 10**15})
    assert most_extreme(scenario) == ("algorithm.eta", 1e-20)
    with (
        pytest.raises(ScenarioError, match=r"algorithm\.eta = 1e-20: with it a number leaves the range") as refusal,
        within_numbers(scenario),
    ):
        divmod(1, 0)
    assert isinstance(refusal.value.__cause__, ZeroDivisionError)


def test_a_bug_under_ordinary_values_keeps_its_traceback():
    scenario = Scenario.of(STUDIED)
    assert most_extreme(scenario) is None
    with pytest.raises(ZeroDivisionError), within_numbers(scenario):
        divmod(1, 0)


def test_an_error_of_the_users_own_process_is_theirs():
    def faulty(engine: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Scenario.of(STUDIED).with_(**{"algorithm.eta": 1e-20}), attach=[faulty])


def test_an_override_that_does_not_fit_its_preset_is_a_sentence():
    network = {"link": {"preset": "wan"}, "override": [{"agent": 0, "mtu": 20}]}
    assert refused(network=network) == "network.override.0.mtu: more than the overhead, which is 28 bytes"
