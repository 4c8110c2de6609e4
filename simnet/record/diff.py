"""The first event in which two logs differ, in words.

Two releases are the same if they round to the same eight digits. Two last lines are the same whatever their seals. So
logs with equal digests do not differ. Different scenarios are only noted; the difference is the first event that they
led to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from simnet.errors import LogError
from simnet.record import events
from simnet.record.formats import flat
from simnet.record.lines import canonical_vector, unpack
from simnet.record.log import Recorded, read

_FATES: dict[type[events.Event], str] = {
    events.MessageDelivered: "delivered",
    events.MessageLost: "lost",
    events.MessageOverflowed: "dropped",
    events.MessageUnreachable: "could not deliver",
    events.MessageRefused: "refused",
}
"""What a network did to a message, as a verb."""


@dataclass(frozen=True)
class Difference:
    """The first event that differs, in words. `fields` names the fields that differ if both events are of one kind."""

    seq: int
    sentence: str
    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is told, line by line."""
        return self.sentence, *self.notes

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def diff(a: Path, b: Path) -> Difference | None:
    """The first difference between two run folders or logs; None if they hold the same events.

    Both logs are read to their ends, so that a difference is not blamed on a run when a log was altered.
    """
    first, second = _named(a), _named(b)
    found: Difference | None = None
    notes: list[str] = []
    seq = lengths_a = lengths_b = 0
    for one, two in zip_longest(first, second):
        seq += 1
        lengths_a, lengths_b = lengths_a + (one is not None), lengths_b + (two is not None)
        if found is not None or one is None or two is None:
            continue
        if isinstance(one[2], events.RunStarted) and isinstance(two[2], events.RunStarted):
            notes += _start_notes(one[2], two[2])
        else:
            found = _compare(one, two)
    if lengths_a != lengths_b:
        notes.append(f"A holds {lengths_a} events, B {lengths_b}")
    if found is not None:
        return Difference(found.seq, found.sentence, found.fields, tuple(notes))
    if notes:
        return Difference(1, "event 1: only the first lines differ, all that follows is the same", (), tuple(notes))
    return None


def _named(path: Path) -> Iterator[Recorded]:
    """The events of a log. Its errors name the log, because there are two."""
    try:
        yield from read(path)
    except LogError as error:
        raise LogError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _start_notes(a: events.RunStarted, b: events.RunStarted) -> list[str]:
    notes = []
    one, two = flat(a.scenario), flat(b.scenario)
    for name in {**one, **two}:
        if one.get(name) != two.get(name):
            notes.append(f"the scenarios differ in {name}: A {_shown(one.get(name))}, B {_shown(two.get(name))}")
    for name in ("version", "private", "features"):
        if getattr(a, name) != getattr(b, name):
            notes.append(f"the first lines differ in {name}: A {getattr(a, name)}, B {getattr(b, name)}")
    for one, two in ((a.files, b.files), (a.data, b.data)):
        notes += [f"the runs read another {name!r}" for name in {**one, **two} if one.get(name) != two.get(name)]
    if a.rows != b.rows:
        notes.append(f"the agents' shares of the data differ: A {_shown(a.rows)}, B {_shown(b.rows)}")
    if a.edges != b.edges:
        only = [len(set(each) - set(other)) for each, other in ((a.edges, b.edges), (b.edges, a.edges))]
        notes.append(f"the networks differ: {only[0]} links only in A, {only[1]} only in B")
    return notes


def _compare(a: Recorded, b: Recorded) -> Difference | None:
    """How two events with the same number differ."""
    (seq, ta, one), (_, tb, two) = a, b
    if ta == tb and one == two:
        return None
    fields = _fields(one, two) if type(one) is type(two) else ()
    if ta == tb and type(one) is type(two) and not fields:
        return None
    if type(one) is not type(two):
        return Difference(seq, f"event {seq}{_when(ta, tb)}: {_contrast(one, two)}")
    if set(fields) & set(events.COMMON):
        return Difference(seq, f"event {seq}{_when(ta, tb)}: A: {one}; B: {two}", fields)
    if not fields:
        return Difference(seq, f"event {seq}: {one}, in A at t = {ta!r} s, in B at t = {tb!r} s", ("t",))
    told = "; ".join(f"{name} is {_value(one, two, name)}" for name in fields)
    return Difference(seq, f"event {seq}{_when(ta, tb)}: {one}: {told}", fields)


def _when(ta: float, tb: float) -> str:
    return f" at t = {ta!r} s" if ta == tb else f" (A at t = {ta!r} s, B at t = {tb!r} s)"


def _contrast(a: events.Event, b: events.Event) -> str:
    """Two events of different kinds; two fates of one message are told in one sentence."""
    if type(a) in _FATES and type(b) in _FATES and _journey(a) == _journey(b):
        return f"A {_FATES[type(a)]} {_journey(a)}, B {_FATES[type(b)]} it"
    return f"A: {a}; B: {b}"


def _journey(event: Any) -> str:
    """Which message a fate is about."""
    peer = event.agent if events.sender(event) == event.peer else event.peer
    return f"message {event.message} from agent {events.sender(event)} to agent {peer}"


def _fields(a: events.Event, b: events.Event) -> tuple[str, ...]:
    """The names of the fields in which two events of one kind differ; seals do not count, they follow from the rest."""
    one, two = msgspec.structs.asdict(a), msgspec.structs.asdict(b)
    if isinstance(a, events.RunFinished):
        one["digest"] = two["digest"] = one["sha256"] = two["sha256"] = ""
    if isinstance(a, events.ReleaseMade):
        one["value"], two["value"] = canonical_vector(one["value"]), canonical_vector(two["value"])
    return tuple(name for name in one if one[name] != two[name])


def _value(a: Any, b: Any, name: str) -> str:
    """A field of both events; of two models only the first entry that differs."""
    one, two = getattr(a, name), getattr(b, name)
    if isinstance(a, events.ReleaseMade):
        x, y = unpack(one), unpack(two)
        if x.shape != y.shape:
            return f"{x.size} numbers in A, {y.size} in B"
        entry = int(np.argmax(x != y))
        return f"{float(x[entry])!r} in A and {float(y[entry])!r} in B, at entry {entry}"
    return f"{_shown(one)} in A and {_shown(two)} in B"


def _shown(value: object) -> str:
    text = "missing" if value is None else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
