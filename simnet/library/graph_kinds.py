"""Graphs whose shape leaves nothing to chance."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, sqrt
from typing import Literal

import numpy as np

from simnet.extend import SizedTopology, model_validator

Pairs = Iterator[tuple[int, int]]


class Ring(SizedTopology):
    """Each agent has two neighbours."""

    kind: Literal["ring"]

    @model_validator(mode="after")
    def _closed(self) -> Ring:
        if self.agents < 3:
            raise ValueError("agents: a ring has at least 3 agents")
        return self

    def edges(self, rng: np.random.Generator) -> Pairs:
        return ((agent, (agent + 1) % self.agents) for agent in range(self.agents))


class Star(SizedTopology):
    """Agent 0 is everybody's only neighbour."""

    kind: Literal["star"]

    def edges(self, rng: np.random.Generator) -> Pairs:
        return ((0, leaf) for leaf in range(1, self.agents))


class Complete(SizedTopology):
    """Everybody is everybody's neighbour."""

    kind: Literal["complete"]

    @property
    def expected_degree(self) -> float:
        return self.agents - 1

    def edges(self, rng: np.random.Generator) -> Pairs:
        return ((one, other) for other in range(self.agents) for one in range(other))


class Grid(SizedTopology):
    """A rectangle, as square as the number of agents allows.

    Rows of ⌈√N⌉ agents, the last perhaps shorter; each agent is linked with those beside, above and below.
    """

    kind: Literal["grid"]

    @property
    def expected_degree(self) -> float:
        return 4.0

    def edges(self, rng: np.random.Generator) -> Pairs:
        width = ceil(sqrt(self.agents))
        for agent in range(self.agents):
            if agent % width < width - 1 and agent < self.agents - 1:
                yield agent, agent + 1
            if agent + width < self.agents:
                yield agent, agent + width
