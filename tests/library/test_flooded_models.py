"""One-shot averages and rounds of proximal models: against plain formulas, under loss, and with attackers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.methods.flooding import in_steps
from simnet.methods.peer import Known
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.lines import unpack
from simnet.simulate import peers_of, play

CAP = 0.5
WORLD = {
    "rounds": 12,
    "task": "capped-logistic",
    "data": {"source": "synthetic", "rows": 3000, "features": 5},
    "topology": {"kind": "ring", "agents": 5},
    "algorithm": {"name": "prox-rounds", "solves": 2, "moment_rounds": 4},
    "privacy": {"epsilon": 2.0, "delta": 1e-4},
}


def world(**changes) -> Scenario:
    return Scenario.of(WORLD).with_(**changes)


def played(scenario):
    built = build(scenario)
    peers = peers_of(built)
    play(built, Bus(), peers)
    return built, peers


def roots(v):
    return np.sign(v) * np.sqrt(np.abs(v))


def plain(parts, rho, solves, scaled):
    """The method in real numbers, without noise and network: numpy and a quasi-Newton method from scipy."""
    if scaled:
        told = [
            in_steps(roots(np.mean(u * np.minimum(1, 0.35 / np.linalg.norm(u, axis=1))[:, None], axis=0)))
            for u in (X * X for X, _ in parts)
        ]
        S = np.maximum(np.mean([r * np.abs(r) for r in told], axis=0), 1e-9) ** -0.5
        parts = [(S * X / np.linalg.norm(S * X, axis=1)[:, None], y) for X, y in parts]
    z = np.zeros(parts[0][0].shape[1])

    def model(X, y):
        def slope(theta):
            return X.T @ (y * -np.minimum(CAP, 1 / (1 + np.exp(y * (X @ theta))))) / len(y) + rho * (theta - z)

        return scipy.optimize.root(slope, z, tol=1e-13).x

    for _ in range(solves):
        z = np.mean([in_steps(model(X, y)) for X, y in parts], axis=0)
    return S * z if scaled else z


@pytest.mark.parametrize("solves", [1, 3])
@pytest.mark.parametrize("scaled", [True, False])
def test_without_noise_it_is_the_formula(solves, scaled):
    word = {"name": "one-shot"} if solves == 1 else {"name": "prox-rounds", "solves": solves}
    algorithm = word | {"penalty": 0.05, "scaled": scaled, "tolerance": 1e-9}
    built, peers = played(world(algorithm=algorithm, **{"privacy.calibration": "none"}))
    parts = [(each.dataset("").X, each.dataset("").y) for each in built.training]
    expected = plain(
        [(np.asarray(X.toarray() if hasattr(X, "toarray") else X), y) for X, y in parts], 0.05, solves, scaled
    )
    for peer in peers:
        assert np.allclose(peer.theta, expected, rtol=1e-5, atol=1e-6)


def releases(result, agent=0):
    return [
        event.round
        for _, _, event in result.events
        if isinstance(event, events.PrivacySpent) and event.agent == agent and event.mechanism != "recycled"
    ]


def test_an_agent_pays_for_its_moments_and_for_each_solve_and_for_nothing_else():
    assert releases(run(world())) == [1, 5, 9]
    assert releases(run(world(algorithm={"name": "one-shot"}))) == [1, 3]
    assert releases(run(world(**{"algorithm.solves": 50, "data.rows": 200_000}))) == [1, *range(5, 13)]


@pytest.mark.parametrize("loss", [0.1, 0.3])
def test_loss_delays_the_mean_and_does_not_move_it(loss):
    _, calm = played(world())
    _, lossy = played(world(rounds=60, **{"network.link.loss": loss, "algorithm.moment_rounds": 20}))
    assert all(np.array_equal(calm[0].theta, peer.theta) for peer in calm)
    for peer in lossy:
        assert np.allclose(peer.theta, calm[0].theta, rtol=1e-12)


LATE = {"network.pacing": {"kind": "deadline", "period": "100 ms"}, "rounds": 60, "algorithm.moment_rounds": 20}
OVERTAKING = {"kind": "uniform", "low": "1 ms", "high": "350 ms"}


@pytest.mark.parametrize(
    "changes",
    [{}, LATE | {"network.link.latency": OVERTAKING}, LATE | {"network.link.loss": 0.2}],
    ids=["at once", "overtaking", "lost"],
)
def test_copies_do_not_move_the_mean_either(changes):
    _, calm = played(world())
    _, peers = played(world(**{"network.link.duplication": 0.5}, **changes))
    for peer in peers:
        assert np.allclose(peer.theta, calm[0].theta, rtol=1e-12)


def test_a_straggler_comes_in_when_its_vector_arrives():
    """It takes two slots where the others take one: its first model comes when they have their second ones."""
    late = LATE | {"compute": {"time": "20 ms"}, "fault": [{"kind": "straggler", "agent": 4, "factor": 7.0, "at": 0.0}]}
    _, peers = played(world(**late))
    for peer in peers[:4]:
        newest = peer.learner.flood.newest
        assert {origin: version for origin, (version, _) in newest.items()} == {0: 2, 1: 2, 2: 2, 3: 2, 4: 1}
        assert np.allclose(peer.theta, peer.factors * np.mean([vector for _, vector in newest.values()], axis=0))


def test_an_agent_that_comes_back_is_told_what_it_has_missed():
    absent = [{"kind": "crash", "agent": 4, "at": 2.05, "duration": 1.0}]
    _, peers = played(world(**LATE, fault=absent))
    for peer in peers:
        assert {origin: version for origin, (version, _) in peer.learner.flood.newest.items()} == dict.fromkeys(
            range(5), 2
        )
        assert np.allclose(peer.theta, peers[0].theta, rtol=1e-12)


def test_a_codec_of_one_byte_changes_nothing():
    _, exact = played(world())
    _, coarse = played(world(**{"network.codec": "int8"}))
    assert np.allclose(exact[2].theta, coarse[2].theta, rtol=1e-12)


def test_an_agent_that_dies_after_its_moments_leaves_a_mean_of_four():
    fault = [{"kind": "crash", "agent": 4, "at": 0.35}]
    pacing = {"kind": "deadline", "period": 0.1}
    _, peers = played(world(fault=fault, **{"network.pacing": pacing}))
    _, calm = played(world(**{"network.pacing": pacing}))
    assert all(sorted(peer.learner.flood.newest) == [0, 1, 2, 3] for peer in peers[:4])
    assert all(4 in peer.flood.newest for peer in peers[:4]), "its moments were heard before"
    own = [peers[0].learner.flood.newest[origin][1] for origin in range(4)]
    assert np.allclose(peers[0].theta, peers[0].factors * np.mean(own, axis=0))
    assert np.linalg.norm(peers[0].theta - calm[0].theta) < np.linalg.norm(calm[0].theta)


def test_what_a_hostile_neighbour_says_in_others_names_stays_within_the_domain():
    built = build(world())
    peer = peers_of(built)[0].learner
    longest = peer.limits[0]
    head = np.array([127.0, 1.0, 127.0, 1.0, 0.0, 2.0])
    assert peer.accepts(1, (head, np.full(5, 0.99 * longest / np.sqrt(5))))
    assert not peer.accepts(1, (head, np.full(5, 1.01 * longest / np.sqrt(5))))
    for origin in range(5):
        peer.flood.newest[origin] = (1, np.full(5, 0.99 * longest / np.sqrt(5)))
    peer.theta = peer.flood.mean
    assert not peer.outside(peer.pull)
    peer.theta = 1.02 * peer.theta
    assert peer.outside(peer.pull)


def test_every_model_that_is_told_is_a_release_and_the_rest_follows_from_it():
    """A listener who has the releases of agent 0 alone can write every vector that was told in its name."""
    result = run(world(**{"network.link.loss": 0.2}))
    own = {e.round: unpack(e.value) for _, _, e in result.events if isinstance(e, events.ReleaseMade) and e.agent == 0}
    assert set(releases(result)) <= own.keys()
    _, peers = played(world(**{"network.link.loss": 0.2}))
    for peer in peers:
        version, vector = peer.learner.flood.newest.get(0, (0, None))
        if version == 2:
            assert np.array_equal(vector, in_steps(own[9]))


def test_what_outputs_are_made_of_is_in_original_coordinates_and_of_the_origins_round():
    _, peers = played(world())
    for peer in peers:
        known = peer.known_models()
        assert sorted(known) == [0, 1, 2, 3, 4]
        assert {told.round for told in known.values()} == {9}
        assert np.allclose(np.mean([told.model for told in known.values()], axis=0), peer.theta, rtol=1e-12)
    heard = peers[0].model_heard(Known(1, 12, ()))
    assert np.array_equal(heard, peers[1].known_models()[1].model)
    assert peers[0].model_heard(Known(1, 4, ())) is None, "moments are no model"


def test_more_solves_than_messages_have_room_for_are_refused():
    with pytest.raises(ScenarioError, match="solves = 101: at most 100"):
        world(**{"algorithm.solves": 101})


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"network.codec": "top-k"}, "network.codec"), ({"network.medium": "shared"}, "network.medium")],
)
def test_networks_that_cannot_carry_letters_are_refused(changes, field):
    with pytest.raises(ScenarioError, match=field):
        world(**changes)
