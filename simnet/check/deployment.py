"""Does it run on real machines? A checkpoint and back, a live run beside the simulated one, and one with a kill."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import Any

import numpy as np

from simnet.check.outcome import Failing, Inapplicable
from simnet.check.subject import Subject
from simnet.errors import LiveError, ScenarioError
from simnet.live import checkpoint
from simnet.live import run as live
from simnet.live.fleet import Fleet
from simnet.methods.peer import Peer, alone
from simnet.record import events
from simnet.scenario import Scenario
from simnet.simulate import Result, peers_of, run

KILLED_AFTER = 2
"""The round after which an agent is killed."""
_COURSE = (events.ReleaseMade, events.PrivacySpent, events.SvtTested, events.BroadcastSkipped)


def kept_in_checkpoints(subject: Subject) -> str:
    """The state of a peer can be written down, and a new peer with it proposes the same."""
    world, modules = subject.world, frozenset(part.module for part in subject.scenario.foreign())
    peer, fresh = peers_of(world)[0], peers_of(world)[0]
    _advance(peer, 1)
    fixed = {"objective": world.training[0], "plan": world.calibration.plans[0], "method": subject.scenario.algorithm}
    try:
        saved = checkpoint.save({"peer": peer}, fixed, modules)
        back = checkpoint.restore(saved, {"peer": fresh}, fixed, modules)["peer"]
    except (LiveError, TypeError, AttributeError, ValueError) as error:
        raise Failing(
            f"an agent cannot be restarted: {error}; let a peer hold arrays, numbers, generators and objects of its "
            "own module"
        ) from None
    one, other = alone(peer.propose(2)), alone(back.propose(2))
    if not _same(one.release, other.release):
        raise Failing("a peer that is restored from its checkpoint proposes something else; keep no state in functions")
    return "a peer that is restored from its checkpoint proposes the same"


def _advance(peer: Peer, t: int) -> None:
    proposal = alone(peer.propose(t))
    if hasattr(peer, "gather"):
        peer.gather(())
    peer.absorb(t, proposal.release, ())


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def agrees(subject: Subject) -> str:
    """Three processes that speak over sockets make the same releases as the simulation."""
    scenario = _deployed(subject, 6)
    fleets: list[Fleet] = []
    found = live.run(scenario, tls=False, watch=fleets.append)
    _compare(found, run(scenario), fleets[0])
    return f"three processes make the same {_releases(found)} releases as the simulation"


def survives_a_kill(subject: Subject) -> str:
    """The same with one process killed and started again."""
    scenario = _deployed(subject, 20)
    fleets: list[Fleet] = []

    def watch(fleet: Fleet) -> None:
        fleets.append(fleet)
        threading.Thread(target=_kill, args=(fleet, 1), daemon=True).start()

    found = live.run(scenario, tls=False, watch=watch)
    if not fleets[0].restarts:
        raise Inapplicable("the run was over before its agent could be killed")
    _compare(found, run(scenario), fleets[0])
    return "an agent is killed and started again, and nobody can tell by the releases"


def _deployed(subject: Subject, rounds: int) -> Scenario:
    try:
        scenario = subject.scenario.with_(**subject.three_agents, rounds=rounds)
        live.check(scenario, shim=True)
    except ScenarioError as error:
        raise Inapplicable(f"refused: {error}") from None
    return scenario


def _kill(fleet: Fleet, agent: int) -> None:
    while fleet.rounds.get(agent, 0) < KILLED_AFTER:
        threading.Event().wait(0.002)
    with suppress(ProcessLookupError):
        os.kill(fleet.process(agent), signal.SIGKILL)


def _compare(found: Result, simulated: Result, fleet: Fleet) -> None:
    if fleet.refusals:
        raise Failing(f"live, messages are refused: {min(fleet.refusals)}; let `message_lengths` say how long they are")
    for kind in _COURSE:
        one, other = _told(found, kind), _told(simulated, kind)
        if one != other:
            agent, t = min(place for place in {*one, *other} if one.get(place) != other.get(place))
            raise Failing(
                f"live, {kind.kind} of agent {agent} in round {t} is another than in the simulation; keep state in the "
                "peer alone: live, every agent is a process of its own"
            )


def _told(result: Result, kind: type[events.Event]) -> dict[tuple[int, int], list[events.Event]]:
    found: dict[tuple[int, int], list[events.Event]] = {}
    for _, _, event in result.events:
        if isinstance(event, kind):
            found.setdefault((event.agent, event.round), []).append(event)  # type: ignore[attr-defined]
    return found


def _releases(result: Result) -> int:
    return sum(isinstance(event, events.ReleaseMade) for _, _, event in result.events)
