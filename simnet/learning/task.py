"""[task]: what is learned. A task turns rows into an agent's objective, and models into errors on the test set.

A task says what it *has*, a method what it *needs* (`Method.needs`); a scenario is refused if the two do not meet:

- `gradient`: a gradient for each row. Every task has it.
- `bounded`: no row's gradient is longer than `gradient_bound`. A task has it by stating that bound.
- `convex`, `smooth`: its loss is convex in θ; the curvature of its loss is bounded.
- `solve`: both, so that a local problem can be solved to a certified gradient.
- `margins`: a convex loss of the margin y θ·x with the constants L and c1: what objective perturbation is proven for.
- `unbiased`: its loss of randomised labels has an unbiased form that is convex.

Rows have norm at most 1 (`simnet.learning.dataset`). Where `data.scale` leaves them longer, no bound that a task states
holds, and no agent is told one (`AgentSize`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final, final

import numpy as np
from pydantic import model_validator

from simnet.errors import TaskError
from simnet.learning.dataset import LABELS_ARE, Dataset, LabelKind
from simnet.learning.loss_check import check_grid, guarded
from simnet.learning.objective import LOGISTIC, LOSSES, LocalObjective, Loss
from simnet.learning.row_objective import Objective, check_apart, check_rows
from simnet.learning.stacked_objectives import stack_objectives
from simnet.parts.part import Part
from simnet.vectors import Vector

NEEDED: Final = {
    "gradient": "a gradient for each row",
    "bounded": "a bound on the gradient of a row",
    "convex": "a convex loss",
    "smooth": "a loss of bounded curvature",
    "solve": "a convex loss of bounded curvature, for its local problems to be solved",
    "margins": "a convex loss of the margin, which the proof of its ε is about",
    "unbiased": "a loss that is convex when it is made unbiased for randomised labels",
}
"""What a task can have, in words."""
MANY = 200
"""Agents from which on their rows are worth one array, if they are alike."""
_CHUNK = 2**18  # scores held at a time: 2 MB, and they stay in the cache

Models = Vector
"""One vector per agent and row."""


class Task(Part):
    """Something to learn: an objective for each agent's rows, and what counts as an error."""

    has: ClassVar[frozenset[str]] = frozenset({"gradient"})
    """What it can do for a method, of the words of `NEEDED`."""
    labels: ClassVar[LabelKind] = "sign"
    """What it learns to tell."""
    error: ClassVar[str] = "share of errors"
    """What `errors` are; less is better."""

    @model_validator(mode="after")
    def _says_what_it_is(self) -> Task:
        for name in ("objective", "errors"):
            if getattr(type(self), name) is getattr(Task, name):
                raise ValueError(f"{type(self).__name__} has no method `{name}`")
        if self.labels not in LABELS_ARE:
            raise ValueError(f"{type(self).__name__}.labels: {self.labels} is none of {', '.join(LABELS_ARE)}")
        if unknown := sorted(set(self.has) - NEEDED.keys()):
            raise ValueError(f"{type(self).__name__}.has: {unknown[0]} is none of {', '.join(NEEDED)}")
        if "margins" in self.has and not isinstance(self, MarginTask):
            raise ValueError(f"{type(self).__name__}.has: only a MarginTask has `margins`, because it is checked")
        if type(self).made not in (Task.made, MarginTask.made):
            raise ValueError(f"{type(self).__name__}.made: it keeps rows to their bound; write `objective` instead")
        return self

    @property
    def offers(self) -> frozenset[str]:
        """What it has, with what follows from it."""
        return (self.has - {"bounded"}) | ({"bounded"} if self.gradient_bound is not None else frozenset())

    @property
    def gradient_bound(self) -> float | None:
        """A bound on the norm of one row's gradient, whatever the model is; None if there is none: methods clip then.

        Rows are shortened to a bound that simnet has no proof of.
        """
        return None

    @property
    def smoothness(self) -> float | None:
        """A bound on the curvature of one row's loss; None if there is none."""
        return None

    def length(self, features: int, classes: int) -> int:
        """The length of a model of rows with so many features; there are 2 classes of signs, and 1 of numbers."""
        return features

    def objective(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        """An agent's f on its rows, whose labels are of the task's kind."""
        raise NotImplementedError

    def errors(self, models: Models, test: Dataset) -> Vector:
        """How wrong each model is on the test set; its mean over agents is `test_error`."""
        raise NotImplementedError

    def together(self, test: Dataset) -> int:
        """Of how many models the errors are computed in one lot, whose last bits may depend on all of them."""
        return sys.maxsize

    def measures(self, models: Models, test: Dataset) -> Mapping[str, float]:
        """What else tells how good the models are, by name."""
        return {}

    def constant_error(self, answer: float, test: Dataset) -> float | None:
        """How wrong the same answer is for every row of the test set; None where that is not known.

        A task whose `error` is no share of errors says it itself.
        """
        known = self.error == Task.error and self.labels != "number"
        return float(np.mean(test.y != answer)) if known else None

    def made(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        """The objective, which keeps the bound that the task declares."""
        found = self.objective(rows, regulariser, weight)
        ours = all(type(each).__module__.startswith("simnet.") for each in (self, found))
        if not ours:
            check_rows(found, f"task {self.word}")
            if rows.rows > 1:
                last_is_first = np.append(np.arange(rows.rows - 1), 0)
                other = self.objective(rows.take(last_is_first), regulariser, weight)
                check_apart(found, other, f"task {self.word}")
        # Our proofs are about our classes, and rows of norm at most 1: another task may have made longer ones of them.
        proven = vars(type(found)).get("proven_bound", math.inf) if ours else math.inf
        if self.gradient_bound is not None and self.gradient_bound < proven:
            if type(found).loss_gradient is not Objective.loss_gradient:
                raise TaskError(
                    f"task {self.word}: {type(found).__name__} has a `loss_gradient` of its own, so nothing keeps its "
                    f"rows to the declared gradient_bound of {self.gradient_bound:g}; write `row_gradients` instead"
                )
            found.bound = self.gradient_bound
        return found

    def made_of_all(self, parts: Sequence[Dataset], regulariser: float, weight: float) -> Sequence[Objective]:
        """The objective of each part; those of many that are alike lie in one array."""
        return [self.made(part, regulariser, weight) for part in parts]


class MarginTask(Task):
    """A linear classifier with a convex loss l of the margin z = y θ·x.

    A loss of one's own writes `value`, `slope` and `bend` (l, l' and l'', each of an array of margins) and states two
    constants: |l'| <= `lipschitz` and l'' <= `smoothness`. ε rests on them. They are tried on a grid of margins when a
    scenario is read, and at every margin that occurs while it runs.
    """

    has: ClassVar[frozenset[str]] = frozenset({"gradient", "convex", "smooth", "solve", "margins"})
    labels: ClassVar[LabelKind] = "sign"
    lipschitz: ClassVar[float]
    """L, a bound on |l'|; a property where it depends on fields."""
    smoothness: ClassVar[float]
    """c1, a bound on l''."""

    @model_validator(mode="after")
    def _constants_are_true(self) -> MarginTask:
        for name in ("lipschitz", "smoothness"):
            if not isinstance(getattr(self, name, None), int | float):
                raise ValueError(f"{type(self).__name__} has no number `{name}`, on which ε rests")
        if type(self).objective is not MarginTask.objective:
            raise ValueError(f"{type(self).__name__}.objective: that of a MarginTask follows from its loss; use a Task")
        loss = loss_of(self)
        if loss not in LOSSES.values():
            check_grid(self.loss)
        if (self.gradient_bound, self.smoothness) != (loss.lipschitz, loss.smoothness):
            raise ValueError("gradient_bound: that of a MarginTask is its lipschitz constant")
        if "unbiased" in self.has and loss is not LOGISTIC:
            raise ValueError(f"{type(self).__name__}.has: only the logistic loss is proven to be `unbiased`")
        return self

    def value(self, z: Vector) -> Vector:
        """l of each margin."""
        raise NotImplementedError

    def slope(self, z: Vector) -> Vector:
        """l' of each margin."""
        raise NotImplementedError

    def bend(self, z: Vector) -> Vector:
        """l'' of each margin; at a kink of l', either one-sided value."""
        raise NotImplementedError

    @property
    def loss(self) -> Loss:
        """The loss as objectives use it."""
        constants = {"lipschitz": float(self.lipschitz), "smoothness": float(self.smoothness)}
        return Loss(self.word, self.value, lambda z, out=None: self.slope(z), self.bend, **constants)

    @property
    def gradient_bound(self) -> float | None:
        return self.lipschitz

    def objective(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        return LocalObjective(rows.X, rows.y, loss_of(self), regulariser, weight)

    @final
    def made(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        return MarginTask.objective(self, rows, regulariser, weight)

    def together(self, test: Dataset) -> int:
        return max(1, _CHUNK // test.rows)

    def made_of_all(self, parts: Sequence[Dataset], regulariser: float, weight: float) -> Sequence[Objective]:
        stacked = stack_objectives(parts, loss_of(self), regulariser, weight) if len(parts) >= MANY else None
        return super().made_of_all(parts, regulariser, weight) if stacked is None else stacked

    def errors(self, models: Models, test: Dataset) -> Vector:
        """Each model's share of errors; a score of exactly 0 is half an error."""
        width = self.together(test)
        errors = np.empty(len(models))
        for first in range(0, len(models), width):
            chunk = slice(first, first + width)
            margins = test.folded @ np.ascontiguousarray(models[chunk].T)
            # What is neither right nor a tie is wrong: a model that is not a number has no merit.
            right = np.count_nonzero(margins > 0.0, axis=0) + 0.5 * np.count_nonzero(margins == 0.0, axis=0)
            errors[chunk] = 1.0 - right / test.rows
        return errors


@lru_cache(maxsize=64)
def loss_of(task: MarginTask) -> Loss:
    """A task's loss, the same object whenever it is asked for; a foreign one looks after its constants as it runs."""
    return task.loss if type(task).__module__.startswith("simnet.") else guarded(task.loss)
