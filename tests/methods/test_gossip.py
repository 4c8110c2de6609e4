"""Private averaging: what every message is made of, what loss does to the mean, and what pairs hide."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.cli.explain import explain
from simnet.errors import ScenarioError
from simnet.record.bus import Bus
from simnet.record.lines import unpack
from simnet.record.observed import Observed
from simnet.simulate import peers_of, play
from simnet.streams import Streams
from tests.methods.straight_line import snapped

AGENTS = 6


def scenario(**changes) -> Scenario:
    base = {
        "rounds": 8,
        "data": {"source": "synthetic", "rows": 600, "features": AGENTS},
        "topology": {"kind": "regular", "agents": AGENTS, "degree": 3},
        "algorithm": {"name": "gossip", "regulariser": 0.5, "sigma": 0.1},
    }
    return Scenario.of(base).with_(**changes)


def started_from(peer, model):
    """Its way to start, whatever its own model would be."""
    start = type(peer)._start
    return lambda _: start(peer, model)


def told(changes, *, units: bool):
    """The run's events; with `units`, agent i starts from e_i, so that messages are their own coefficients."""
    built = build(scenario(**changes))
    peers = peers_of(built)
    for agent, peer in enumerate(peers if units else ()):
        peer._start = started_from(peer, np.eye(AGENTS)[agent])
    heard = []
    play(built, Bus(lambda seq, t, event: heard.append((seq, t, event))), peers)
    return heard


NETWORKS = {
    "ideal": {},
    "loss": {"network.link.loss": 0.3},
    "barrier": {"network.pacing": {"kind": "barrier", "patience": 0.2}, "network.link.loss": 0.2},
    "overtaking": {
        "network.pacing": "free",
        "network.link.latency": {"kind": "lognormal", "median": 0.05, "sigma": 1.0},
        "compute.time": {"kind": "lognormal", "median": 0.02, "sigma": 1.0},
    },
    "crash": {
        "network.pacing": {"kind": "deadline", "period": 0.1},
        "network.link.latency": 0.03,
        "fault": [{"kind": "crash", "agent": 1, "at": 0.25, "duration": 0.2}],
    },
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("averaging", ["plain", "push-sum"])
def test_the_log_alone_tells_what_every_message_is_made_of(averaging, network):
    """Agents that start from unit vectors send their own coefficients; the log's reader must find the same ones."""
    observed, sent = Observed(), {}
    for seq, t, event in told(NETWORKS[network] | {"algorithm.averaging": averaging}, units=True):
        observed(seq, t, event)
        if event.kind == "release.made":
            sent[event.agent, event.round] = unpack(event.value)
    assert sent
    for (agent, round), vector in sent.items():
        row, power = observed._told[agent][round]
        exact = np.array([float(value) / observed._base**power for value in row[:AGENTS]])
        np.testing.assert_allclose(vector, exact, atol=1e-12)


def mean_of_starts(changes) -> tuple[np.ndarray, np.ndarray]:
    built = build(scenario(**changes))
    peers = peers_of(built)
    play(built, Bus(), peers)
    fresh = [peer.model for peer in peers_of(built)]
    starts = [snapped(model.problem.answer().theta + model.noise(), model.plan.rounds[0].scale) for model in fresh]
    return np.mean(starts, axis=0), np.array([peer.theta for peer in peers])


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.4])
def test_running_sums_find_the_mean_at_any_loss(loss):
    mean, models = mean_of_starts({"rounds": 120, "network.link.loss": loss, "algorithm.averaging": "push-sum"})
    np.testing.assert_allclose(models, np.tile(mean, (AGENTS, 1)), atol=1e-6)


def test_plain_averaging_loses_the_mean_with_the_messages():
    for loss, kept in ((0.0, True), (0.4, False)):
        mean, models = mean_of_starts({"rounds": 120, "network.link.loss": loss, "algorithm.averaging": "plain"})
        assert np.allclose(models, mean, atol=1e-6) is kept


def test_noise_that_pairs_share_cancels_in_the_sum_and_hides_each_model():
    built = build(scenario(**{"algorithm.pair_sigma": 5.0}))
    noise = np.array([peer.model.noise() for peer in peers_of(built)])
    alone = np.array([peer.model.noise() for peer in peers_of(build(scenario()))])
    np.testing.assert_allclose(noise.sum(axis=0), alone.sum(axis=0), atol=1e-9)
    assert np.all(np.linalg.norm(noise - alone, axis=1) > 1.0)


