"""Flooding: what every agent has released reaches every other one, over real links.

An agent keeps of each origin the newest vector that it has heard of, and tells each neighbour what that neighbour is
not known to have. A letter to a neighbour is a head and up to `BUNDLE` vectors. The head also says which vectors its
sender holds, which acknowledges what came: of the latest version, what is not acknowledged after two rounds is told
again, in every round that is left. Whoever has nothing to tell and nothing to acknowledge is silent.

    head = (127, version, whom it holds that version of (7 agents per number), then version and origin of each vector)

Under loss. A vector counts once, by its origin, however many copies arrive and however they went. The mean is that over
the origins that are known: a missing agent takes its rows out of the mean and nothing else, and comes in when a copy
does. Of an origin whose newest vector is missing the one before counts. Nothing is ever summed on the way, so nothing
can be lost from a sum.

Numbers travel as whole steps on a scale of their own, `STEPS` on either side of 0: the codec int8 tells these exactly,
so that a vector is the same wherever it goes, at its origin too. They are rounded after their release, which costs no
privacy. The head's numbers are whole, at most 127, and begin with 127: every codec tells them exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import scipy

from simnet.methods.method import Finding, Setting, Surroundings
from simnet.methods.peer import Known
from simnet.vectors import Parts, Vector

STEPS = 127
BUNDLE = 4
"""Vectors in a letter at most."""
HEAD = 64
"""Numbers in a head at most."""
MOST_AGENTS = 7 * (HEAD - 2 - 3 * BUNDLE)
"""How many agents a head has room for."""
MOST_VERSIONS = 100
AGAIN = 2
"""After how many rounds what was not acknowledged is told again."""

Item = tuple[int, int]
"""A vector's origin and version."""


def flood_lengths(features: int) -> tuple[int, ...]:
    """The lengths of the vectors in the longest letter."""
    return (HEAD, *[features] * BUNDLE)


def flood_reaches(name: str, rounds: int, setting: Setting) -> Finding:
    """Whether what is told in so many rounds comes to everybody where nothing is lost."""
    longest = float(scipy.sparse.csgraph.shortest_path(np.asarray(setting.adjacency), unweighted=True).max())
    told = f"without loss, it needs {longest:g} rounds of {rounds}; what is lost is told again two rounds later"
    return Finding(name, rounds >= longest, rounds - longest, told)


def in_steps(vector: Vector) -> Vector:
    """The vector as all agents know it: each number the nearest of `STEPS` steps on either side of 0."""
    step = float(np.abs(vector).max(initial=0.0)) / STEPS
    # Below that a step has lost its digits.
    found: Vector = np.rint(vector / step) * step if step > np.finfo(np.float64).tiny else np.zeros_like(vector)
    return found


