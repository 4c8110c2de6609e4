"""[data] partition: who gets which training rows.

Every training row belongs to exactly one agent, and every agent has at least one row.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simnet.errors import DataError, ScenarioError
from simnet.learning.dataset import Dataset
from simnet.parts.part import OneOf, Part, table
from simnet.vectors import Vector

Indices = npt.NDArray[np.intp]

# Shares differ by less than a row in a thousand from here on; near the largest float the sampler overflows.
_EQUAL_SHARES = 1e6


def even(rows: int, agents: int, rng: np.random.Generator) -> list[Indices]:
    """Random parts of equal size, up to one row."""
    return [np.sort(part) for part in np.array_split(rng.permutation(rows), agents)]


def uneven(rows: int, agents: int, alpha: float, rng: np.random.Generator, least: int = 1) -> list[Indices]:
    """Random parts whose sizes follow Dirichlet(alpha) shares: the smaller alpha, the more unequal.

    Everyone first gets the least number of rows; the shares divide what is left.
    """
    sizes = least + _apportion(rows - least * agents, _shares(agents, alpha, rng))
    return [np.sort(part) for part in np.split(rng.permutation(rows), np.cumsum(sizes)[:-1])]


def skewed(y: Vector, agents: int, alpha: float, rng: np.random.Generator, least: int = 1) -> list[Indices]:
    """Parts with unequal shares of the labels: each class is divided by Dirichlet(alpha) shares of its own.

    This is the usual label skew of federated learning (Yurochkin et al., ICML 2019; Li et al., ICDE 2022); sizes vary
    with it. An agent with too few rows gets random ones of whoever holds most at that moment.
    """
    holder = np.empty(len(y), dtype=np.intp)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        sizes = _apportion(len(rows), _shares(agents, alpha, rng))
        holder[rows] = np.repeat(np.arange(agents), sizes)
    sizes = np.bincount(holder, minlength=agents)
    for poor in np.flatnonzero(sizes < least):
        while sizes[poor] < least:
            rich = int(np.argmax(sizes))
            holder[rng.choice(np.flatnonzero(holder == rich))] = poor
            sizes[rich] -= 1
            sizes[poor] += 1
    return [np.flatnonzero(holder == agent) for agent in range(agents)]


def _apportion(total: int, shares: Vector) -> npt.NDArray[np.intp]:
    """Whole numbers that sum to `total`, each within one of its share (the method of largest remainders)."""
    quotas = total * shares
    counts = np.floor(quotas).astype(np.intp)
    # A stable sort gives the rows that rounding left over to the largest remainders, and ties to the first agents.
    order = np.argsort(counts - quotas, kind="stable")
    counts[order[: total - int(counts.sum())]] += 1
    return counts


def _shares(agents: int, alpha: float, rng: np.random.Generator) -> Vector:
    if not 0.0 < alpha <= _EQUAL_SHARES:
        raise DataError(f"a Dirichlet alpha of {alpha} must be above 0 and at most {_EQUAL_SHARES:g}")
    return rng.dirichlet(np.full(agents, alpha))


class RowPartition(Part):
    """A way to deal rows to agents."""

    looks_at: ClassVar[Literal["nothing", "labels", "rows"]] = "rows"
    """What decides where rows go. If it is something that rows hold, one row may move others: ε does not cover that."""

    @abstractmethod
    def deal(self, rows: Dataset, agents: int, rng: np.random.Generator) -> Sequence[Indices]:
        """The indices of the rows of each agent."""

    def dealt(
        self, rows: Dataset, agents: int, concentration: float, rng: np.random.Generator, least: int = 1
    ) -> list[Indices]:
        """The same, checked; [data] says `concentration` of unequal shares, and the `least` rows of an agent."""
        parts = [np.sort(np.asarray(part, dtype=np.intp)) for part in self.deal(self._shown(rows), agents, rng)]
        where = f"data.partition = {self.word!r}"
        if len(parts) != agents:
            raise ScenarioError(f"{where}: it deals to {len(parts)} agents, and there are {agents}")
        if poor := [agent for agent, part in enumerate(parts) if not len(part)]:
            raise ScenarioError(f"{where}: agent {poor[0]} gets no row")
        if few := [agent for agent, part in enumerate(parts) if len(part) < least]:
            raise ScenarioError(
                f"data.min_rows = {least}: {where} gives agent {few[0]} only {len(parts[few[0]])}, and knows no least"
            )
        if not np.array_equal(np.sort(np.concatenate(parts)), np.arange(rows.rows)):
            raise ScenarioError(f"{where}: each of the {rows.rows} training rows belongs to exactly one agent")
        return parts

    def _shown(self, rows: Dataset) -> Dataset:
        """A copy of what it says that it looks at, and nothing else: who deals rows does not change them."""
        X = rows.X.copy() if self.looks_at == "rows" else np.broadcast_to(0.0, rows.X.shape)
        y = np.full(rows.rows, float(rows.labels == "sign")) if self.looks_at == "nothing" else rows.y.copy()
        return replace(rows, X=X, y=y)


class EvenParts(RowPartition):
    """Random parts of equal size, up to one row."""

    kind: Literal["even"]
    looks_at: ClassVar[Literal["nothing", "labels", "rows"]] = "nothing"

    def deal(self, rows: Dataset, agents: int, rng: np.random.Generator) -> list[Indices]:
        return even(rows.rows, agents, rng)


class _Dirichlet(RowPartition):
    def deal(self, rows: Dataset, agents: int, rng: np.random.Generator) -> list[Indices]:
        return self.dealt(rows, agents, 1.0, rng)


class UnevenParts(_Dirichlet):
    """Random parts of unequal sizes, by Dirichlet shares of `data.concentration`."""

    kind: Literal["uneven"]
    looks_at: ClassVar[Literal["nothing", "labels", "rows"]] = "nothing"

    def dealt(
        self, rows: Dataset, agents: int, concentration: float, rng: np.random.Generator, least: int = 1
    ) -> list[Indices]:
        return uneven(rows.rows, agents, concentration, rng, least)


class SkewedParts(_Dirichlet):
    """Unequal shares of the labels: each class by Dirichlet shares of `data.concentration`."""

    kind: Literal["skewed"]
    looks_at: ClassVar[Literal["nothing", "labels", "rows"]] = "labels"

    def dealt(
        self, rows: Dataset, agents: int, concentration: float, rng: np.random.Generator, least: int = 1
    ) -> list[Indices]:
        return skewed(rows.y, agents, concentration, rng, least)


PARTITIONS: dict[str, type[RowPartition]] = table(EvenParts, UnevenParts, SkewedParts)


def _unchecked(part: type[RowPartition]) -> str | None:
    """Why nothing would check what somebody's class deals."""
    checked = [RowPartition.dealt, *(known.dealt for known in PARTITIONS.values())]
    return None if part.dealt in checked else "`dealt` checks that each row has one holder; write `deal` instead"


AnyPartition = Annotated[RowPartition, OneOf(PARTITIONS, bare=True, unfit=_unchecked)]
EVEN = EvenParts(kind="even")
