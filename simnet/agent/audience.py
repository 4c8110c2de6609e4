"""To whom an agent speaks in a round: to all its neighbours, or to some that it draws anew for every round."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.streams import Streams


class Audience:
    """Draws `peers` of an agent's neighbours for each round, all equally likely, from the stream `peers/<agent>`.

    Every round takes one draw, whether the agent speaks in it or not: whom it would speak to depends on no data. An
    agent that has no more neighbours than that speaks to all of them and draws nothing.

    >>> audience = Audience([1, 4, 6], 2, Streams(1), 0)
    >>> [audience.of(round) for round in (1, 2, 3)]
    [(1, 4), (1, 6), (1, 6)]
    """

    def __init__(self, neighbours: Sequence[int], peers: int | None, streams: Streams, agent: int) -> None:
        self._neighbours = neighbours
        self._peers = len(neighbours) if peers is None else peers
        self._rng = streams.generator("peers", agent) if self._peers < len(neighbours) else None
        self._round = 0
        self._chosen: Sequence[int] = neighbours

    def of(self, round: int) -> Sequence[int]:
        """Whom the agent speaks to in this round, which never goes back from one call to the next."""
        while self._rng is not None and self._round < round:
            places = self._rng.choice(len(self._neighbours), self._peers, replace=False)
            self._chosen = tuple(self._neighbours[place] for place in sorted(places.tolist()))
            self._round += 1
        return self._chosen