@pytest.mark.parametrize(("averaging", "cancels"), [("push-sum", True), ("plain", False)])
def test_noise_that_pairs_share_cancels_in_running_sums_also_where_messages_are_lost(averaging, cancels):
    """What is left is the grid of releases; a single secret moves a model by 5."""
    lossy = {"rounds": 150, "network.link.loss": 0.3, "algorithm.averaging": averaging}
    without, _ = mean_of_starts(lossy)
    _, models = mean_of_starts(lossy | {"algorithm.pair_sigma": 5.0})
    assert np.allclose(models, without, atol=1e-3) is cancels


def test_the_covariance_of_paired_noise_is_the_laplacian():
    built = build(scenario(**{"algorithm.pair_sigma": 2.0, "algorithm.sigma": 0.5}))
    method, graph = built.scenario.algorithm, built.graph
    neighbours = [sorted(graph[agent]) for agent in graph]
    draws = np.array(
        [[method.cancelling(agent, neighbours, Streams(seed), 40) for agent in graph] for seed in range(300)]
    )
    found = np.einsum("sif,sjf->ij", draws, draws) / (300 * 40)
    laplacian = np.diag([3.0] * AGENTS)
    for a, b in graph.edges:
        laplacian[a, b] = laplacian[b, a] = -1.0
    np.testing.assert_allclose(found, 4.0 * laplacian, atol=0.25)


def test_one_release_is_paid_and_the_rest_is_made_of_it():
    result = run(scenario(**{"privacy.epsilon": 2.0}).with_(algorithm={"name": "gossip", "regulariser": 0.5}))
    charges = [event.mechanism for _, _, event in result.events if event.kind == "privacy.spent" and event.agent == 0]
    assert charges == ["primal-gaussian"] + ["recycled"] * 7
    assert result.summary["privacy"]["proven_epsilon"] == pytest.approx(2.0, abs=1e-3)


def test_epsilon_against_each_observer_is_in_the_summary():
    wanted = ["eavesdropper", "agent", [0, 1]]
    ring = {"kind": "ring", "agents": 12}
    found = run(scenario(**{"privacy.observers": wanted, "topology": ring, "rounds": 3})).summary["privacy"][
        "observers"
    ]
    assert found["agent_by_distance"]["1"] == pytest.approx(found["eavesdropper"])
    assert [found["agent_by_distance"][str(distance)] for distance in (4, 5, 6)] == [0.0, 0.0, 0.0]
    assert found["0+1"] <= found["eavesdropper"] * (1 + 1e-9)


def test_other_methods_have_one_epsilon_for_all_observers():
    changes = {"algorithm": {"name": "pp-admm", "eta": 0.5}, "privacy.observers": ["eavesdropper", "agent", [2]]}
    privacy = run(scenario(**changes)).summary["privacy"]
    assert set(privacy["observers"].values()) == {privacy["proven_epsilon"]}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"algorithm.averaging": "relayed"}, "relay_sigma"),
        ({"algorithm.relay_sigma": 0.1}, "relay_sigma"),
        ({"privacy.calibration": "paper"}, "calibration"),
        ({"network.codec": "top-k"}, "codec"),
        ({"privacy.observers": ["nobody"]}, "observers"),
        ({"fault": [{"kind": "crash", "agent": 0, "at": 0.1, "state": "lost"}]}, "fault"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(changes, field):
    with pytest.raises(ScenarioError, match=field):
        scenario(**changes)


def test_an_observer_that_is_no_agent_is_one_sentence():
    with pytest.raises(ScenarioError, match=r"privacy\.observers.*9"):
        run(scenario(**{"privacy.observers": [[9]]}))


@pytest.mark.parametrize("averaging", ["plain", "push-sum"])
def test_models_come_together_as_fast_as_the_eigenvalue_says(averaging):
    changes = {"algorithm.averaging": averaging, "topology": {"kind": "ring", "agents": AGENTS}, "rounds": 30}
    sentence = explain(scenario(**changes))["theory"]["gossip: all agents reach the mean"]
    factor = float(re.search(r"factor of ([\d.]+)", sentence)[1])
    found = run(scenario(**changes)).rounds["consensus"].to_list()
    assert found[20] / found[19] == pytest.approx(factor, rel=0.02)
