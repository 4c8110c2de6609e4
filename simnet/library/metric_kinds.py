"""Further numbers about all agents' models."""

from __future__ import annotations

from typing import Literal

import numpy as np

from simnet.extend import Dataset, Field, Metric, PositiveShare, Share, Task, Vector


class ErrorSpread(Metric):
    """How far the agents' errors are apart: between two quantiles, the lowest and the highest if nothing is said."""

    kind: Literal["error-spread"]
    ignoring: Share | None = Field(None, description="share of the agents left out, half at either end; default: none")

    def value(self, models: Vector, test: Dataset, task: Task) -> float:
        cut = (self.ignoring or 0.0) / 2.0
        low, high = np.quantile(task.errors(models, test), [cut, 1.0 - cut])
        return float(high - low)


class QuantileError(Metric):
    """The error that all but the worst agents keep to: a share of them has no larger one."""

    kind: Literal["quantile-error"]
    share: PositiveShare = Field(0.9, description="share of the agents whose errors are at most this")

    def value(self, models: Vector, test: Dataset, task: Task) -> float:
        return float(np.quantile(task.errors(models, test), self.share, method="inverted_cdf"))


class MeanModelError(Metric):
    """The error of the mean of all models: what one exact averaging would give."""

    kind: Literal["mean-model-error"]

    def value(self, models: Vector, test: Dataset, task: Task) -> float:
        return float(task.errors(models.mean(axis=0)[None, :], test)[0])
