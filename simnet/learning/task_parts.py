"""The tasks that a scenario may name: `TASKS` is the whole list."""

from __future__ import annotations

from typing import Annotated

from simnet.learning.linear_tasks import LogisticTask, MultinomialTask, RidgeTask, SmoothedHingeTask
from simnet.learning.neural import NeuralTask
from simnet.learning.task import Task
from simnet.parts.part import OneOf, bare_word, table

TASKS: dict[str, type[Task]] = table(LogisticTask, SmoothedHingeTask, RidgeTask, MultinomialTask, NeuralTask)

AnyTask = Annotated[Task, OneOf(TASKS, short=bare_word)]


def classifier(loss: str) -> Task:
    """What is learned where a scenario names no task: the linear classifier with the method's loss."""
    return TASKS[loss].model_validate({"kind": loss})
