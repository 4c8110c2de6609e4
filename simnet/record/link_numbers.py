"""The number of each link of a run, by its ends: what is kept of links then lies in arrays, not in objects."""

from __future__ import annotations


class LinkNumbers:
    """Numbers from 0 on, for links between different agents, in the order in which they are added."""

    def __init__(self, agents: int) -> None:
        self._agents = agents
        self._of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._of)

    def add(self, a: int, b: int) -> bool:
        """Number a link; False if it has a number already, or joins no two agents."""
        before = len(self._of)
        if a != b and max(a, b) < self._agents:
            self._of.setdefault(self._key(a, b), before)
        return len(self._of) > before

    def get(self, a: int, b: int) -> int | None:
        """The number of the link between two agents; None if there is none."""
        return self._of.get(self._key(a, b)) if max(a, b) < self._agents else None

    def _key(self, a: int, b: int) -> int:
        return a * self._agents + b if a < b else b * self._agents + a
