"""Events of one kind in columns: what happens to many agents at once, without a record for each of them.

A crowd makes millions of events that nobody looks at one by one. Whoever only counts them, as metrics do, is told a
whole column; a subscriber that listens to single events is told them all the same, one by one and in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simnet.record.events import ARRIVALS, Event
from simnet.record.lines import pack
from simnet.vectors import Vector

Whole: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.intp]
"""Places in a column."""


class Models:
    """Vectors, one per event, that a record holds as text."""

    def __init__(self, vectors: Vector) -> None:
        self.vectors = vectors

    def __getitem__(self, rows: Rows | slice) -> Models:
        return Models(self.vectors[rows])

    def tolist(self) -> list[str]:
        return [pack(vector) for vector in self.vectors]


Field: TypeAlias = "npt.NDArray[Any] | Models | str | float | int | Mapping[str, float] | None"
"""What the events of a column have in a field: an array with an entry for each, or the same for all."""


@dataclass(frozen=True, eq=False)
class EventColumn:
    """Events of one kind, at one time or at a time for each.

    `fields` are those of their records, in the records' order.
    """

    kind: type[Event]
    t: float | Vector
    fields: Mapping[str, Field]
    size: int
    numbers: Whole | None = None
    """The number of each event, in rising order; None where nobody listens to single events."""

    @property
    def at(self) -> float:
        """The time of all of them, to the nanosecond."""
        assert isinstance(self.t, float), "they happen at one instant"
        return round(self.t, 9)

    def array(self, name: str) -> Whole:
        """A field whose values are whole numbers, or truth values: one entry for each event."""
        found = self.fields[name]
        assert isinstance(found, np.ndarray), f"{name} is one of the columns"
        return found

    @property
    def senders(self) -> Whole:
        """Who did what each event tells, as `events.sender` has it."""
        return self.array("peer" if self.kind in ARRIVALS else "agent")

    @property
    def first(self) -> Event:
        """The record of its first event."""
        many = np.ndarray | Models
        return self.kind(*(v[:1].tolist()[0] if isinstance(v, many) else v for v in self.fields.values()))

    def records(self, rows: Rows) -> list[tuple[int, float, Event]]:
        """Some of its events one by one: number, time to the nanosecond, record."""
        assert self.numbers is not None, "somebody listens to single events"
        values: list[Iterable[Any]] = []
        for value in self.fields.values():
            values.append(value[rows].tolist() if isinstance(value, np.ndarray | Models) else repeat(value))
        times = repeat(self.at) if isinstance(self.t, float) else [round(t, 9) for t in self.t[rows].tolist()]
        numbers = self.numbers[rows].tolist()
        return [(number, t, self.kind(*rest)) for number, t, *rest in zip(numbers, times, *values, strict=False)]
