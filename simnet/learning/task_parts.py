"""The tasks that a scenario may name: `TASKS` is the whole list."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from simnet.learning.linear_tasks import LogisticTask, MultinomialTask, RidgeTask, SmoothedHingeTask
from simnet.learning.neural import NeuralTask
from simnet.learning.task import Task
from simnet.parts.part import OneOf, bare_word, table

_CAPPED = ("capped-logistic", "simnet.library.loss_kinds:CappedLogistic")

TASKS: dict[str, type[Task]] = table(LogisticTask, _CAPPED, SmoothedHingeTask, RidgeTask, MultinomialTask, NeuralTask)

AnyTask = Annotated[Task, OneOf(TASKS, short=bare_word)]


@cache
def default_task(word: str) -> Task:
    """A task with its defaults; that of the method's loss is what is learned where a scenario names none."""
    return TASKS[word].model_validate({"kind": word})
