"""Whole live runs: processes, sockets and kill -9, held against the simulation of the same scenario."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from simnet import run as simulate
from simnet.build import build
from simnet.errors import LiveError
from simnet.live import run as live
from simnet.live.fleet import Fleet
from simnet.live.machine import Machine
from simnet.live.run import content, merge
from simnet.record import events
from simnet.simulate import keep
from tests.portions import thorough
from tests.worlds import live_world, same_course, told, unlawful

TESTED = {"name": "ipp-admm", "eta": 0.05, "max_releases": 3}


def played(fleet: Fleet):
    """Run a fleet and make one record of it."""

    def happen(bus):
        fleet.run_all()
        merge(fleet.world, fleet.folders, bus)

    return keep(fleet.world, None, happen)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"algorithm": TESTED, "network.codec": "int8"},
        {"algorithm": {"name": "admm", "eta": 0.05, "duals": "healing"}, "network.codec": "top-k"},
        {"algorithm": {"name": "admm", "eta": 0.05, "duals": "edge"}},
        {"algorithm": {"name": "r-admm", "eta": 0.5, "gamma": 0.5}},
        {
            "algorithm": {"name": "dp-acc-admm", "hub": "untrusted"},
            "topology": {"kind": "star", "agents": 3},
        },
        {"algorithm": {"name": "gossip", "regulariser": 0.5}},
    ],
    ids=["pp-admm", "ipp-admm", "healing", "edge", "r-admm", "hub", "gossip"],
)
def test_without_loss_and_in_lock_step_a_live_run_is_the_simulated_one(changes):
    wanted = live_world(**changes)

    result = live.run(wanted, tls=False)

    assert unlawful(result) == []
    same_course(result, simulate(wanted))


def test_under_mutual_tls_it_is_the_same_run():
    wanted = live_world(rounds=3)

    same_course(live.run(wanted), simulate(wanted))


def test_the_final_models_are_those_of_the_simulation(tmp_path):
    fleet = Fleet(build(live_world(algorithm=TESTED)), tmp_path, "run")
    played(fleet)

    simulated = _final_models(fleet.world)

    for agent, folder in enumerate(fleet.folders):
        theta, dual, _ = content(folder).results[6]
        np.testing.assert_allclose(theta, simulated[agent][0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(dual, simulated[agent][1], rtol=0, atol=1e-9)


def _final_models(world):
    from simnet.record.bus import Bus
    from simnet.simulate import peers_of, play

    peers = peers_of(world)
    play(world, Bus(), peers)
    return [(peer.theta, peer.dual) for peer in peers]


def test_losses_are_those_that_the_links_draw_in_a_simulation():
    wanted = live_world(
        rounds=8,
        **{
            "network.pacing": {"kind": "barrier", "patience": 0.5},
            "network.link.loss": {"kind": "bernoulli", "p": 0.3},
            "network.link.latency": "1 ms",
        },
    )

    result, simulated = live.run(wanted, tls=False), simulate(wanted)

    assert unlawful(result) == []
    assert set(told(result, events.MessageLost)) == set(told(simulated, events.MessageLost))
    assert result.summary["communication"]["lost"] == simulated.summary["communication"]["lost"] > 0


def after_round(fleet: Fleet, agent: int, round: int) -> None:
    """Kill an agent's process as soon as it has told of a round."""
    while agent not in fleet.rounds or fleet.rounds[agent] < round:
        threading.Event().wait(0.002)
    os.kill(fleet.process(agent), signal.SIGKILL)


def with_kills(wanted, kills, **options):
    fleets = []

    def watch(fleet: Fleet) -> None:
        fleets.append(fleet)
        threading.Thread(target=lambda: [after_round(fleet, *kill) for kill in kills], daemon=True).start()

    result = live.run(wanted, watch=watch, **options)
    return result, fleets[0]


def one_charge_a_release(result, agents: int, rounds: int) -> None:
    """Every round of every agent has one release, and one entry in the ledger for it."""
    ends = [(agent, round) for agent in range(agents) for round in range(1, rounds + 1)]
    charges, releases = told(result, events.PrivacySpent), told(result, events.ReleaseMade)
    assert sorted(charges) == sorted(releases) == ends
    assert all(len(found) == 1 for found in (*charges.values(), *releases.values()))


def test_agents_that_are_killed_go_on_and_nothing_shows_but_the_crash():
    outputs = ["tail", "neighbours", {"kind": "tail+neighbours", "releases": 20}]
    wanted = live_world(rounds=40, topology={"kind": "regular", "agents": 6, "degree": 3}, output=outputs)

    result, fleet = with_kills(wanted, [(2, 4), (5, 9), (2, 13)], tls=False)

    assert fleet.restarts == 3
    assert unlawful(result) == []
    same_course(result, simulate(wanted))
    one_charge_a_release(result, 6, 40)
    crashes = [event.agent for _, _, event in result.events if isinstance(event, events.FaultEnded)]
    assert sorted(crashes) == [2, 2, 5]


@thorough
def test_twenty_agents_for_a_hundred_rounds_with_two_killed():
    wanted = live_world(
        rounds=100, topology={"kind": "regular", "agents": 20, "degree": 4}, **{"data.rows": 1200, "data.train": 1100}
    )

    result, fleet = with_kills(wanted, [(3, 20), (11, 55)])

    assert fleet.restarts == 2
    assert fleet.refusals == {}
    assert unlawful(result) == []
    one_charge_a_release(result, 20, 100)
    same_course(result, simulate(wanted))


