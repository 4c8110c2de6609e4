"""An agent that was saved and restored goes on exactly as one that was not."""

from __future__ import annotations

import pickle
from hashlib import sha256

import numpy as np
import pytest

from simnet.agent.neighbourhood import Neighbourhood
from simnet.build import build, build_writer
from simnet.errors import LiveError
from simnet.live import checkpoint
from simnet.methods.peer import alone
from simnet.simulate import peers_of
from tests.worlds import live_world

BEFORE, AFTER = 3, 3

METHODS = [
    {"name": "admm", "eta": 0.05},
    {"name": "admm", "eta": 0.05, "duals": "healing"},
    {"name": "admm", "eta": 0.05, "duals": "edge"},
    {"name": "pp-admm", "eta": 0.05},
    {"name": "ipp-admm", "eta": 0.05, "max_releases": 4},
    {"name": "dvp", "eta": 0.5},
    {"name": "pvp", "eta": 0.5},
    {"name": "m-admm", "eta": 0.5, "penalty_growth": 1.01},
    {"name": "r-admm", "eta": 0.5, "gamma": 0.5},
]


class Company:
    """All agents of a world, who hear each other at once."""

    def __init__(self, world) -> None:
        self.world = world
        self.peers = peers_of(world)
        self.writers = [build_writer(world.scenario, agent) for agent in range(world.agents)]
        self.hoods = [
            Neighbourhood(sorted(world.graph[agent]), peer.initial(), aligned=True)
            for agent, peer in enumerate(self.peers)
        ]

    def objects(self, agent):
        return {"peer": self.peers[agent], "writer": self.writers[agent], "neighbourhood": self.hoods[agent]}

    def fixed(self, agent):
        codec = self.world.scenario.network.codec
        return {"objective": self.world.training[agent], "plan": self.world.calibration.plans[agent], "codec": codec}

    def play(self, t):
        """One round of all; what each has let out."""
        out = []
        for agent, peer in enumerate(self.peers):
            proposal = alone(peer.propose(t))
            peer.settled(accepted=True)
            out.append((agent, peer, *self._release(t, agent, peer, proposal.release)))
        for agent, _, payloads, _ in out:
            for neighbour, payload in payloads.items():
                self.hoods[neighbour].hear(agent, t, self.writers[neighbour].decode(payload))
        for agent, peer, _, sent in out:
            self.hoods[agent].enter(t)
            peer.absorb(t, sent, self.hoods[agent].read())
        return [payloads for _, _, payloads, _ in out]

    def _release(self, t, agent, peer, release):
        if release is None:
            return {}, None
        neighbours = self.hoods[agent].peers
        letters = peer.letters(release[0], neighbours)
        if letters is not None:
            return {to: self.writers[agent].letter(to, parts) for to, parts in letters.items()}, release
        known = self.hoods[agent].known
        payload, sent = self.writers[agent].model(release[0], lambda model: peer.accompany(t, model, known))
        return dict.fromkeys(neighbours, payload), sent


@pytest.mark.parametrize("codec", ["float64", "int8", "top-k", "tests.network.models:Halves"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method['name']}-{method.get('duals', 'node')}")
def test_a_restored_agent_goes_on_bit_by_bit_as_if_nothing_had_happened(method, codec):
    world = build(live_world(algorithm=method, **{"network.codec": codec}))
    undisturbed = Company(world)
    for t in range(1, BEFORE + 1):
        undisturbed.play(t)
    restarted = Company(world)
    for agent in range(world.agents):
        saved = checkpoint.save(undisturbed.objects(agent), undisturbed.fixed(agent))
        checkpoint.restore(saved, restarted.objects(agent), restarted.fixed(agent))

    for t in range(BEFORE + 1, BEFORE + AFTER + 1):
        assert restarted.play(t) == undisturbed.play(t)
    for one, other in zip(restarted.peers, undisturbed.peers, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_array_equal(one.dual, other.dual)


def test_the_threshold_of_a_test_is_the_one_that_was_drawn_and_not_drawn_again():
    world = build(live_world(algorithm={"name": "ipp-admm", "eta": 0.05, "max_releases": 4}))
    company = Company(world)
    bar, drawn = company.peers[0]._test._bar, company.peers[0]._test.rng.bit_generator.state
    company.play(1)
    saved = checkpoint.save(company.objects(0), company.fixed(0))
    fresh = Company(world)
    fresh.peers[0]._test._bar = 0.0

    checkpoint.restore(saved, fresh.objects(0), fresh.fixed(0))

    assert fresh.peers[0]._test._bar == bar
    assert str(fresh.peers[0]._test.rng.bit_generator.state) != str(drawn)
    assert fresh.peers[0]._test.rng.laplace() == company.peers[0]._test.rng.laplace()


def test_a_checkpoint_does_not_hold_the_data():
    sizes = []
    for rows in (300, 6000):
        company = Company(build(live_world(**{"data.rows": rows, "data.train": rows - 60})))
        company.play(1)
        sizes.append(len(checkpoint.save(company.objects(0), company.fixed(0))))

    assert sizes[1] < 1.1 * sizes[0]


def test_a_damaged_checkpoint_is_refused():
    company = Company(build(live_world()))
    saved = bytearray(checkpoint.save(company.objects(0), company.fixed(0)))
    saved[-20] ^= 1

    with pytest.raises(LiveError, match="damaged"):
        checkpoint.restore(bytes(saved), company.objects(0), company.fixed(0))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "print"),
        ("simnet.live.agent", "asyncio.subprocess.subprocess.Popen"),  # reached through what a module imports
        ("simnet.learning.data_files", "Path"),  # a class of somebody else's, under simnet's name
        ("simnet.live.journal", "Journal"),  # would open a file
    ],
)
def test_a_forged_checkpoint_cannot_run_a_program(module, name, tmp_path):
    made = tmp_path / "made"
    opcodes = f"c{module}\n{name}\n(V{made}\ntR."  # the pickle of name(made)
    body = opcodes.encode()

    with pytest.raises(LiveError, match="has no place in a checkpoint"):
        checkpoint.restore(sha256(body).digest() + body, {}, {})
    assert not made.exists()


def test_a_checkpoint_of_something_else_is_refused():
    body = pickle.dumps([1, 2])
    with pytest.raises(LiveError, match="no table of objects"):
        checkpoint.restore(sha256(body).digest() + body, {}, {})
