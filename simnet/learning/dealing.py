"""From the [data] section to the rows that each agent holds: load, scale, split off the test set, deal the rest.

Every training row belongs to exactly one agent, and every agent has at least one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from simnet.errors import DataError, ScenarioError
from simnet.learning.dataset import Dataset, LabelKind, Matrix, scale, split
from simnet.learning.row_objective import Objective
from simnet.streams import Streams
from simnet.vectors import Vector

if TYPE_CHECKING:
    from simnet.learning.sources import Data
    from simnet.parts.fields import Finder


Indices = npt.NDArray[np.intp]

# Shares differ by less than a row in a thousand from here on; near the largest float the sampler overflows.
_EQUAL_SHARES = 1e6


def even(rows: int, agents: int, rng: np.random.Generator) -> list[Indices]:
    """Random parts of equal size, up to one row."""
    return [np.sort(part) for part in np.array_split(rng.permutation(rows), agents)]


def uneven(rows: int, agents: int, alpha: float, rng: np.random.Generator) -> list[Indices]:
    """Random parts whose sizes follow Dirichlet(alpha) shares: the smaller alpha, the more unequal.

    Everyone first gets a row; the shares divide what is left.
    """
    sizes = 1 + _apportion(rows - agents, _shares(agents, alpha, rng))
    return [np.sort(part) for part in np.split(rng.permutation(rows), np.cumsum(sizes)[:-1])]


def skewed(y: Vector, agents: int, alpha: float, rng: np.random.Generator) -> list[Indices]:
    """Parts with unequal shares of the labels: each class is divided by Dirichlet(alpha) shares of its own.

    This is the usual label skew of federated learning (Yurochkin et al., ICML 2019; Li et al., ICDE 2022); sizes vary
    with it. An agent without a row gets a random one of whoever holds most at that moment.
    """
    holder = np.empty(len(y), dtype=np.intp)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        sizes = _apportion(len(rows), _shares(agents, alpha, rng))
        holder[rows] = np.repeat(np.arange(agents), sizes)
    sizes = np.bincount(holder, minlength=agents)
    for poor in np.flatnonzero(sizes == 0):
        rich = int(np.argmax(sizes))
        holder[rng.choice(np.flatnonzero(holder == rich))] = poor
        sizes[rich] -= 1
        sizes[poor] += 1
    return [np.flatnonzero(holder == agent) for agent in range(agents)]


PARTITIONS: dict[str, Callable[[Vector, int, float, np.random.Generator], list[Indices]]] = {
    "even": lambda y, agents, alpha, rng: even(len(y), agents, rng),
    "uneven": lambda y, agents, alpha, rng: uneven(len(y), agents, alpha, rng),
    "skewed": lambda y, agents, alpha, rng: skewed(y, agents, alpha, rng),
}
"""By the scenario's word: from labels, agents and the Dirichlet parameter to the rows of each agent."""


BY_LABEL = frozenset({"skewed"})
"""Partitions in which a row's label decides where other rows go."""


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


@dataclass(frozen=True)
class DealtData:
    """The data as the agents hold it: a training part each, and the common test set."""

    parts: Sequence[Dataset]
    test: Dataset
    public: Matrix | None = None
    """Features of rows that are neither trained nor tested on: a fused lasso takes its graph from them."""

    @property
    def features(self) -> int:
        return self.test.features

    @property
    def rows(self) -> list[int]:
        return [part.rows for part in self.parts]


class PartsOfObjectives(Sequence[Dataset]):
    """Parts that are computed from the objectives when somebody asks for them, so that no row is held twice."""

    def __init__(self, name: str, objectives: Sequence[Objective]) -> None:
        self._name = name
        self._objectives = objectives

    def __len__(self) -> int:
        return len(self._objectives)

    @overload
    def __getitem__(self, place: int) -> Dataset: ...
    @overload
    def __getitem__(self, place: slice) -> PartsOfObjectives: ...
    def __getitem__(self, place: int | slice) -> Dataset | PartsOfObjectives:
        if isinstance(place, slice):
            return PartsOfObjectives(self._name, self._objectives[place])
        return self._objectives[place].dataset(self._name)


def deal(
    data: Data,
    seed: int,
    find: Finder,
    agents: int,
    public_share: float | None = None,
    labels: LabelKind = "sign",
) -> DealtData:
    """Load or generate the rows, split off the test set and a public share of it, and deal the rest to the agents.

    `labels` are of the kind that the task learns.
    """
    own = Streams(seed if data.seed is None else data.seed)
    train, test = _labelled(data, labels, *_train_and_test(data, own, find))
    public = None
    if public_share is not None:
        public, test = _public_and_test(test, public_share, own.generator("public"))
    if agents > train.rows:
        raise ScenarioError(f"topology.agents = {agents}: more agents than the {train.rows} training rows")
    rng = Streams(seed).generator("partition")
    parts = PARTITIONS[data.partition](train.y, agents, data.concentration, rng)
    return DealtData([train.take(rows) for rows in parts], test, public)


def _train_and_test(data: Data, streams: Streams, find: Finder) -> tuple[Dataset, Dataset]:
    whole, test = data.origin.read(data, find, streams.generator("data"))
    prepared = partial(scale, bias=data.bias, columns=data.columns is None)
    try:
        if test is not None and "train" not in data.model_fields_set:
            return prepared(whole), prepared(test, like=whole)
        return split(prepared(whole), data.train, streams.generator("split"))
    except DataError as error:
        raise ScenarioError(f"data.train = {data.train}: {error}") from None


def _labelled(data: Data, labels: LabelKind, train: Dataset, test: Dataset) -> tuple[Dataset, Dataset]:
    """Both with labels of this kind, and with as many classes."""
    try:
        train, test = train.labelled(labels), test.labelled(labels)
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error} by the task") from None
    if labels == "number" and data.partition in BY_LABEL:
        raise ScenarioError(
            f"data.partition = {data.partition!r}: it deals by class, and the task's labels are numbers"
        )
    classes = max(train.classes, test.classes)
    return replace(train, classes=classes), replace(test, classes=classes)


def _public_and_test(test: Dataset, share: float, rng: np.random.Generator) -> tuple[Matrix, Dataset]:
    try:
        public, rest = split(test, share, rng)
    except DataError:
        raise ScenarioError(
            f"algorithm.graph_share = {share:g}: the rows outside the training set ({test.rows}) cannot be "
            "shared between graph and test; leave more of them, or choose algorithm.graph = 'none'"
        ) from None
    return public.X, rest
