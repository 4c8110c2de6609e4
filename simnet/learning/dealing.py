"""From the [data] section to the rows that each agent holds: load, scale, split off the test set, deal the rest.

Every training row belongs to exactly one agent, and every agent has at least one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from simnet.errors import DataError, ScenarioError
from simnet.learning.dataset import LONGEST_ROW, Dataset, LabelKind, Matrix, longest_row, scale, split
from simnet.learning.dealt_parts import DealtParts
from simnet.learning.row_objective import Objective
from simnet.learning.stacked_objectives import row_counts
from simnet.streams import Streams

if TYPE_CHECKING:
    from simnet.learning.data_section import Data
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
        return self.parts.counts if isinstance(self.parts, PartsOfObjectives) else row_counts(self.parts)


class PartsOfObjectives(Sequence[Dataset]):
    """Parts that are computed from the objectives when somebody asks for them, so that no row is held twice."""

    def __init__(self, name: str, objectives: Sequence[Objective]) -> None:
        self._name = name
        self._objectives = objectives

    @property
    def counts(self) -> list[int]:
        """How many rows each agent has."""
        return row_counts(self._objectives)

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
    splits = Streams(seed) if data.resplit else own
    train, test = _labelled(data, labels, *_train_and_test(data, own, splits, find))
    public = None
    if public_share is not None:
        public, test = _public_and_test(test, public_share, own.generator("public"))
    if agents > train.rows:
        raise ScenarioError(f"topology.agents = {agents}: more agents than the {train.rows} training rows")
    least = data.min_rows or 1
    if agents * least > train.rows:
        raise ScenarioError(
            f"data.min_rows = {least}: {agents} agents would need {agents * least:,} training rows, and there are "
            f"{train.rows:,}"
        )
    rng = Streams(seed).generator("partition")
    parts = data.partition.dealt(train, agents, data.concentration, rng, least)
    return DealtData(DealtParts(train, parts), test, public)


def _train_and_test(data: Data, streams: Streams, splits: Streams, find: Finder) -> tuple[Dataset, Dataset]:
    whole, test = data.source.load(data, find, streams.generator("data"))
    if not data.bounds_rows and (longest := longest_row(whole.X)) > LONGEST_ROW:
        raise ScenarioError(
            f"data.scale = {data.scale!r}: a row is {longest:.3g} long, and numbers have room for {LONGEST_ROW:g}; "
            "'rows' shortens it"
        )
    prepared = partial(
        scale, bias=data.bias, columns=data.scales_columns, rows=data.bounds_rows, spare=data.source.generated
    )
    if data.tuning is not None:
        whole, test = _apart(data, data.tuning, whole, test, streams)
    own_test = test is not None and "train" not in data.model_fields_set
    if own_test and data.resplit:
        raise ScenarioError("data.resplit: the source has test rows of its own; data.train would split the rest")
    try:
        if test is not None and own_test:
            return prepared(whole), prepared(test, like=whole)
        return split(prepared(whole), data.train, splits.generator("split"))
    except DataError as error:
        raise ScenarioError(f"data.train = {data.train}: {error}") from None


def _apart(
    data: Data, tuning: int | float, whole: Dataset, test: Dataset | None, streams: Streams
) -> tuple[Dataset, Dataset | None]:
    """The rows set aside for tuning, or all others, before anything is made of them: neither depends on the other."""
    try:
        aside, others = split(whole, tuning, streams.generator("tuning"))
    except DataError:
        raise ScenarioError(
            f"data.tuning = {tuning}: of {whole.rows} rows some are set aside, and some are left"
        ) from None
    return (others, test) if data.use is None else (aside, None)


def _labelled(data: Data, labels: LabelKind, train: Dataset, test: Dataset) -> tuple[Dataset, Dataset]:
    """Both with labels of this kind, and with as many classes."""
    try:
        train, test = train.labelled(labels), test.labelled(labels)
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source.word!r}: {error} by the task") from None
    if labels == "number" and data.partition.looks_at == "labels":
        raise ScenarioError(
            f"data.partition = {data.partition.word!r}: it deals by class, and the task's labels are numbers"
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
