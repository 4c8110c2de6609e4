"""A crowd in columns makes the events that the engine makes, one by one: byte for byte, whatever the scenario says.

HYPOTHESIS_PROFILE=explore python -m pytest tests/sim/test_crowd.py
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import simnet.simulate
from benchmarks import scale
from benchmarks.work import traced
from simnet import Result, Scenario, ScenarioError, run
from simnet.build import build
from simnet.crowds import crowd_of
from simnet.errors import SimnetError
from simnet.learning import task
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.sim import crowd
from simnet.simulate import evaluator, play
from tests.conftest import PROFILE
from tests.sim.test_random_networks import scenarios as anything
from tests.worlds import unlawful

PERIOD = 0.2
BASE: dict[str, Any] = {
    "rounds": 6,
    "data": {"source": "synthetic", "rows": 12 * 9 + 50, "train": 12 * 9, "features": 4},
    "topology": {"kind": "regular", "agents": 12, "degree": 3},
    "algorithm": {"name": "ipp-admm", "eta": 0.1, "max_releases": 4},
    "privacy": {"epsilon": 20.0},
    "network": {
        "pacing": {"kind": "deadline", "period": PERIOD, "notices": True},
        "link": {"latency": {"kind": "lognormal", "median": 0.04}, "loss": 0.1},
    },
    "compute": {"time": 0.02},
}


@pytest.fixture(autouse=True)
def small_crowds(monkeypatch):
    """Crowds of two, that compute in threes and whose turns are told in fives."""
    monkeypatch.setattr(task, "MANY", 2)
    monkeypatch.setattr(crowd, "CHUNK", 5)
    monkeypatch.setattr(crowd, "TOGETHER", 3)


def without_columns(scenario: Scenario) -> Result:
    """The run on the engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simnet.simulate, "crowd_of", lambda *_: None)
        return run(scenario)


def is_crowd(scenario: Scenario) -> bool:
    built = build(scenario)
    return crowd_of(built, Bus(Metrics()), 1, partial(evaluator, built)) is not None


def told(result: Result) -> Any:
    """All that a run tells but how long it took."""
    summary = result.summary | {"time": {k: v for k, v in result.summary["time"].items() if k != "wall"}}
    return summary, result.rounds.to_dicts(), result.agents.to_dicts(), result.log


def counted(scenario: Scenario, workers: int = 1) -> Any:
    """What metrics alone find, to whom no single event is told."""
    metrics = Metrics()
    play(build(scenario), Bus(metrics), workers=workers)
    return metrics.summary("", None), metrics.rounds, metrics.agents


def same(scenario: Scenario, workers: int = 1) -> Result:
    """Run it both ways."""
    found, plain = run(scenario, workers=workers), without_columns(scenario)
    for ours, theirs in zip(found.events, plain.events, strict=True):
        assert ours == theirs
    assert told(found) == told(plain)
    summary, rounds, agents = counted(scenario, workers)
    assert summary | {"digest": 0, "time": 0} == {k: v for k, v in plain.summary.items() if k != "yardsticks"} | {
        "digest": 0,
        "time": 0,
    }
    of_plain = Metrics()
    for event in plain.events:
        of_plain(*event)
    if scenario.log.thinning(1) is None:
        assert (rounds, agents) == (of_plain.rounds, of_plain.agents)
    return found


LATENCIES = st.one_of(
    st.sampled_from([0.0, 0.02, PERIOD - 0.02, PERIOD, 2 * PERIOD]),
    st.just({"kind": "uniform", "low": 0.0, "high": 0.5}),
    st.just({"kind": "lognormal", "median": 0.15, "sigma": 1.5}),
    st.just({"kind": "pareto", "scale": 0.01, "alpha": 0.8}),
    st.just({"kind": "gamma", "mean": 0.1, "shape": 0.5}),
)
METHODS = st.one_of(
    st.just({"name": "admm"}),
    st.just({"name": "pp-admm"}),
    st.fixed_dictionaries(
        {
            "name": st.just("ipp-admm"),
            "max_releases": st.integers(1, 6),
            "threshold": st.sampled_from([0.0, 1e-3, 0.1]),
        },
        optional={"test": st.just("shared-noise"), "threshold_noise": st.sampled_from(["once", "redrawn"])},
    ),
)
TOPOLOGIES = st.sampled_from(
    [
        {"kind": "regular", "degree": 3},
        {"kind": "ring"},
        {"kind": "random", "mean_degree": 4},
        {"kind": "scale-free"},
        {"kind": "star"},
    ]
)


@st.composite
def crowds(draw: st.DrawFn) -> Scenario:
    """Scenarios that suit columns, but for a few whose data or instants turn out not to."""
    agents = draw(st.sampled_from([6, 12, 14]))
    rows, features = draw(st.sampled_from([(2, 2), (5, 3), (9, 4), (20, 7)]))
    method = draw(METHODS) | {"eta": draw(st.sampled_from([0.01, 0.1, 2.0]))}
    loss = draw(st.sampled_from(["logistic", "smoothed-hinge"]))
    log = {"private": draw(st.booleans())}
    log |= draw(st.sampled_from([{}, {"sample": 0.4}, {"kinds": ["release", "message"]}, {"kinds": ["privacy"]}]))
    content = BASE | {
        "seed": draw(st.integers(0, 100)),
        "rounds": draw(st.sampled_from([1, 3, 8, 40])),
        "data": {
            "source": "synthetic",
            "rows": agents * rows + 40 + draw(st.sampled_from([0, 0, 0, 1])),
            "train": agents * rows,
            "features": features,
        },
        "topology": draw(TOPOLOGIES) | {"agents": agents},
        "algorithm": method | {"loss": loss},
        "privacy": {
            "epsilon": draw(st.sampled_from([0.5, 20.0, 400.0])),
            "calibration": draw(st.sampled_from(["proven", "paper", "none"])),
        },
        "network": {
            "pacing": {"kind": "deadline", "period": PERIOD, "notices": draw(st.booleans())},
            "link": {"latency": draw(LATENCIES), "loss": draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))},
        },
        "compute": {"time": draw(st.sampled_from([0.0, 0.02, PERIOD, 2.5 * PERIOD]))},
        "log": log,
    }
    try:
        return Scenario.of(content)
    except ScenarioError:
        assume(False)
        raise


