"""What a malicious neighbour can send, and that it gains nothing: the attacks succeed on code without these guards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.build import build
from simnet.learning.dataset import bound_rows
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.dp_admm import LeafPeer, noisy_gradient
from simnet.methods.peer import LARGEST, Known, Peer, Proposal, alone, within
from simnet.methods.pp_admm import PpAdmmPeer
from simnet.network.payloads import Partial
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.privacy.objective_perturbation import Target
from simnet.privacy.problem import LocalProblem
from simnet.privacy.rounding import longest_point
from simnet.record.bus import Bus
from simnet.record.events import BroadcastSkipped, MessageRefused, ReleaseMade
from simnet.record.laws import Laws
from simnet.record.lines import unpack
from simnet.record.metrics import SILENCED, Metrics
from simnet.simulate import assemble, peers_of
from simnet.streams import Streams
from tests.worlds import live_world

SCENARIOS = Path(__file__).parents[2] / "scenarios"
ROWS, FEATURES, ETA, DEGREE = 700, 10, 0.01, 2


def absorbing_data(label: float) -> LocalObjective:
    """22 rows look along the second feature alone; the first of them is the secret one.

    Without it the loss gradient there is 21/700 where the model is far out, with it 22/700, and half of a sixteenth,
    the spacing of float64 near 5.7e14, lies between the two.
    """
    rng = np.random.default_rng(0)
    X = bound_rows(rng.normal(size=(ROWS, FEATURES)) / 3)
    y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    X[:, 1] = 0.0
    X[:22], y[:22] = 0.0, -1.0
    X[:22, 1] = 1.0
    y[0] = label
    return LocalObjective(X, y, LOGISTIC, 1e-4)


def victim(label: float, seed: int) -> PpAdmmPeer:
    problem = LocalProblem.of(ROWS, DEGREE, ETA, 1e-4, features=FEATURES)
    plan = Target(problem, 1.0, 1e-4).plan(1, 1)
    rng = Streams(seed).generator("noise", 0)
    return PpAdmmPeer(absorbing_data(label), degree=DEGREE, eta=ETA, plan=plan, rng=rng)


def shouted_at(label: float, seed: int) -> float | None:
    """The driven coordinate of what the victim releases after a value that brings ℓ to 5.73e14; None for silence."""
    shout = np.zeros(FEATURES)
    shout[1] = 5.73e14 / (2 * ETA)
    peer = victim(label, seed)
    # As if it had got past the door.
    peer.absorb(0, None, [Known(1, 1, (shout,)), Known(2, 0, (np.zeros(FEATURES),))])
    assert np.linalg.norm(peer.linear()) == pytest.approx(5.73e14)
    assert not peer.accepts(1, (shout,))
    release = alone(peer.propose(1)).release
    return None if release is None else float(release[0][1])


def test_a_huge_value_does_not_make_the_noise_vanish_by_absorption(monkeypatch):
    """Near |ℓ| = 5.7e14 noise is below the spacing of float64 and the data decide the rounding.

    Without the domain, ε = 1 is certainty: one outcome for all noise, and another one for the other label.
    """
    outcomes = {label: {shouted_at(label, seed) for seed in range(20)} for label in (1.0, -1.0)}
    assert outcomes == {1.0: {None}, -1.0: {None}}
    monkeypatch.setattr(AdmmPeer, "outside", lambda self, linear: False)
    unguarded = {label: {shouted_at(label, seed) for seed in range(20)} for label in (1.0, -1.0)}
    assert len(unguarded[1.0]) == len(unguarded[-1.0]) == 1
    assert unguarded[1.0] != unguarded[-1.0]


def attainable(released: float, gradient: float, sigma: float) -> bool:
    """Whether some float64 z gives fl(gradient + fl(σ z)) = released: the z around the one that should."""
    z = (released - gradient) / sigma
    return any(
        float(gradient + np.float64(sigma * near)) == released
        for near in z + np.arange(-6, 7) * np.spacing(abs(z) or 1.0)
    )


def excluded(sigma: float = 0.004137) -> tuple[int, int]:
    """In how many of 20 runs the last bits of a leaf's release exclude the true label, and the wrong one."""
    step, count = 2.0 ** math.floor(math.log2(sigma / 64)), [0, 0]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = bound_rows(rng.normal(size=(400, 60)) * (rng.random((400, 60)) < 0.1))
        y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
        wrong = y.copy()
        wrong[0] = -y[0]
        true, false = (LocalObjective(X, labels, LOGISTIC, 0.0) for labels in (y, wrong))
        schedule = NoiseSchedule("gaussian", (noisy_gradient(400, 1.0, sigma),))
        sent = alone(LeafPeer(true, schedule, Streams(seed).generator("noise", 1)).propose(1)).release[0]
        # A point of the grid is the nearest one to many sums, whatever the gradient.
        on_grid = bool((np.round(sent / step) * step == sent).all())
        for which, hypothesis in enumerate((true, false)):
            gradient = hypothesis.loss_gradient(np.zeros(60))
            possible = on_grid or all(map(attainable, sent.tolist(), gradient.tolist(), [sigma] * 60))
            count[which] += not possible
    return count[0], count[1]


