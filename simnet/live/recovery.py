"""From a journal to the moment before the crash: what stands, what is dropped, what is done again.

Everything up to the last checkpoint stands. Of the round after it:

- If its frames were made safe (a SENDING record), they may have left. What was noted before them stands: the charges in
  the ledger, the answer of the test, the release. The round is computed once more to bring the objects where they were,
  its notes are matched with those that stand and are not made twice, and the same frames are sent again (`Replay`).
- If not, nothing of it has left, because only frames that were made safe are ever handed on. Its notes are dropped, a
  charge for a release that nobody has seen among them, and the round begins again from the same random streams.

Either way a release that may have left has one charge, and a charge has one release. What came in from others stands in
both cases: they were told that they may forget it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from simnet.live import records
from simnet.live.journal import Kind, Record
from simnet.live.records import Sending, Start, Timed
from simnet.record import events

OUTSIDE = (
    events.MessageDelivered,
    events.MessageDuplicated,
    events.MessageLost,
    events.MessageOverflowed,
    events.FaultBegan,
    events.FaultEnded,
)
"""What happens to an agent whatever its program does."""

Frame = tuple[int, bytes]
"""The neighbour that it came from, and its bytes."""


@dataclass
class Past:
    """What a journal says."""

    start: Start
    records: list[Record] = field(default_factory=list)
    """what stands"""
    settled: list[Timed] = field(default_factory=list)
    """the events up to the checkpoint"""
    since: list[Timed] = field(default_factory=list)
    """those after it that stand"""
    checkpoint: bytes | None = None
    heard: list[Frame] = field(default_factory=list)
    """frames that came in after the checkpoint and before the round's own were made safe"""
    later: list[Frame] = field(default_factory=list)
    """frames that came in after that"""
    sending: Sending | None = None
    noted: deque[events.Event] = field(default_factory=deque)
    """what the program of the interrupted round had noted when its frames were made safe"""

    @property
    def events(self) -> list[Timed]:
        return self.settled + self.since

    @property
    def finished(self) -> int:
        """How many rounds are over."""
        return sum(isinstance(event, events.DualUpdated) for _, event in self.settled)

    @property
    def last(self) -> float:
        """When something was last noted."""
        return max((t for t, _ in self.events), default=0.0)


def recover(journal: Iterable[Record]) -> Past | None:
    """Where to go on; None if nothing has begun."""
    every = list(records.compacted(journal))
    if not every:
        return None
    past = Past(records.start(every[0][1]))
    here = next((place for place, (kind, _) in enumerate(every) if kind is Kind.STATE), 0)
    past.records = every[: here + 1]
    past.settled = [found for kind, body in past.records if (found := records.event(kind, body)) is not None]
    past.checkpoint = every[here][1] if every[here][0] is Kind.STATE else None
    _interrupted(past, every[here + 1 :])
    return past


def _interrupted(past: Past, tail: list[Record]) -> None:
    """Sort out what came after the last checkpoint."""
    safe = next((place for place, (kind, _) in enumerate(tail) if kind is Kind.SENDING), -1)
    for place, (kind, body) in enumerate(tail):
        if kind is Kind.SENDING:
            past.sending = records.sending(body)
            past.records.append((kind, body))
        elif (found := records.event(kind, body)) is not None:
            _, event = found
            if kind is Kind.HEARD:
                assert isinstance(event, events.MessageDelivered)
                (past.later if 0 <= safe < place else past.heard).append((event.peer, records.heard(body).raw))
            if isinstance(event, OUTSIDE) or place < safe:
                past.since.append(found)
                past.records.append((kind, body))
            if place < safe and not isinstance(event, (*OUTSIDE, events.MessageSent)):
                past.noted.append(event)
