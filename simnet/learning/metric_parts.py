"""[[metric]]: further numbers about the models, computed whenever a round is evaluated.

A metric sees the agents' models, the test set and the task, and no training row. Its numbers go into the log
(`evaluation.done`, `measures`) under its name, and from there into tables, summaries and reports.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

from simnet.learning.dataset import Dataset
from simnet.learning.task import Models, Task
from simnet.parts.part import OneOf, Part, PartTable, bare_word, table


class Metric(Part):
    """One number about all agents' models."""

    @property
    def called(self) -> str:
        """Its name in tables: its word with `_` for `-`, or the name of its class if it comes from a file."""
        return self.word.rpartition(":")[2].replace("-", "_")

    @abstractmethod
    def value(self, models: Models, test: Dataset, task: Task) -> float:
        """The number, for one model per row of `models`."""


class WorstError(Metric):
    """The error of the agent whose model is worst on the test set."""

    kind: Literal["worst-error"]

    def value(self, models: Models, test: Dataset, task: Task) -> float:
        return float(task.errors(models, test).max())


_OTHERS = [
    ("error-spread", "simnet.library.metric_kinds:ErrorSpread"),
    ("quantile-error", "simnet.library.metric_kinds:QuantileError"),
    ("mean-model-error", "simnet.library.metric_kinds:MeanModelError"),
]
METRICS: PartTable[Metric] = table(WorstError, *_OTHERS)

AnyMetric = Annotated[Metric, OneOf(METRICS, short=bare_word, of=Metric)]
