"""How good the agents' models are: on their own data, on the test set, and compared with each other.

Agents may be at different rounds at the same time. A round's figures compare like with like: every agent's state at the
end of that same round. On a perfect network the duals of one round sum to zero even if the agents are apart in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simnet.errors import ScenarioError, TaskError
from simnet.learning.batch_solver import BatchSolver, stacked
from simnet.learning.dataset import Dataset
from simnet.learning.metric_parts import Metric
from simnet.learning.objective import Measurement
from simnet.learning.row_objective import Objective
from simnet.learning.task import Models, Task
from simnet.vectors import Vector


class State(NamedTuple):
    """What counts of an agent at the end of a round: its model, its dual, and the model of each output."""

    theta: Vector
    dual: Vector
    outputs: Sequence[Vector] = ()


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The state of a run, in the papers' measures."""

    train_loss: float
    """Mean over agents of the mean loss of each agent's model on its own rows, without the regulariser."""
    test_error: float
    """Mean over agents of each model's error on the test set; the task says what it is."""
    objective: float
    """(1/N) Σ f_i(θ_i)."""
    consensus: float
    """Root mean square distance of the models from their mean."""
    dual_drift: float
    """|Σ λ_i|; 0 when there are no duals."""
    agent_train_loss: Vector
    agent_test_error: Vector
    measures: Mapping[str, float]
    """What else the task tells, the scenario's metrics, and both errors and metrics of further outputs, by name."""


class Evaluator:
    """Evaluates the models of agents that hold `parts`, against one test set.

    `outputs` names the outputs whose models it is given. The one at the place `headline` counts in place of the agents'
    own models; of the others it tells errors and metrics.
    It remembers the last models: an agent that skipped its round has the same one, and the same loss and error.
    """

    def __init__(
        self,
        parts: Sequence[Objective],
        test: Dataset,
        task: Task,
        metrics: Sequence[Metric] = (),
        outputs: Sequence[str] = (),
        headline: int | None = None,
    ) -> None:
        self._parts = parts
        self._test = test
        self._task = task
        self._metrics = metrics
        self._headline = headline
        self._beside = [(place, name) for place, name in enumerate(outputs) if place != headline]
        self._names: list[str] | None = None
        models = len(parts) * (1 + len(self._beside))
        self._last: Models = np.full((models, task.length(test.features, test.classes)), np.nan)
        self._losses, self._errors = np.zeros(len(parts)), np.zeros(models)
        self._weights = np.array([part.weight for part in parts])
        self._regularisers = np.array([part.regulariser for part in parts])
        self._solver = BatchSolver()
        self._found: Evaluation | None = None

    def evaluate(self, thetas: Models, duals: Models | None = None, outputs: Sequence[Models] = ()) -> Evaluation:
        """All measures, for one model per agent, and for one per agent of each output."""
        if self._headline is not None:
            thetas = outputs[self._headline]
        beside = {name: outputs[place] for place, name in self._beside}
        models = np.concatenate([thetas, *beside.values()]) if beside else thetas
        moved = np.flatnonzero((models != self._last).any(axis=1))
        if len(moved) or self._found is None:
            self._measure(models, moved)
            self._found = self._compared(thetas)
        drift = 0.0 if duals is None else float(np.linalg.norm(duals.sum(axis=0)))
        return replace(self._found, dual_drift=drift, measures=self._measures(thetas, beside))

    def _compared(self, thetas: Models) -> Evaluation:
        """What depends on the agents' models alone."""
        losses, own = self._losses.copy(), self._errors[: len(thetas)].copy()
        norms = np.einsum("nd,nd->n", thetas, thetas)
        apart = thetas - thetas.mean(axis=0)
        return Evaluation(
            train_loss=float(losses.mean()),
            test_error=float(own.mean()),
            objective=float((self._weights * losses + self._regularisers / 2 * norms).mean()),
            consensus=float(np.sqrt(np.einsum("nd,nd->n", apart, apart).mean())),
            dual_drift=0.0,
            agent_train_loss=losses,
            agent_test_error=own,
            measures={},
        )

    def _measures(self, thetas: Models, beside: Mapping[str, Models]) -> dict[str, float]:
        errors = dict(zip(beside, self._errors.reshape(1 + len(beside), -1)[1:], strict=True))
        found: dict[str, float] = {}

        def tell(name: str, value: float) -> None:
            if name in found:
                raise ScenarioError(f"metric: two numbers are called {name}, and a table has one such column")
            found[name] = float(value)

        for name, value in self._task.measures(thetas, self._test).items():
            tell(name, value)
        for metric in self._metrics:
            tell(metric.called, metric.value(thetas, self._test, self._task))
        for output, models in beside.items():
            tell(f"test_error_{output}", errors[output].mean())
            for metric in self._metrics:
                tell(f"{metric.called}_{output}", metric.value(models, self._test, self._task))
        if self._names is not None and self._names != list(found):
            raise TaskError(f"task {self._task.word}: its measures change their names from round to round")
        self._names = list(found)
        return found

    def _measure(self, models: Models, moved: npt.NDArray[np.intp]) -> None:
        """Errors of all models, and train losses of the agents'; computed only for the models that have changed."""
        changed = models[moved]
        own = moved[moved < len(self._parts)]
        self._losses[own] = self._solver.measure(
            [Measurement(self._parts[agent], models[agent]) for agent in own.tolist()]
        )
        errors = self._task.errors(changed, self._test)
        if np.shape(errors) != (len(changed),):
            raise TaskError(f"task {self._task.word}: errors must be one number for each of {len(changed)} models")
        self._errors[moved] = errors
        self._last[moved] = changed


