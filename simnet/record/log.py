"""The event log, read back with every check on the way.

The last line seals the log (`simnet.record.sums`). The file is compressed, and a second seal covers its compressed form
(`simnet.record.sealed`). Every byte is checked: a reader that meets anything else than a sealed, unaltered log raises
`LogError`.

Lines are read many at a time, because one by itself would cost three times as much. Who wants single events gets them
from the same blocks.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from simnet.allowance import Allowance
from simnet.errors import LogError
from simnet.record.events import SCHEMA, Event, ReleaseMade, RunFinished, RunStarted
from simnet.record.lines import READ, canonical_pieces, event_of, line, parse_lines
from simnet.record.sealed import unpack_sealed
from simnet.record.sums import Sums
from simnet.record.thinning import Thinning
from simnet.record.whole_lines import BLOCK, whole_lines

LOG = "events.jsonl.zst"
"""Its name in a run folder."""
Recorded = tuple[int, float, Event]
"""An event with its number and time."""

_SCHEMA = re.compile(rb'\{"seq":1,"t":[^,]*,"event":"run\.started","schema":([0-9]+)')
_TIME = re.compile(rb'\{"seq":[0-9]+,"t":([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?),')
_STARTED, _RELEASED, _FINISHED = READ[RunStarted], READ[ReleaseMade], READ[RunFinished]
_SPECIAL = frozenset((_STARTED, _RELEASED, _FINISHED))
"""What the reader has to look at itself."""
_END = b"\n"
_NEWLINE = _END[0]
_NOWHERE = "before its first event"
_AGENT, _LINK = 1500, 1000
"""Bytes that whoever checks or counts a run keeps for each."""


def find_log(path: Path) -> Path:
    """The event log of a run folder, or the log itself."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / LOG).is_file():
        raise LogError(f"{path} is not a run folder: it holds no {LOG}")
    return path / LOG


def read(source: Path | bytes, allowance: Allowance | None = None) -> Iterator[Recorded]:
    """The events of a run folder, a log or its bytes, checked as they come: schema, order, seal.

    The check of the seals comes last, so a caller must not act on events before the iterator is exhausted. What the
    caller keeps of the events counts too: a log is refused when the process has grown by more than the `allowance`.
    """
    for lines in read_lines(source, allowance):
        for told in lines:
            yield told.seq, told.t, event_of(told)


def read_lines(source: Path | bytes, allowance: Allowance | None = None) -> Iterator[list[Any]]:
    """The same in blocks: lists of lines as `READ` has them, of which the first holds `run.started` alone."""
    allowance = allowance or Allowance(LogError)
    reader = _Reader(allowance)
    blocks = whole_lines(unpack_sealed(source if isinstance(source, bytes) else find_log(source)), allowance)
    while True:
        try:
            block = next(blocks, None)
        except LogError as error:
            raise LogError(f"{error}; what can be read ends {reader.place}") from None
        if block is None:
            break
        yield from reader.taken(block)
    if not reader.sealed:
        raise LogError(f"cut short: there is no run.finished, the log ends {reader.place}")


def end_of(log: Path, allowance: Allowance | None = None) -> float:
    """The time of the last line, at a tenth of the price of reading; infinite if it has none.

    Nothing is checked: whoever goes on to read the log finds out what is wrong with it.
    """
    try:
        (block,) = deque(whole_lines(unpack_sealed(log), allowance or Allowance(LogError)), maxlen=1) or [b""]
    except LogError:
        return math.inf
    found = _TIME.match(block, block.rfind(_END, 0, -1) + 1)
    return float(found[1]) if found else math.inf


