"""What an agent knows of its neighbours: the last values it heard, and how old they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from simnet.methods.peer import Known
from simnet.network.payloads import Partial
from simnet.vectors import Parts


class Neighbourhood:
    """Last known values, in the order of the neighbours.

    With `aligned`, a value of a later round than the agent's own waits until the agent gets there, so that both ends of
    a link subtract the same pair of values (lock-step pacing). Without it the newest value counts at once.
    A value that arrives late is used if it is newer than the one known; an older one is ignored.
    In lock-step the rounds of which there is news are remembered one by one, from the agent's own round on.

    Messages are kept as they came until somebody asks, and then looked at together: in a large network every visit to
    an agent's memory is slow. `peers` ascend, and what is known of each has its place in lists: with a few neighbours a
    dictionary takes three times as much. No slots: a live agent's checkpoint keeps what is in `__dict__`.
    """

    def __init__(
        self,
        peers: Sequence[int],
        initial: Parts,
        *,
        aligned: bool,
        admits: Callable[[int, Parts], bool] = lambda round, parts: True,
    ) -> None:
        self.peers = tuple(peers)
        self.admits = admits
        """Whether a message about a round may be used. Whoever takes it in asks, and refuses what may not."""
        self._aligned = aligned
        self._now = [Known(peer, 0, initial) for peer in peers]
        self._ahead: Sequence[dict[int, Parts]] = [{} for _ in peers] if aligned else ()
        self._heard = [0] * len(self.peers)
        self._rounds: Sequence[set[int]] = [set() for _ in peers] if aligned else ()
        self._written_off = [0] * len(self._rounds)
        self._round = 0
        self.used = False
        """Whether a value that a neighbour released was ever read for use."""
        self._unread = bytearray(len(self.peers))
        """Which values nobody has read yet."""
        self._news: list[tuple[int, int, Parts | None]] = []
        self.retell: Callable[[Known], Parts] = _last_parts
        """What a neighbour that has lost its state is told about itself, from the last message of it."""

    def hear(self, peer: int, round: int, parts: Parts | None) -> None:
        """A message from `peer` about its `round`: a value, or None for a notice that there is none.

        Whoever takes messages in lets none of a stranger through: it would count for a neighbour.
        """
        self._news.append((peer, round, parts))

    def _learn(self) -> None:
        """Look at what has come since this was last done."""
        peers, heard, now = self.peers, self._heard, self._now
        for peer, round, parts in self._news:
            place = bisect_left(peers, peer)
            if round > heard[place]:
                heard[place] = round
            if self._aligned and round >= self._round:
                self._rounds[place].add(round)
            if parts is None:
                continue
            if self._aligned and round > self._round:
                self._ahead[place][round] = parts
            elif round > now[place].round:
                self._take(place, round, parts)
        self._news.clear()

    def enter(self, round: int) -> None:
        """The agent begins `round`: values that waited for it come into force."""
        if self._aligned:
            self._learn()
            for place, ahead in enumerate(self._ahead):
                self._rounds[place].discard(round - 1)
                if parts := ahead.pop(round, None):
                    self._take(place, round, parts)
        self._round = round

    def behind(self, round: int) -> int:
        """How many neighbours have not been heard of since before `round`: news of a later round counts."""
        self._learn()
        return sum(heard < round for heard in self._heard)

    def missing(self, round: int) -> int:
        """In lock-step: of how many neighbours there is no news of this very `round`, the agent's own or a later one.

        News of a later round does not count, because messages overtake each other.
        """
        self._learn()
        return sum(round not in rounds for rounds in self._rounds)

    def awaited(self, round: int) -> int:
        """The same without those that have been written off: of how many news may still come."""
        self._learn()
        of_all = zip(self._rounds, self._written_off, strict=True)
        return sum(round not in rounds and round > off for rounds, off in of_all)

    def write_off(self, round: int) -> None:
        """Do not wait for what is missing of `round`, nor for what the same neighbours sent before their last news.

        Whoever was down has missed many rounds at once; to wait for each would keep it behind for good.
        """
        for place, rounds in enumerate(self._rounds):
            if round not in rounds:
                self._written_off[place] = max(round, self._heard[place])

    def of(self, peer: int) -> Known:
        """What is known of one neighbour, to be retold."""
        self._learn()
        last = self._now[bisect_left(self.peers, peer)]
        return Known(peer, last.round, self.retell(last))

    @property
    def known(self) -> list[Known]:
        """What is known now, neighbour by neighbour."""
        self._learn()
        return self._now.copy()

    def read(self) -> list[Known]:
        """What is known now, for use: from here on it is old news."""
        known = self.known
        self._unread = bytearray(len(self.peers))
        self.used = self.used or any(value.round for value in known)
        return known

    def _take(self, place: int, round: int, parts: Parts) -> None:
        """The newest value, with what it replaces if that has not been read; what it leaves unsaid is as before."""
        last = self._now[place]
        if isinstance(parts, Partial):
            parts = parts.onto(last.parts)
        self._now[place] = Known(last.peer, round, parts, last if self._unread[place] else None)
        self._unread[place] = 1


def _last_parts(last: Known) -> Parts:
    return last.parts
