"""An agent's memory in a journal: `simnet.live.live_port.Memory`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simnet.live import records
from simnet.live.journal import Journal, Kind, read
from simnet.record import events
from simnet.vectors import Vector

Seen = Mapping[int, tuple[int, int]]
"""What has come in from each neighbour, as its channel counts it."""

_MOST = 64 << 20
"""Bytes of superfluous records before the journal is written anew without them."""


class JournalMemory:
    """Writes everything to a journal.

    `checkpoint` gives the state to remember at the end of a round. `seen` says what has come in, and `confirm` lets the
    neighbours forget it, once it is safe. `told` hears of each round's end.

    A round that lets nothing out is made safe when it ends: silence answers a test as well, and the rounds after it
    must not be lived twice, with other values of the neighbours but the same noise.
    """

    def __init__(
        self,
        journal: Journal,
        checkpoint: Callable[[], bytes],
        seen: Callable[[], Seen],
        confirm: Callable[[Seen], None],
        told: Callable[[int], None],
    ) -> None:
        self._journal = journal
        self._checkpoint = checkpoint
        self._seen = seen
        self._confirm = confirm
        self._told = told
        self._safe = False
        """Whether something of the present round was made safe."""

    def event(self, t: float, event: events.Event) -> None:
        self._journal.add(Kind.EVENT, records.noted(t, event))

    def heard(self, t: float, event: events.MessageDelivered, raw: bytes) -> None:
        self._journal.add(Kind.HEARD, records.packed(records.Heard(records.noted(t, event), raw)))

    def sending(self, round: int, frames: Mapping[int, bytes]) -> None:
        self._journal.add(Kind.SENDING, records.packed(records.Sending(round, dict(frames))))
        self.save()
        self._safe = True

    def finished(self, round: int, theta: Vector, dual: Vector) -> None:
        self._journal.add(Kind.RESULT, records.of_result(round, theta, dual))
        self._journal.add(Kind.STATE, self._checkpoint())
        if not self._safe:
            self.save()
        self._safe = False
        if self._journal.superfluous > _MOST:
            self._journal.rewrite(records.compacted(read(self._journal.path)))
        self._told(round)

    def save(self) -> None:
        """Make all of it safe, and let the neighbours forget what has come in."""
        seen = self._seen()
        self._journal.sync()
        self._confirm(seen)
