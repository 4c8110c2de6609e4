"""From the [data] section to the rows that each agent holds: load, scale, split off the test set, deal the rest.

Every training row belongs to exactly one agent, and every agent has at least one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from simnet.errors import DataError, ScenarioError
from simnet.learning.dataset import LABELS_ARE, Dataset, Matrix, scale, split
from simnet.learning.objective import LocalObjective
from simnet.streams import Streams

if TYPE_CHECKING:
    from simnet.learning.sources import Data
    from simnet.parts.fields import Finder


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

    def __init__(self, name: str, objectives: Sequence[LocalObjective]) -> None:
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


def deal(data: Data, seed: int, find: Finder, agents: int, public_share: float | None = None) -> DealtData:
    """Load or generate the rows, split off the test set and a public share of it, and deal the rest to the agents."""
    own = Streams(seed if data.seed is None else data.seed)
    train, test = _train_and_test(data, own, find)
    public = None
    if public_share is not None:
        public, test = _public_and_test(test, public_share, own.generator("public"))
    if agents > train.rows:
        raise ScenarioError(f"topology.agents = {agents}: more agents than the {train.rows} training rows")
    rng = Streams(seed).generator("partition")
    parts = data.partition.dealt(train, agents, data.concentration, rng)
    return DealtData([train.take(rows) for rows in parts], test, public)


def _train_and_test(data: Data, streams: Streams, find: Finder) -> tuple[Dataset, Dataset]:
    whole, test = data.source.load(data, find, streams.generator("data"))
    if whole.labels != "sign":
        raise ScenarioError(f"data.source = {data.source.word!r}: its labels are {LABELS_ARE[whole.labels]}, not signs")
    prepared = partial(scale, bias=data.bias, columns=data.columns is None)
    try:
        if test is not None and "train" not in data.model_fields_set:
            return prepared(whole), prepared(test, like=whole)
        return split(prepared(whole), data.train, streams.generator("split"))
    except DataError as error:
        raise ScenarioError(f"data.train = {data.train}: {error}") from None


def _public_and_test(test: Dataset, share: float, rng: np.random.Generator) -> tuple[Matrix, Dataset]:
    try:
        public, rest = split(test, share, rng)
    except DataError:
        raise ScenarioError(
            f"algorithm.graph_share = {share:g}: the rows outside the training set ({test.rows}) cannot be "
            "shared between graph and test; leave more of them, or choose algorithm.graph = 'none'"
        ) from None
    return public.X, rest