def test_the_low_bits_of_a_noisy_gradient_do_not_tell_a_label(monkeypatch):
    """Products σz leave gaps between float64 numbers, so the sum with the wrong gradient is often impossible."""
    assert excluded() == (0, 0)
    monkeypatch.setattr("simnet.privacy.noise_schedule.gridded", lambda value, scale: value)
    assert excluded() == (0, 13)


@pytest.mark.parametrize(
    "parts",
    [
        (np.array([1.0, np.nan]),),
        (np.array([1.0, np.inf]),),
        (np.array([1e200, 0.0]),),
        (np.array([8.0, 8.0]),),
        (np.array([1.0, 0.0]), np.array([0.0, 101.0])),
        (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([4.0])),
        (np.array([1.0, 0.0]),) * 4,
        Partial((np.array([np.nan, np.inf]),)),
        Partial((np.array([np.nan, 11.0]),)),
    ],
)
def test_values_outside_the_limits_are_refused(parts):
    assert not within(parts, (10.0, 100.0, 3.0))


@pytest.mark.parametrize(
    "parts",
    [
        (np.array([6.0, 8.0]),),
        (np.array([1.0, 0.0]), np.array([0.0, 99.0]), np.array([-3.0])),
        Partial((np.array([np.nan, 9.0]), np.array([np.nan, 99.0]))),
    ],
)
def test_values_within_the_limits_are_taken(parts):
    assert within(parts, (10.0, 100.0, 3.0))


class Shouter:
    """Does what an honest peer does, but releases what it likes in one round."""

    def __init__(self, honest: Peer, value: Sequence[float], round: int = 2, company: tuple = ()) -> None:
        self._honest, self._value, self._round, self._company = honest, value, round, company

    def __getattr__(self, name: str):
        return getattr(self._honest, name)

    def propose(self, t: int):
        proposal = alone(self._honest.propose(t))
        if t != self._round:
            return proposal
        huge = np.resize(np.array(self._value, dtype=float), self._honest.theta.shape)
        return Proposal((huge,), 0, 0.0, proposal.charges, proposal.test)

    def absorb(self, t, sent, known):
        """It goes on as if it had said nothing: its own state stays honest."""
        self._honest.absorb(t, None if t == self._round else sent, known)

    def accompany(self, t, model, known):
        found = self._honest.accompany(t, model, known)
        return self._company if t == self._round and self._company else found


def shouted(scenario: Scenario, value: Sequence[float], round: int = 2, company: tuple = (), careless: bool = False):
    """All events of a run in which agent 1 shouts, its metrics, and what the laws say; `careless` agents take it."""
    world = build(scenario)
    peers = peers_of(world)
    for peer in peers if careless else ():
        peer.limits = (LARGEST,) * 3
    peers[1] = Shouter(peers[1], value, round, company)
    metrics, laws, seen = Metrics(), Laws(ALIGNED), []

    def note(seq, t, event):
        laws(seq, t, event)
        seen.append(event)

    assemble(world, Bus(metrics, note), peers).run()
    return seen, metrics, laws.finish()


METHODS = ["pp-admm", "ipp-admm", "dvp", "pvp", "m-admm", "r-admm", "admm"]


