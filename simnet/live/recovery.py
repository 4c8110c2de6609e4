"""How an agent survives a crash: what it writes to its journal, and what it makes of the journal when it is back.

`JournalMemory` writes. A round's frames are made safe, with all that was noted before them, before any of them leaves.
What came in is made safe before its sender may forget it. A round ends with its result and the whole state.

`recover` reads: from a journal to the moment before the crash.

Everything up to the last checkpoint stands. Of the round after it:

- If its frames were made safe (a SENDING record), they may have left. What was noted before them stands: the charges in
  the ledger, the answer of the test, the release. The round is computed once more to bring the objects where they were,
  its notes are matched with those that stand and are not made twice, and the same frames are sent again
  (`simnet.live.live_port.RepeatedRound`).
- If not, nothing of it has left, because only frames that were made safe are ever handed on. Its notes are dropped, a
  charge for a release that nobody has seen among them, and the round begins again from the same random streams.

Either way a release that may have left has one charge, and a charge has one release. What came in from others stands in
both cases: they were told that they may forget it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.msgpack import decode, encode

from simnet.learning.evaluation import State
from simnet.live import journal
from simnet.live.chain import BINDING, Chain, ChainLink, HeldHead
from simnet.live.journal import Heard, Journal, Record, RecordKind, RoundResult, Sending, Start, Timed
from simnet.record import events

OUTSIDE = (
    *events.ARRIVALS,
    events.MessageLost,
    events.MessageOverflowed,
    events.FaultBegan,
    events.FaultEnded,
)
"""What happens to an agent whatever its program does."""

Frame = tuple[int, bytes]
"""The neighbour that it came from, and its bytes."""

Seen = Mapping[int, tuple[int, int]]
"""What has come in from each neighbour, as its channel counts it."""

_MOST = 64 << 20
"""Bytes of superfluous records before the journal is written anew without them."""


@dataclass(eq=False)
class JournalMemory:
    """Writes everything to a journal.

    `checkpoint` gives the state to remember at the end of a round. `seen` says what has come in, and `confirm` lets the
    neighbours forget it, once it is safe. `told` hears of each round's end. `chain` grows by a link per round, before
    anything of the round leaves.

    A round that lets nothing out is made safe when it ends: silence answers a test as well, and the rounds after it
    must not be lived twice, with other values of the neighbours but the same noise.
    """

    journal: Journal
    checkpoint: Callable[[], bytes]
    seen: Callable[[], Seen]
    confirm: Callable[[Seen], None]
    told: Callable[[int], None]
    chain: Chain

    def __post_init__(self) -> None:
        self._safe = False
        """Whether something of the present round was made safe."""
        self._bound: list[events.Event] = []
        """Charges and releases since the last link."""

    def event(self, t: float, event: events.Event) -> None:
        """An event happened."""
        self.journal.add(RecordKind.EVENT, journal.event_body(t, event))
        if isinstance(event, BINDING):
            self._bound.append(event)

    def hold(self, peer: int, round: int, head: bytes) -> None:
        """A frame of a neighbour has come in with this head; refused if the round came before with another."""
        held = HeldHead(peer, round, head)
        if self.chain.hold(held):
            self.journal.add(RecordKind.HELD, encode(held))

    def heard(self, t: float, event: events.MessageDelivered, raw: bytes) -> None:
        """A frame came in that was not known before, and the event says so."""
        self.journal.add(RecordKind.HEARD, encode(Heard(journal.event_body(t, event), raw)))

    def sending(self, round: int, frames: Mapping[int, bytes]) -> None:
        """These frames are about to leave; when this returns they, and all that was noted before, are safe."""
        self._link(round, frames)
        self.journal.add(RecordKind.SENDING, encode(Sending(round, dict(frames))))
        self.save()
        self._safe = True

    def finished(self, round: int, state: State) -> None:
        """A round is over."""
        if self.chain.last < round:
            self._link(round, {})
        self.journal.add(RecordKind.RESULT, encode(RoundResult.of(round, state)))
        self.journal.add(RecordKind.STATE, self.checkpoint())
        if not self._safe:
            self.save()
        self._safe = False
        if self.journal.superfluous > _MOST:
            self.journal.rewrite(journal.compacted(self.journal.records()))
        self.told(round)

    def _link(self, round: int, frames: Mapping[int, bytes]) -> None:
        link = self.chain.next(round, self._bound, frames)
        self.journal.add(RecordKind.LINK, encode(link))
        self.chain.add(link)
        self._bound.clear()

    def save(self) -> None:
        """Make all of it safe, and let the neighbours forget what has come in."""
        seen = self.seen()
        self.journal.sync()
        self.confirm(seen)


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
    def links(self) -> list[ChainLink]:
        """The chain of what was charged and let out."""
        return [decode(body, type=ChainLink) for kind, body in self.records if kind is RecordKind.LINK]

    @property
    def held(self) -> list[HeldHead]:
        """What is held of the neighbours' chains."""
        return [decode(body, type=HeldHead) for kind, body in self.records if kind is RecordKind.HELD]

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


def recover(records: Iterable[Record]) -> Past | None:
    """Where to go on; None if nothing has begun."""
    every = list(journal.compacted(records))
    if not every:
        return None
    past = Past(journal.start_of(every[0]))
    here = next((place for place, (kind, _) in enumerate(every) if kind is RecordKind.STATE), 0)
    past.records = every[: here + 1]
    past.settled = [found for kind, body in past.records if (found := journal.event_of(kind, body)) is not None]
    past.checkpoint = every[here][1] if every[here][0] is RecordKind.STATE else None
    _interrupted(past, every[here + 1 :])
    return past


def _interrupted(past: Past, tail: list[Record]) -> None:
    """Sort out what came after the last checkpoint."""
    safe = next((place for place, (kind, _) in enumerate(tail) if kind is RecordKind.SENDING), -1)
    for place, (kind, body) in enumerate(tail):
        if kind is RecordKind.SENDING:
            past.sending = decode(body, type=Sending)
            past.records.append((kind, body))
        elif kind is RecordKind.HELD or (kind is RecordKind.LINK and place < safe):
            past.records.append((kind, body))
        elif (found := journal.event_of(kind, body)) is not None:
            _, event = found
            if kind is RecordKind.HEARD:
                assert isinstance(event, events.MessageDelivered)
                (past.later if 0 <= safe < place else past.heard).append((event.peer, decode(body, type=Heard).raw))
            if isinstance(event, OUTSIDE) or place < safe:
                past.since.append(found)
                past.records.append((kind, body))
            if place < safe and not isinstance(event, (*OUTSIDE, events.MessageSent)):
                past.noted.append(event)
