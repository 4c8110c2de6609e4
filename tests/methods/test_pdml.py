"""PDML: reports on the network, flipped labels, and servers that do what a plain loop does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.audit.pair import pair
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset
from simnet.learning.objective import LOGISTIC, LocalObjective, unbiased
from simnet.privacy.ledger import account
from simnet.privacy.noise import flip_probability
from simnet.record.events import PrivacySpent, ReleaseMade, ReportsGathered, RoundStarted
from simnet.record.laws import Laws
from simnet.record.lines import unpack
from simnet.streams import Streams
from tests.methods import straight_line
from tests.worlds import audited_world

ROUNDS, SERVERS, FEATURES = 10, 5, 6


def scenario(**changes: object) -> Scenario:
    base = Scenario.of(
        {
            "seed": 3,
            "rounds": ROUNDS,
            "data": {"source": "synthetic", "rows": 2000, "features": FEATURES, "train": 1500},
            "topology": {"kind": "random", "agents": SERVERS, "mean_degree": 3},
            "algorithm": {"name": "pdml", "eta": 0.1, "regulariser": 0.02, "tolerance": 1e-9},
            "privacy": {"epsilon": 2.0},
        }
    )
    return base.with_(**changes)


def models(result, rounds: int = ROUNDS) -> np.ndarray:
    found = np.zeros((rounds, SERVERS, FEATURES))
    for _, _, event in result.events:
        if isinstance(event, ReleaseMade):
            found[event.round - 1, event.agent] = unpack(event.value)
    return found


def uniform_in_ball(rng, radius: float) -> np.ndarray:
    norm = radius * rng.random() ** (1 / FEATURES)
    direction = rng.standard_normal(FEATURES)
    return direction * (norm / np.linalg.norm(direction))


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("own", [None, "V_i"])
@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_servers_do_what_the_plain_loop_does_with_the_reports_that_arrived(calibration, own, loss):
    fields = {"label_epsilon": 1.0, "objective_bound": 0.5, "primal_decay": 0.9}
    scales = [0.3 + 0.1 * server for server in range(SERVERS)]
    fields |= {"agent_primal_scale": scales} if own else {}
    chosen = scenario(**{f"algorithm.{name}": value for name, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration, "network.access.loss": loss})
    built = build(chosen)
    parts, noise, tilts = [], np.zeros((ROUNDS, SERVERS, FEATURES)), []
    spread = np.array([[plan.scale for plan in each.rounds] for each in built.calibration.plans]).T
    if own:
        np.testing.assert_allclose(spread, scales * math.sqrt(0.9) ** np.arange(ROUNDS)[:, None], rtol=1e-12)
    for server, part in enumerate(built.learning.parts):
        wrong = Streams(3).generator("labels", server).random(part.rows) < 1 / (1 + math.e)
        arrived = built.reporting.reports[server].arrived
        parts.append((np.asarray(part.X)[arrived], np.where(wrong, -part.y, part.y)[arrived]))
        tilts.append(uniform_in_ball(Streams(3).generator("objective", server), 0.5) / SERVERS)
        rng = Streams(3).generator("noise", server)
        for t, plan in enumerate(built.calibration.plans[server].rounds):
            noise[t, server] = rng.normal(0, plan.scale, FEATURES)
    neighbours = [sorted(built.graph[server]) for server in range(SERVERS)]
    plain = straight_line.pdml(parts, neighbours, ROUNDS, 0.1, 0.02, 1.0, tilts, noise, spread)
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)
    assert (sum(len(y) for _, y in parts) < 1500) == (loss > 0)


def test_without_noise_the_servers_reach_the_optimum_of_an_outside_solver():
    chosen = scenario(rounds=200, **{"privacy.calibration": "none", "algorithm.eta": 0.03})
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.02)
    np.testing.assert_allclose(models(run(chosen), 200)[-1], np.tile(best, (SERVERS, 1)), atol=1e-6)


def test_labels_that_are_nearly_never_flipped_give_nearly_that_optimum():
    """ε → ∞, R = 0, V → 0."""
    fields = {"label_epsilon": 40.0, "objective_bound": 0.0, "primal_scale": 1e-9, "eta": 0.03}
    chosen = scenario(rounds=200, **{f"algorithm.{name}": value for name, value in fields.items()})
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.02)
    np.testing.assert_allclose(models(run(chosen), 200)[-1], np.tile(best, (SERVERS, 1)), atol=1e-6)


def test_every_user_sends_one_report_over_its_own_line_and_all_are_counted():
    fields = {"latency": "50 ms", "bandwidth": "1 Mbit/s", "loss": 0.2}
    chosen = scenario(**{f"network.access.{name}": value for name, value in fields.items()})
    result = run(chosen)
    laws, reports, began = Laws(ALIGNED), [], math.inf
    for seq, t, event in result.events:
        laws(seq, t, event)
        if isinstance(event, ReportsGathered):
            reports.append((t, event))
        elif isinstance(event, RoundStarted):
            began = min(began, t)
    assert laws.finish() == []
    frame = 28 + 21 + 1 + 2 * 4 + 8 * (FEATURES + 1)
    assert sum(event.messages for _, event in reports) == 1500
    assert sum(event.wire_bytes for _, event in reports) == 1500 * frame
    assert [t for t, _ in reports] == [began] * SERVERS == pytest.approx([0.05 + frame * 8 / 1e6] * SERVERS)
    traffic = result.summary["communication"]
    rounds = 2 * result.summary["edges"] * ROUNDS
    assert traffic["messages"] == 1500 + rounds
    assert traffic["lost"] == sum(event.lost for _, event in reports) > 0
    assert traffic["messages"] == traffic["delivered"] + traffic["lost"]


def test_labels_are_charged_before_the_first_round_and_models_in_each():
    result = run(scenario(**{"algorithm.label_epsilon": 0.5}))
    spent = [event for _, _, event in result.events if isinstance(event, PrivacySpent)]
    assert [event.mechanism for event in spent[:SERVERS]] == ["reported-label"] * SERVERS
    assert {event.round for event in spent[:SERVERS]} == {0}
    assert all(event.mechanism == "reported-primal" for event in spent[SERVERS:])
    privacy = result.summary["privacy"]
    assert privacy["claimed_epsilon"] == pytest.approx(0.5)
    assert privacy["proven_epsilon"] == pytest.approx(2.0, rel=1e-6)


def test_the_loss_of_the_primal_noise_grows_geometrically_as_the_noise_decays():
    """ρ_T = (Δ²/2V²) Σ ρ^−(t−1), Δ = 2L(e^ε+1)/((e^ε−1) m (a/n + 2βV)), up to the solver's tolerance."""
    built = build(scenario(**{"algorithm.primal_scale": 0.7, "algorithm.label_epsilon": 1.5}))
    size, plan = built.sizes[0], built.calibration.plans[0]
    shift = 2 / math.tanh(0.75) / (size.rows * (0.02 + 0.2 * size.degree))
    total = sum(shift**2 / (2 * round.scale**2) for round in plan.rounds)
    printed = shift**2 / (2 * 0.7**2) * sum(0.8**-t for t in range(ROUNDS))
    assert total == pytest.approx(printed, rel=1e-9)
    assert dict(plan.rounds[0].charge.parameters)["lipschitz"] == pytest.approx(1 / math.tanh(0.75))