@pytest.mark.parametrize("value", [[math.inf], [1e300, -1.0], [1e12]])
@pytest.mark.parametrize("duals", ["node", "healing", "edge"])
@pytest.mark.parametrize("name", METHODS)
def test_a_shouted_value_is_refused_counted_and_as_good_as_lost(name, duals, value):
    if duals == "edge" and name == "r-admm":
        pytest.skip("r-admm keeps no edge duals")
    if name == "admm" and value == [1e12]:
        pytest.skip("without privacy nothing bounds a finite value")
    algorithm = {"name": name, "eta": 0.05, "duals": duals}
    if name == "ipp-admm":
        algorithm |= {"threshold": 0.0}
    chosen = live_world(algorithm=algorithm, rounds=4, **{"network.pacing": "ideal", "privacy.epsilon": 50.0})
    events, metrics, complaints = shouted(chosen, value)
    refused = [event for event in events if isinstance(event, MessageRefused)]
    assert complaints == []
    assert [(event.agent, event.peer, event.round) for event in refused] == [(0, 1, 2), (2, 1, 2)]
    traffic = metrics.summary("", None)["communication"]
    assert traffic["refused"] == 2
    assert traffic["in_flight"] == 0
    assert traffic["messages"] == traffic["delivered"] + 2
    assert metrics.agents[1]["refused"] == 2
    assert metrics.rounds[-1]["refused"] == 2
    late = [event for event in events if isinstance(event, ReleaseMade) and event.agent != 1 and event.round > 2]
    assert late
    assert all(np.isfinite(unpack(event.value)).all() for event in late)


@pytest.mark.parametrize("lead", [1e9, -1e9, math.inf, -3.0])
def test_a_healing_lead_that_cannot_be_is_refused(lead):
    """It counted the steps up to any time that a message named, one by one."""
    chosen = live_world(
        algorithm={"name": "pp-admm", "eta": 0.05, "duals": "healing"}, rounds=4, **{"network.pacing": "ideal"}
    )
    features = build(chosen).learning.features
    company = (np.zeros(features), np.array([lead]))
    _, metrics, complaints = shouted(chosen, [0.5], company=company)
    assert complaints == []
    assert metrics.summary("", None)["communication"]["refused"] == 2


@pytest.mark.parametrize("name", ["pp-admm", "ipp-admm", "dvp", "pvp", "m-admm", "r-admm"])
def test_a_value_that_no_limit_caught_ends_in_silence_and_not_in_a_solve(name):
    """The backstop: a linear term outside its domain skips the round, whatever made it so long."""
    algorithm = {"name": name, "eta": 0.05} | ({"threshold": 0.0} if name == "ipp-admm" else {})
    chosen = live_world(algorithm=algorithm, rounds=4, **{"network.pacing": "ideal", "privacy.epsilon": 50.0})
    events, metrics, complaints = shouted(chosen, [1e12], round=2, careless=True)
    skips = [event for event in events if isinstance(event, BroadcastSkipped) and event.reason == "domain"]
    assert complaints == []
    assert {event.agent for event in skips} >= {0, 2}
    assert {event.round for event in skips} <= {3, 4}
    summary = metrics.summary("", None)
    assert summary["skips_by_reason"]["domain"] == len(skips)
    # A sum of realised costs is no promise if somebody decides by the releases when it ends.
    assert SILENCED in summary["privacy"]["caveats"]


@pytest.mark.parametrize("accelerated", [False, True])
def test_an_untrusted_hub_asks_for_no_gradient_where_rounding_counts(accelerated):
    name = "dp-acc-admm" if accelerated else "dp-admm"
    chosen = live_world(
        algorithm={"name": name, "hub": "untrusted", "graph": "none"},
        topology={"kind": "star", "agents": 3},
        rounds=4,
        **{"network.pacing": "ideal"},
    )
    world = build(chosen)
    hub, leaf, _ = peers_of(world)
    size = world.sizes[1]
    reach = longest_point(size.rows, size.features, 1.0, 0.25)
    far = np.zeros(size.features)
    far[0] = 1.01 * reach
    near = far / 1.02
    assert not leaf.accepts(1, (near, far))
    assert not leaf.accepts(1, (far,))
    assert leaf.accepts(1, (near, near))
    assert not hub.accepts(1, (far * 1e6,))
    leaf.point = far
    assert alone(leaf.propose(1)).skipped == "domain"
    hub.solver.start = far * 1e3
    assert alone(hub.propose(1)).skipped == "domain"