class Flood:
    """What one agent knows of all agents' vectors, and what each neighbour is known to know."""

    def __init__(self, agent: int, neighbours: Iterable[int], agents: int, features: int, limit: float) -> None:
        self.agent = agent
        self.agents = agents
        self.features = features
        self.limit = limit
        """How long a vector may be."""
        self.newest: dict[int, tuple[int, Vector]] = {}
        """By origin, its newest known version and vector."""
        self._held: dict[int, dict[int, int]] = {peer: {} for peer in sorted(neighbours)}
        """By neighbour and origin, the version that it is known to have."""
        self._told: dict[int, dict[Item, int]] = {peer: {} for peer in self._held}
        """By neighbour, in which round it was last told a vector."""
        self._owed: set[int] = set()
        """Neighbours whose vectors have not been acknowledged."""
        self._heard = dict.fromkeys(self._held, 0)

    @staticmethod
    def misfit(around: Surroundings) -> str | None:
        """Why letters cannot be told on in these surroundings, as `field: why not`; None if they can."""
        if around.entrywise_codec:
            return "network.codec: it sends some entries only, and what is flooded is told on whole"
        if around.medium == "shared":
            return "network.medium: every neighbour gets a letter of its own, which is unicast"
        return None

    def release(self, version: int, vector: Vector) -> None:
        """The agent's own next vector, as it was released."""
        self.newest[self.agent] = (version, in_steps(vector))

    @property
    def mean(self) -> Vector:
        """The mean over all origins that are known, each with its newest vector; 0 where none is."""
        known = [self.newest[origin][1] for origin in sorted(self.newest)]
        found: Vector = np.mean(known, axis=0) if known else np.zeros(self.features)
        return found

    def busy(self, t: int, *, last: bool) -> bool:
        """Whether there is something to say in round t; in the `last` one nobody could answer an acknowledgement."""
        return any(self._due(peer, t) for peer in self._held) or (bool(self._owed) and not last)

    def letters(self, t: int, neighbours: Iterable[int]) -> Mapping[int, Parts]:
        """What each of these neighbours is told in round t."""
        return {peer: self._letter(peer, t) for peer in neighbours}

    def hear(self, known: Sequence[Known], until: int = 2**53) -> None:
        """Take in the letters that have not been read, of rounds that are not later than `until`."""
        for value in known:
            for news in value.unread(self._heard[value.peer]):
                if news.round <= until:
                    self._read(value.peer, news.parts)
            self._heard[value.peer] = value.round

    def accepts(self, parts: Parts) -> bool:
        """Whether these are the vectors of a letter."""
        if not 0 < len(parts) <= 1 + BUNDLE or not 1 <= len(parts[0]) <= HEAD or not np.isfinite(parts[0]).all():
            return False
        head, vectors = np.rint(parts[0]), parts[1:]
        if len(head) != 2 + self._marks + 3 * len(vectors) or head.min() < 0 or head.max() > STEPS or head[0] != STEPS:
            return False
        labels = self._labels(head)
        fit = all(len(vector) == self.features for vector in vectors)
        return fit and all(origin < self.agents for origin, _ in labels) and all(map(self._short, vectors))

    def _short(self, vector: Vector) -> bool:
        return bool(np.isfinite(vector).all() and np.linalg.norm(vector) <= self.limit)

    @property
    def _marks(self) -> int:
        """Numbers that say of whom a version is held."""
        return -(-self.agents // 7)

    @property
    def _version(self) -> int:
        return max((version for version, _ in self.newest.values()), default=0)

    def _due(self, peer: int, t: int) -> list[Item]:
        """What a neighbour is to be told in round t, oldest origins first."""
        held, told, latest = self._held[peer], self._told[peer], self._version
        missing = [(o, version) for o, (version, _) in sorted(self.newest.items()) if held.get(o, -1) < version]
        news = [item for item in missing if item[1] == latest and told.get(item, t - AGAIN) <= t - AGAIN]
        # Heads acknowledge the latest version alone; an earlier one is mostly outdated soon, so it waits, and once is
        # enough.
        return (news or [item for item in missing if item[1] < latest and item not in told])[:BUNDLE]

    def _letter(self, peer: int, t: int) -> Parts:
        items = self._due(peer, t)
        self._told[peer].update(dict.fromkeys(items, t))
        self._owed.discard(peer)
        version, marks = self._version, np.zeros(self._marks)
        for origin, (known, _) in self.newest.items():
            if known == version:
                marks[origin // 7] += 1 << origin % 7
        labels = [number for origin, of in items for number in (of, origin // 100, origin % 100)]
        head = np.array([float(STEPS), version, *marks, *labels])
        return (head, *(self.newest[origin][1] for origin, _ in items))

    def _labels(self, head: Vector) -> list[Item]:
        numbers = head[2 + self._marks :].astype(int).tolist()
        return [(100 * high + low, of) for of, high, low in zip(*[iter(numbers)] * 3, strict=True)]

    def _read(self, peer: int, parts: Parts) -> None:
        if not self.accepts(parts):  # what was known before the first letter
            return
        head, held = np.rint(parts[0]), self._held[peer]
        for origin in range(self.agents):
            if int(head[2 + origin // 7]) >> origin % 7 & 1:
                held[origin] = max(held.get(origin, -1), int(head[1]))
        labels = self._labels(head)
        for (origin, version), vector in zip(labels, parts[1:], strict=True):
            held[origin] = max(held.get(origin, -1), version)
            if origin != self.agent and version > self.newest.get(origin, (-1,))[0]:
                self.newest[origin] = (version, vector)
        if labels:
            self._owed.add(peer)