def test_each_server_is_charged_for_the_noise_of_its_own():
    scales = [0.9, 0.5, 0.7, 1.1, 0.8]
    fields = {"algorithm.agent_primal_scale": scales, "algorithm.label_epsilon": 1.5}
    built, spent = build(scenario(**fields)), run(scenario(**fields)).summary["privacy"]
    for server, scale in enumerate(scales):
        alike = build(scenario(**{"algorithm.primal_scale": scale, "algorithm.label_epsilon": 1.5}))
        assert built.calibration.plans[server] == alike.calibration.plans[server]
    proven = [account(plan.charges, 1e-4).proven_epsilon for plan in built.calibration.plans]
    assert spent["proven_epsilon"] == pytest.approx(max(proven), rel=1e-9)
    assert max(proven) == proven[1] > 1.3 * min(proven)
    assert built.calibration.limit == math.inf
    with pytest.raises(ScenarioError, match=r"algorithm\.agent_primal_scale: 2 values for 5 agents"):
        build(scenario(**{"algorithm.agent_primal_scale": [1.0, 2.0]}))


def test_a_server_without_a_single_report_is_refused():
    with pytest.raises(ScenarioError, match="not one of 300 reports reaches server 0"):
        build(scenario(**{"network.access.loss": 1.0}))