def test_neighbours_go_on_without_an_agent_that_is_down_where_their_pacing_allows_it():
    wanted = live_world(
        rounds=60,
        topology={"kind": "ring", "agents": 4},
        algorithm={"name": "admm", "eta": 0.05},
        **{"network.pacing": {"kind": "deadline", "period": "30 ms"}, "compute.time": "5 ms"},
    )

    result, _ = with_kills(wanted, [(1, 3)], tls=False)

    assert unlawful(result) == []
    one_charge_a_release(result, 4, 60)
    down = next(t for _, t, event in result.events if isinstance(event, events.FaultBegan))
    back = next(t for _, t, event in result.events if isinstance(event, events.FaultEnded))
    ended = {e.agent for _, t, e in result.events if isinstance(e, events.DualUpdated) and down < t < back}
    assert ended <= {0, 2, 3}
    assert ended


def test_over_links_that_lose_repeat_spoil_and_overtake_a_killed_agent_breaks_no_law(tmp_path):
    wanted = live_world(
        rounds=8,
        topology={"kind": "complete", "agents": 4},
        algorithm=TESTED,
        **{
            "network.pacing": {"kind": "quorum", "quorum": 0.5, "patience": 0.2},
            "network.link.loss": {"kind": "bernoulli", "p": 0.2},
            "network.link.latency": {"kind": "uniform", "low": 0.0, "high": 0.03},
            "network.link.duplication": 0.2,
            "network.link.corruption": 0.2,
            "network.link.bandwidth": "100 kbit/s",
            "network.link.queue": 2,
        },
    )
    points = {(agent, start): f"record {20 + 7 * agent + 13 * start}" for agent in range(4) for start in (1, 2)}
    fleet = Fleet(build(wanted), tmp_path, "run", machine=Doomed(points))

    result = played(fleet)

    assert fleet.restarts > 0
    assert unlawful(result) == []
    released, charged = told(result, events.ReleaseMade), told(result, events.PrivacySpent)
    paid = [end for end, found in charged.items() for event in found if event.spent_on == "release"]
    assert sorted(paid) == sorted(released)
    assert all(len(found) == 1 for found in released.values())


class Doomed(Machine):
    """A machine whose process dies at a certain record, half written, or around the moment when all is made safe."""

    def __init__(self, points: dict[tuple[int, int], str]) -> None:
        self._points = points
        self._point: str | None = None
        self._count = 0

    def open_end(self, path: Path) -> int:
        if self._point is None:
            agent = int(path.parent.name.removeprefix("agent-"))
            incarnation = int((path.parent / "incarnation").read_text())
            self._point = self._points.get((agent, incarnation), "")
        return super().open_end(path)

    def write(self, file: int, data: bytes) -> None:
        self._count += 1
        if self._point == f"record {self._count}":
            os.write(file, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(file, data)

    def sync(self, file: int) -> None:
        self._die("before safe")
        super().sync(file)
        self._die("after safe")

    def _die(self, point: str) -> None:
        if self._point == point:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._point == f"{point}, the second time":
            self._point = point


@pytest.mark.parametrize("algorithm", [{"name": "pp-admm", "eta": 0.05}, TESTED], ids=["pp-admm", "ipp-admm"])
@pytest.mark.parametrize("first", range(0, 36, 6))
def test_a_crash_at_any_record_leaves_one_charge_for_each_release_and_no_fresh_noise(tmp_path, algorithm, first):
    """Each of six agents dies at another record of its journal, and once more soon after its restart."""
    wanted = live_world(rounds=4, topology={"kind": "ring", "agents": 6}, algorithm=algorithm)
    points = {(agent, 1): f"record {first + agent + 1}" for agent in range(6)}
    points |= {(agent, 2): f"record {agent + 1}" for agent in range(6)}
    fleet = Fleet(build(wanted), tmp_path, "run", machine=Doomed(points))

    result = played(fleet)

    assert fleet.restarts >= 6
    assert unlawful(result) == []
    same_course(result, simulate(wanted))


@pytest.mark.parametrize("when", ["", ", the second time"])
@pytest.mark.parametrize("point", ["before safe", "after safe"])
def test_a_crash_between_the_charge_and_the_sending_sends_the_very_same_release(tmp_path, point, when):
    wanted = live_world(rounds=3)
    fleet = Fleet(build(wanted), tmp_path, "run", machine=Doomed({(1, 1): point + when}))

    result = played(fleet)

    assert fleet.restarts == 1
    assert unlawful(result) == []
    same_course(result, simulate(wanted))
    one_charge_a_release(result, 3, 3)


def test_an_agent_that_cannot_go_on_ends_the_run_with_its_reason(tmp_path):
    fleet = Fleet(build(live_world()), tmp_path, "run")
    fleet.folders[1].mkdir(parents=True)
    (fleet.folders[1] / "scenario.toml").write_text("another")

    with pytest.raises(LiveError, match=r"agent 1: .* of another scenario"):
        fleet.run_all()
    with pytest.raises(ProcessLookupError):
        os.kill(fleet.process(0), 0)
