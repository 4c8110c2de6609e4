"""What the records of a journal hold, in bytes and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from simnet.live.journal import Kind, Record
from simnet.record import events
from simnet.record.lines import line, parse
from simnet.vectors import Vector

Timed = tuple[float, events.Event]


class Start(msgspec.Struct, frozen=True):
    """The first record: whose journal it is."""

    agent: int
    run: str
    """the deployment or run; agents of different ones have nothing to say to each other"""
    version: str
    """simnet's version"""
    epoch: float
    """the Unix time from which the agent counts its seconds"""


class Heard(msgspec.Struct, frozen=True):
    """A frame that has come in, and the event that says so: one record, so that no crash comes between them."""

    note: bytes
    raw: bytes


class Sending(msgspec.Struct, frozen=True):
    """A round's frames, by neighbour."""

    round: int
    frames: dict[int, bytes]


class Result(msgspec.Struct, frozen=True):
    """Model and dual at the end of a round, as little-endian float64."""

    round: int
    theta: bytes
    dual: bytes

    @property
    def vectors(self) -> tuple[Vector, Vector]:
        theta, dual = (np.frombuffer(part, "<f8").astype(np.float64) for part in (self.theta, self.dual))
        return theta, dual


def start(body: bytes) -> Start:
    return msgspec.msgpack.decode(body, type=Start)


def heard(body: bytes) -> Heard:
    return msgspec.msgpack.decode(body, type=Heard)


def sending(body: bytes) -> Sending:
    return msgspec.msgpack.decode(body, type=Sending)


def result(body: bytes) -> Result:
    return msgspec.msgpack.decode(body, type=Result)


def packed(record: msgspec.Struct) -> bytes:
    """A record as a body."""
    return msgspec.msgpack.encode(record)


def of_result(round: int, theta: Vector, dual: Vector) -> bytes:
    """A round's result as a body."""
    parts = (np.ascontiguousarray(part, dtype="<f8").tobytes() for part in (theta, dual))
    return packed(Result(round, *parts))


def noted(t: float, event: events.Event) -> bytes:
    """An event as a body: a line of a log, whose number means nothing before all agents' logs are one."""
    return line(0, round(t, 9), event)


def event(kind: Kind, body: bytes) -> Timed | None:
    """The event in a record, if it holds one."""
    if kind is Kind.HEARD:
        body = heard(body).note
    elif kind is not Kind.EVENT:
        return None
    _, t, found = parse(body)
    return t, found


def compacted(records: Iterable[Record]) -> Iterator[Record]:
    """The records without what the last checkpoint makes superfluous; no event is lost."""
    every = list(records)
    last = max((place for place, (kind, _) in enumerate(every) if kind is Kind.STATE), default=-1)
    for place, (kind, body) in enumerate(every):
        if place >= last or kind in (Kind.START, Kind.EVENT, Kind.RESULT):
            yield kind, body
        elif kind is Kind.HEARD:
            yield Kind.EVENT, heard(body).note
