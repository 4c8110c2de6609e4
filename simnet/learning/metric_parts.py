"""[[metric]]: further numbers about the models, computed whenever a round is evaluated.

A metric sees the agents' models, the test set and the task, and no training row. Its numbers go into the log
(`evaluation.done`, `measures`) under its name, and from there into tables, summaries and reports.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from simnet.learning.dataset import Dataset
from simnet.learning.task import Models, Task
from simnet.parts.fields import Share
from simnet.parts.part import OneOf, Part, bare_word, table


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


class ErrorSpread(Metric):
    """How far the agents' errors are apart: between two quantiles, the lowest and the highest if nothing is said."""

    kind: Literal["error-spread"]
    ignoring: Share | None = Field(None, description="share of the agents left out, half at either end; default: none")

    def value(self, models: Models, test: Dataset, task: Task) -> float:
        cut = (self.ignoring or 0.0) / 2.0
        low, high = np.quantile(task.errors(models, test), [cut, 1.0 - cut])
        return float(high - low)


class MeanModelError(Metric):
    """The error of the mean of all models: what one exact averaging would give."""

    kind: Literal["mean-model-error"]

    def value(self, models: Models, test: Dataset, task: Task) -> float:
        return float(task.errors(models.mean(axis=0)[None, :], test)[0])


METRICS: dict[str, type[Metric]] = table(WorstError, ErrorSpread, MeanModelError)

AnyMetric = Annotated[Metric, OneOf(METRICS, short=bare_word)]