def test_what_a_neighbour_retells_after_a_crash_is_refused_like_anything_else():
    peer = peers_of(build(live_world(algorithm={"name": "pp-admm", "eta": 0.05, "duals": "healing"})))[0]
    good, far = np.ones_like(peer.theta), np.full_like(peer.theta, 1e12)
    assert peer.accepts(3, (good, good, np.array([-1.0])))
    assert not peer.accepts(3, (far, good, np.array([-1.0])))
    assert not peer.accepts(3, (good, far, np.array([-1.0])))
    assert not peer.accepts(3, (good, good, np.array([-4.0])))
    assert not peer.accepts(3, (good, good, np.array([1.0, 1.0])))


def test_a_reply_that_lies_about_the_past_is_refused_and_another_one_is_believed():
    """Agent 0 loses its state; agent 1 tells it a past that would bring its sums anywhere, agent 2 the true one."""
    crash = {"kind": "crash", "agent": 0, "at": 0.25, "duration": 0.1, "state": "lost"}
    link, compute = {"latency": 0.01}, {"time": 0.02}
    pacing = {"kind": "deadline", "period": 0.1}
    algorithm = {"name": "pp-admm", "eta": 0.05, "duals": "healing"}
    chosen = live_world(algorithm=algorithm, rounds=8, fault=[crash], compute=compute)
    chosen = chosen.with_(**{"network.pacing": pacing, "network.link": link})
    world = build(chosen)
    peers = peers_of(world)
    huge = np.full_like(peers[1].theta, 1e12)
    peers[1].retell = lambda last: (huge, huge, np.array([0.0]))
    metrics, laws, seen = Metrics(), Laws(ALIGNED), []

    def note(seq, t, event):
        laws(seq, t, event)
        seen.append(event)

    assemble(world, Bus(metrics, note), peers).run()
    assert laws.finish() == []
    replies = {event.message: event.agent for event in seen if getattr(event, "carries", "") == "reply"}
    refused = [event for event in seen if isinstance(event, MessageRefused)]
    assert [(event.agent, event.peer) for event in refused] == [(0, 1)]
    assert replies[refused[0].message] == 1
    assert sorted(replies.values()) == [1, 2]
    assert metrics.summary("", None)["skips_by_reason"]["domain"] == 0
    assert np.linalg.norm(peers[0].theta) < 100


def test_a_reliable_transport_does_not_send_a_refused_message_again():
    changes = {"network.pacing": {"kind": "barrier", "patience": 0.5}, "network.transport": "reliable"}
    chosen = live_world(rounds=4, compute={"time": 0.02}, **changes, **{"network.link": {"latency": 0.01}})
    _, metrics, complaints = shouted(chosen, [1e12])
    traffic = metrics.summary("", None)["communication"]
    assert complaints == []
    assert traffic["refused"] == 2
    assert traffic["retransmissions"] == 0


def test_without_a_plan_only_what_is_no_number_is_refused():
    peer = peers_of(build(live_world(algorithm={"name": "admm", "eta": 0.05})))[0]
    assert peer.limits == (LARGEST,)
    assert peer.accepts(1, (np.full_like(peer.theta, 1e100),))
    assert not peer.accepts(1, (np.full_like(peer.theta, np.inf),))


def test_honest_agents_stay_far_inside(monkeypatch):
    """The numbers of docs/privacy.md: domains of the quickstart, and how long its linear terms become."""
    lengths: list[float] = []

    def outside(self: AdmmPeer, linear: np.ndarray) -> bool:
        lengths.append(float(np.linalg.norm(linear)) / self.domain)
        assert np.linalg.norm(linear) < 1.0
        return False

    chosen = Scenario.load(SCENARIOS / "quickstart.toml")
    domains = [plan.domain for plan in build(chosen).calibration.plans]
    assert 9600 < min(domains) < max(domains) < 19300
    monkeypatch.setattr(AdmmPeer, "outside", outside)
    summary = run(chosen).summary
    # Two per test: the linear term, and the last model times the curvature.
    assert len(lengths) == 2 * (150 - summary["skips_by_reason"]["exhausted"])
    assert max(lengths) < 1e-4
    assert summary["communication"]["refused"] == summary["skips_by_reason"]["domain"] == 0
    assert summary["privacy"]["grid_epsilon"] == pytest.approx(1.51e-8, rel=0.01)
    assert summary["privacy"]["grid_delta"] == pytest.approx(5.9e-12, rel=0.02)