def test_without_noise_on_models_two_releases_give_a_gradient_without_the_tilt():
    """Section IV.B: whoever hears w_i and its neighbours knows ∇J_i plus the tilt, which differences take away."""
    fields = {"objective_bound": 5.0, "primal_scale": 1e-12, "label_epsilon": 2.0}
    chosen = scenario(**{f"algorithm.{name}": value for name, value in fields.items()})
    built = build(chosen)
    heard = models(run(chosen))
    near, own = sorted(built.graph[0]), built.training[0]
    gamma, sums, seen = np.zeros(FEATURES), np.zeros(FEATURES), []
    for w in heard:
        seen.append(sums - gamma - 2 * 0.1 * len(near) * w[0])
        gamma = gamma + 0.1 * sum(w[0] - w[j] for j in near)
        sums = 0.1 * sum(w[0] + w[j] for j in near)
    gradients = np.array([own.gradient(w[0]) for w in heard])
    np.testing.assert_allclose(np.diff(seen, axis=0), np.diff(gradients, axis=0), atol=1e-7)
    tilt = uniform_in_ball(Streams(3).generator("objective", 0), 5.0) / SERVERS
    np.testing.assert_allclose(np.array(seen) - gradients, np.tile(tilt, (ROUNDS, 1)), atol=1e-7)


# Users who choose their own ε.

OFFERED = [0.3, 1.0, 1.0, 4.0]


