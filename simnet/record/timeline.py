"""An event log as a timeline: the trace format of Chrome, which Perfetto and `chrome://tracing` show.

Each agent is a process with tracks for its rounds, for what it sends and for what it receives. A message is an arrow
from the one to the other; one that does not arrive is a mark at its sender. Faults are spans, evaluations are counters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simnet.record import events as ev
from simnet.record.formats import Writable
from simnet.record.log import read

_ROUNDS, _SENT, _RECEIVED = 1, 2, 3
_TRACKS = {_ROUNDS: "rounds", _SENT: "sent", _RECEIVED: "received"}
_NETWORK = 0
"""The process of what belongs to no single agent."""
_Entry = dict[str, Any]


def export_trace(path: Path, handle: Writable) -> None:
    """Write the trace as JSON, one entry per line.

    The seal stands at the end of a log. So an altered log raises `LogError` only there, after its lines are out.
    """
    handle.write('{"displayTimeUnit":"ms","traceEvents":[\n')
    for place, entry in enumerate(_Timeline().entries(path)):
        separator = ",\n" if place else ""
        handle.write(separator + json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    handle.write("\n]}\n")


class _Timeline:
    """What has begun and not yet ended."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[float, int]] = {}
        """since when an agent is in which round"""
        self._notes: dict[int, _Entry] = {}
        """what happened in it"""

    def entries(self, path: Path) -> Iterator[_Entry]:
        """The entries of the trace, in the order in which their events ended."""
        last = 0.0
        for _, t, event in read(path):
            last = t
            yield from self._told(1e6 * t, event)
        for agent in sorted(self._open):
            yield self._closed(1e6 * last, agent, "unfinished")

    def _told(self, now: float, event: ev.Event) -> Iterator[_Entry]:
        match event:
            case ev.RunStarted():
                yield from _named(event)
            case ev.RoundStarted(agent=agent, round=number):
                if agent in self._open:
                    yield self._closed(now, agent, "broken off")
                self._open[agent], self._notes[agent] = (now, number), {}
            case ev.DualUpdated(agent=agent) if agent in self._open:
                yield self._closed(now, agent)
            case ev.BroadcastSkipped(agent=agent, reason=reason):
                self._notes.setdefault(agent, {})["skipped"] = reason
                yield _mark(now, agent, _ROUNDS, f"skip: {reason}", {"round": event.round})
            case ev.RoundTimeout(agent=agent):
                yield _mark(now, agent, _ROUNDS, "timeout", {"round": event.round, "missing": event.missing})
            case ev.FaultBegan() | ev.FaultEnded():
                yield from _fault(now, event)
            case ev.EvaluationDone():
                yield _entry("C", now, _NETWORK, _ROUNDS, "test error", args={"test error": event.test_error})
            case _:
                yield from _message(now, event)

    def _closed(self, now: float, agent: int, how: str | None = None) -> _Entry:
        began, number = self._open.pop(agent)
        args = {"round": number, **self._notes.pop(agent, {})} | ({"ended": how} if how else {})
        return _entry("X", began, agent + 1, _ROUNDS, f"round {number}", dur=now - began, args=args)


def _entry(phase: str, now: float, process: int, track: int, name: str, **more: Any) -> _Entry:
    return {"ph": phase, "ts": now, "pid": process, "tid": track, "name": name, **more}


def _mark(now: float, agent: int, track: int, name: str, args: _Entry) -> _Entry:
    return _entry("i", now, agent + 1, track, name, s="t", args=args)


def _named(start: ev.RunStarted) -> Iterator[_Entry]:
    """The names of processes and tracks."""
    names = [f"agent {agent}" + (f": {start.names[agent]}" if start.names else "") for agent in range(len(start.rows))]
    for process, name in enumerate([str(start.scenario.get("name", "network")), *names]):
        yield _entry("M", 0.0, process, _ROUNDS, "process_name", args={"name": name})
        yield _entry("M", 0.0, process, _ROUNDS, "process_sort_index", args={"sort_index": process})
        for track, told in _TRACKS.items() if process else ():
            yield _entry("M", 0.0, process, track, "thread_name", args={"name": told})


def _fault(now: float, event: ev.FaultBegan | ev.FaultEnded) -> Iterator[_Entry]:
    """A span per agent that a fault concerns: of a partition all on one side, of a link both ends."""
    phase = "b" if isinstance(event, ev.FaultBegan) else "e"
    agents = event.agents or [agent for agent in (event.agent, event.peer) if agent is not None]
    for process in [agent + 1 for agent in agents] or [_NETWORK]:
        own = f"{event.fault} {event.agent} {event.peer} {event.agents} at {process}"
        yield _entry(phase, now, process, _ROUNDS, event.fault, cat="fault", id=own)


def _message(now: float, event: ev.Event) -> Iterator[_Entry]:
    """A message: where it is sent, and where it arrives or what becomes of it."""
    if not isinstance(event, ev.OfMessage):
        return
    sender, told = ev.sender(event), {"message": event.message, "round": event.round}
    arrow = {"cat": "message", "id": event.message}
    if isinstance(event, ev.MessageSent):
        told |= {"to": event.peer, "wire_bytes": event.wire_bytes}
        yield _entry("X", now, sender + 1, _SENT, event.carries, dur=0, args=told)
        yield _entry("s", now, sender + 1, _SENT, "message", **arrow)
    elif isinstance(event, ev.MessageDelivered):
        yield _entry("X", now, event.agent + 1, _RECEIVED, "delivered", dur=0, args=told | {"from": sender})
        yield _entry("f", now, event.agent + 1, _RECEIVED, "message", bp="e", **arrow)
    else:
        yield _mark(now, sender, _SENT, event.kind.removeprefix("message."), told)