@settings(
    max_examples=400 if PROFILE == "explore" else 25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    deadline=None,
)
@given(crowds(), st.sampled_from([1, 1, 2, 3]))
@example(Scenario.of(BASE), 1)
@example(Scenario.of(BASE), 3)
@example(Scenario.of(BASE | {"rounds": 40, "algorithm": {"name": "pp-admm", "eta": 0.1}}), 2)
def test_a_crowd_makes_the_events_of_the_engine(scenario, workers):
    try:
        build(scenario)
    except SimnetError:
        return  # refused before anything runs, on either way
    result = same(scenario, workers)
    if scenario.log.thinning(1) is None:
        assert unlawful(result) == []


@settings(
    max_examples=300 if PROFILE == "explore" else 15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    deadline=None,
)
@given(anything())
def test_whatever_a_network_is_like_columns_change_nothing(scenario):
    try:
        found: Any = told(run(scenario))
    except SimnetError as error:
        found = str(error)
    try:
        plain: Any = told(without_columns(scenario))
    except SimnetError as error:
        plain = str(error)
    assert found == plain


def test_this_scenario_suits_columns():
    assert is_crowd(Scenario.of(BASE))


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": {"name": "r-admm"}},
        {"algorithm": {"name": "scaled-pp-admm"}},
        {"algorithm": {"name": "pp-admm", "duals": "healing"}},
        {"algorithm": {"name": "pp-admm", "duals": "edge"}},
        {"network.pacing": "ideal"},
        {"network.pacing": {"kind": "barrier", "patience": 1.0}},
        {"network.pacing": {"kind": "deadline", "period": PERIOD, "skew": 0.1}},
        {"network.pacing": {"kind": "deadline", "period": PERIOD, "jitter": 0.01}},
        {"network.pacing": {"kind": "deadline", "period": PERIOD, "send_at": 0.1}},
        {"network.transport": "reliable"},
        {"network.medium": "shared"},
        {"network.uplink": "shared"},
        {"network.peers": 2},
        {"network.codec": "float32"},
        {"network.codec": "top-k"},
        {"network.inbox.service": 0.001},
        {"network.line.up.bandwidth": 1e6},
        {"network.line.down.bandwidth": 1e6},
        {"network.channel": {"kind": "csma"}, "network.link.loss": 0.0},
        {
            "network": {
                "pacing": {"kind": "deadline", "period": PERIOD},
                "underlay": {"graph": {"kind": "complete", "agents": 12}},
            }
        },
        {"network.override": [{"agent": 3, "loss": 0.5}]},
        {"network.link.bandwidth": 1e6},
        {"network.link.mtu": 200},
        {"network.link.order": "fifo"},
        {"network.link.duplication": 0.1},
        {"network.link.corruption": 0.1},
        {"network.link.loss": {"kind": "bursts", "rate": 0.1, "length": 3}},
        {
            "topology": {"kind": "geometric", "agents": 12, "radius": 0.7},
            "network.link.latency": {"kind": "distance", "per_unit": 0.1},
        },
        {"compute.time": {"kind": "uniform", "low": 0.01, "high": 0.02}},
        {"compute.per_gradient": 0.001},
        {"fault": [{"kind": "crash", "agent": 1, "at": 0.3, "duration": 0.2}]},
        {"until": 0.9},
        {"output": [{"kind": "tail"}]},
        {"privacy.noise": "fresh"},
        {"privacy.observers": ["agent"]},
        {"data.rows": 160, "data.train": 110},
        {"data.features": 300},
    ],
    ids=str,
)
def test_what_needs_single_agents_links_or_messages_runs_on_the_engine(change):
    assert not is_crowd(Scenario.of(BASE).with_(**change))


def test_few_agents_run_on_the_engine(monkeypatch):
    monkeypatch.setattr(task, "MANY", 13)
    assert not is_crowd(Scenario.of(BASE))


def test_a_process_of_the_users_own_and_peers_of_an_audit_meet_the_engine():
    seen = []
    run(Scenario.of(BASE), attach=[lambda engine: seen.append(engine.env)])
    assert seen


def test_a_subscriber_that_keeps_its_own_counters_hears_of_single_messages():
    class Counting:
        def __init__(self) -> None:
            self.counters = Metrics().counters
            self.counters.open(12)

        def __call__(self, *_: object) -> None:
            return

    counting = Counting()
    play(build(Scenario.of(BASE)), Bus(counting))
    assert sum(counting.counters["messages"]) == 6 * 12 * 3


def test_an_agent_round_of_a_crowd_is_few_steps_of_the_interpreter(monkeypatch):
    """Lines are counted, not seconds: the engine executes more than a thousand of them."""
    monkeypatch.undo()
    rounds = 12

    def steps(agents: int) -> int:
        built = build(scale.scenario(agents, rounds=rounds))
        return traced(lambda: play(built, Bus(Metrics())))[1]

    steps(220)  # what is made once per process
    assert (steps(640) - steps(320)) / (320 * rounds) < 40