def chosen_epsilons(built) -> list[np.ndarray]:
    """Each server's users' choices, drawn again."""
    return [
        np.array(OFFERED)[Streams(3).generator("label-epsilon", server).integers(4, size=part.rows)]
        for server, part in enumerate(built.learning.parts)
    ]


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("scale", [None, "none"])
def test_servers_undo_each_users_own_flips_whatever_the_length_of_the_rows(scale, loss):
    fields = {"label_epsilon": OFFERED, "objective_bound": 0.5, "primal_scale": 0.2}
    chosen = scenario(**{f"algorithm.{name}": value for name, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": "paper", "network.access.loss": loss})
    chosen = chosen if scale is None else chosen.with_(**{"data.scale": scale})
    built = build(chosen)
    parts, own, tilts, noise = [], [], [], np.zeros((ROUNDS, SERVERS, FEATURES))
    spread = np.array([[0.2 * 0.8 ** (t / 2)] * SERVERS for t in range(ROUNDS)])
    for server, (part, epsilons) in enumerate(zip(built.learning.parts, chosen_epsilons(built), strict=True)):
        wrong = Streams(3).generator("labels", server).random(part.rows) < 1 / (1 + np.exp(epsilons))
        arrived = built.reporting.reports[server].arrived
        parts.append((np.asarray(part.X)[arrived], np.where(wrong, -part.y, part.y)[arrived]))
        own.append(epsilons[arrived])
        tilts.append(uniform_in_ball(Streams(3).generator("objective", server), 0.5) / SERVERS)
        rng = Streams(3).generator("noise", server)
        noise[:, server] = [rng.normal(0, spread[t, server], FEATURES) for t in range(ROUNDS)]
    neighbours = [sorted(built.graph[server]) for server in range(SERVERS)]
    plain = straight_line.pdml(parts, neighbours, ROUNDS, 0.1, 0.02, own, tilts, noise, spread)
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)
    longest = max(np.linalg.norm(X, axis=1).max() for X, _ in parts)
    assert (longest > 1.0) == (scale == "none")


@given(st.lists(st.floats(0.05, 30.0), min_size=1, max_size=6), st.integers(0, 2**32))
def test_the_loss_is_unbiased_for_each_row_by_its_own_epsilon_and_as_steep_as_the_least_allows(epsilons, seed):
    """Proposition 2, row by row."""
    rng = np.random.default_rng(seed)
    own, margins = np.array(epsilons), rng.normal(0, 3, len(epsilons))
    loss = unbiased(LOGISTIC, own)
    wrong = np.array([flip_probability(each) for each in epsilons])
    mean = (1 - wrong) * loss.value(margins) + wrong * loss.value(-margins)
    np.testing.assert_allclose(mean, LOGISTIC.value(margins), rtol=1e-9, atol=1e-12)
    steepest = np.abs(loss.slope(margins.copy()))
    assert np.all(steepest <= 1 / np.tanh(own / 2) * (1 + 1e-12))
    assert loss.lipschitz == pytest.approx(1 / math.tanh(min(epsilons) / 2))
    one = [unbiased(LOGISTIC, each).value(margins[[place]])[0] for place, each in enumerate(epsilons)]
    np.testing.assert_array_equal(loss.value(margins), one)


@given(st.lists(st.floats(0.05, 8.0), min_size=2, max_size=4, unique=True))
@settings(max_examples=15)
def test_the_run_is_charged_the_largest_epsilon_and_its_rows_the_steepest_loss(offered):
    built = build(scenario(**{"algorithm.label_epsilon": offered, "algorithm.primal_scale": 0.5}))
    for plan in built.calibration.plans:
        assert plan.opening[0].mechanism == "reported-label"
        numbers = dict(plan.opening[0].parameters)
        assert (numbers["label_epsilon"], numbers["least_epsilon"]) == (max(offered), min(offered))
        slope = dict(plan.rounds[0].charge.parameters)["lipschitz"]
        assert slope == pytest.approx(1 / math.tanh(min(offered) / 2))


def test_users_choose_as_often_as_the_list_says_and_without_a_look_at_their_label():
    built = build(scenario(**{"algorithm.label_epsilon": OFFERED, "data.rows": 40000, "data.train": 30000}))
    own = np.concatenate(chosen_epsilons(built))
    labels = np.concatenate([part.y for part in built.learning.parts])
    assert {value: round(float(np.mean(own == value)), 2) for value in (0.3, 1.0, 4.0)} == {
        0.3: 0.25,
        1.0: 0.5,
        4.0: 0.25,
    }
    assert abs(np.corrcoef(own, labels)[0, 1]) < 0.02
    method, privacy = built.scenario.algorithm, built.scenario.privacy
    part = built.learning.parts[0]
    told = [
        method.reported(0, Dataset("other", part.X, y, part.labels), privacy, built.streams) for y in (part.y, -part.y)
    ]
    np.testing.assert_array_equal(told[0].epsilons, told[1].epsilons)
    np.testing.assert_array_equal(told[0].epsilons, chosen_epsilons(built)[0])
    kept = {value: float(np.mean((told[0].y == part.y)[told[0].epsilons == value])) for value in (0.3, 1.0, 4.0)}
    for value, share in kept.items():
        assert share == pytest.approx(1 - flip_probability(value), abs=0.04)


def test_a_report_with_its_own_epsilon_is_one_number_longer_and_the_summary_tells_what_was_offered():
    one, many = (run(scenario(rounds=2, **{"algorithm.label_epsilon": each})) for each in (1.0, OFFERED))
    assert "label_epsilon" not in one.summary["privacy"]
    assert many.summary["privacy"]["label_epsilon"] == {"least": 0.3, "median": 1.0, "largest": 4.0}
    assert many.summary["privacy"]["claimed_epsilon"] == pytest.approx(4.0)
    reports = [
        sum(event.wire_bytes for _, _, event in each.events if isinstance(event, ReportsGathered))
        for each in (one, many)
    ]
    assert reports[1] - reports[0] == 8 * 1500


def test_an_audit_wants_to_know_the_epsilon_of_the_user_in_question():
    with pytest.raises(ScenarioError, match=r"^algorithm.label_epsilon: an audit .* give one number, not a list$"):
        pair(*audited_world("pdml", algorithm__label_epsilon=[1.0, 2.0]))


@pytest.mark.parametrize("wrong", [[], [0.0], [1.0, -1.0], ["1"], {"least": 1.0}, True])
def test_what_is_no_epsilon_of_a_label_is_refused(wrong):
    with pytest.raises(ScenarioError, match=r"^algorithm\.label_epsilon.*a number above 0"):
        scenario(**{"algorithm.label_epsilon": wrong})


def test_rows_in_another_order_need_another_loss():
    """A loss of each row's own ε is of all rows in their order: the two are taken together."""
    rng = np.random.default_rng(0)
    X, y, own = rng.normal(size=(5, 3)), np.sign(rng.normal(size=5)), np.array([0.2, 0.5, 1.0, 2.0, 9.0])
    order, theta = rng.permutation(5), rng.normal(size=3)
    first = LocalObjective(X, y, unbiased(LOGISTIC, own), 0.1).gradient(theta)
    second = LocalObjective(X[order], y[order], unbiased(LOGISTIC, own[order]), 0.1).gradient(theta)
    np.testing.assert_allclose(first, second, rtol=1e-12)