class RoundFigures(NamedTuple):
    """The evaluation of a round that all agents have finished."""

    round: int
    evaluation: Evaluation
    last: bool
    """Whether it is the last round of the run."""
    at_end: bool = False
    """Whether the run ended before all agents had finished it."""


class Scoreboard:
    """Collects the agents' states round by round, and evaluates a round when all agents have finished it.

    An agent that is gone for good counts with its last state.
    """

    def __init__(self, evaluator: Evaluator, agents: int, start: Vector, rounds: int, outputs: int = 0) -> None:
        self._evaluator = evaluator
        self._agents = agents
        self._rounds = rounds
        self._open: dict[int, dict[int, State]] = {}
        """By round and agent."""
        self._last: list[State] = [State(start, np.zeros_like(start), (start,) * outputs)] * agents
        self._gone: set[int] = set()
        self.last_round = [0] * agents

    def note(self, agent: int, round: int, state: State) -> list[RoundFigures]:
        """Record a state; the figures of the rounds that waited for it alone."""
        self._last[agent] = state
        self.last_round[agent] = round
        states = self._open.get(round)
        if states is None:
            states = self._open[round] = {absent: self._last[absent] for absent in self._gone}
        states[agent] = state
        return self._complete() if len(states) == self._agents else []

    def excuse(self, agent: int) -> list[RoundFigures]:
        """Expect no more of an agent; the figures of the rounds that waited for it alone."""
        self._gone.add(agent)
        for round, states in self._open.items():
            if round > self.last_round[agent]:
                states[agent] = self._last[agent]
        return self._complete()

    def as_it_stands(self) -> RoundFigures:
        """Figures of the agents' last states, whichever rounds they are of."""
        return RoundFigures(max(self.last_round), self._evaluated(self._last), last=True, at_end=True)

    def _complete(self) -> list[RoundFigures]:
        """Figures of complete rounds, in order; a round never overtakes an earlier one."""
        done = []
        for round in sorted(self._open):
            if len(self._open[round]) < self._agents:
                break
            states = self._open.pop(round)
            found = self._evaluated([states[agent] for agent in range(self._agents)])
            done.append(RoundFigures(round, found, round == self._rounds))
        return done

    def _evaluated(self, states: Sequence[State]) -> Evaluation:
        thetas, duals, outputs = zip(*states, strict=True)
        return self._evaluator.evaluate(
            stacked(thetas), stacked(duals), [stacked(models) for models in zip(*outputs, strict=True)]
        )