class _Reader:
    """Holds the lines of a log against each other: their numbers, their times, and the seals in the last one."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._sums = Sums()
        self._expected, self._before = 1, 0.0
        self._thinned = False
        self.sealed = False
        """Whether the last line has come."""

    @property
    def place(self) -> str:
        """Where the log has got to."""
        return f"after event {self._expected - 1} at t = {self._before:g} s" if self._expected > 1 else _NOWHERE

    def taken(self, block: bytes) -> Iterator[list[Any]]:
        """The lines of a block. If one of them is wrong, those before it come one by one, and the error names it."""
        if self._expected == 1:
            first = block.index(_END) + 1
            yield self._single(block[:first])
            block = block[first:]
        if not block:
            return
        try:
            lines = self._take(block)
        except LogError:
            for raw in block.split(_END)[:-1]:
                yield self._single(raw + _END)
        else:
            yield lines

    def _single(self, raw: bytes) -> list[Any]:
        try:
            return self._take(raw)
        except _BrokenSeal:
            raise
        except LogError as error:
            raise LogError(f"line {self._expected}: {error}") from None

    def _take(self, block: bytes) -> list[Any]:
        """The lines of a block; LogError, and nothing has changed, if one of them should not come here.

        What the error says is about the first line.
        """
        if self.sealed:
            raise LogError("something follows the run's last event")
        if len(block) > 2 * BLOCK:  # shorter ones are no bombs
            self._allowance.json(block)
        if self._expected == 1 and (found := _SCHEMA.match(block)):  # whatever else a later schema has
            _refuse_other_schema(int(found[1]))
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
        lines = parse_lines(block, ends)
        self._hold_to_their_order(lines)
        special = [place for place, told in enumerate(lines) if type(told) in _SPECIAL]
        released = [place for place in special if type(lines[place]) is _RELEASED]
        ended = type(lines[-1]) is _FINISHED
        if self._expected == 1:
            _begin(lines, self._allowance)
            self._thinned = Thinning.of(lines[0].scenario) is not None
        elif len(released) + ended < len(special):
            raise LogError("a log starts with run.started, once")
        sums, before = self._sums.copy(), len(block)
        if ended:
            before = int(ends[-2]) + 1 if len(lines) > 1 else 0
        sums.add(
            memoryview(block)[:before], canonical_pieces(block, before, ends, [(at, lines[at]) for at in released])
        )
        if ended:
            _hold_to_the_seal(lines[-1], sums)
        self._sums, self._expected, self._before, self.sealed = sums, lines[-1].seq + 1, lines[-1].t, ended
        return lines

    def _hold_to_their_order(self, lines: list[Any]) -> None:
        expected, numbers = self._expected, [told.seq for told in lines]
        in_order = numbers == list(range(expected, expected + len(lines)))
        if not in_order and not (self._thinned and all(a < b for a, b in pairwise([expected - 1, *numbers]))):
            raise LogError(f"event {expected} should come here, not {numbers[0]}")
        times = [told.t for told in lines]
        if not (self._before <= times[0] and times == sorted(times) and times[-1] < math.inf):
            raise LogError(f"time runs from {self._before!r} to {times[0]!r}")


class _BrokenSeal(LogError):
    """The last line is not about those before it, and nobody knows which of them was altered."""


def _hold_to_the_seal(last: Any, sums: Sums) -> None:
    if (last.sha256, last.digest) != sums.seal(line(last.seq, last.t, RunFinished(last.rounds, "", "")) + _END):
        raise _BrokenSeal("altered: the events do not match the seal in the last line")


def _begin(lines: list[Any], allowance: Allowance) -> None:
    """Look at the first line of a log, which has to come alone."""
    if type(lines[0]) is not _STARTED or len(lines) > 1:
        raise LogError("a log starts with run.started, once")
    _refuse_other_schema(lines[0].schema)
    agents, links = len(lines[0].rows), len(lines[0].edges)
    allowance.need(_AGENT * agents + _LINK * links, f"a run of {agents:,} agents and {links:,} links")


def _refuse_other_schema(schema: int) -> None:
    if schema != SCHEMA:
        raise LogError(f"written with event schema {schema}, and this simnet reads schema {SCHEMA}")
