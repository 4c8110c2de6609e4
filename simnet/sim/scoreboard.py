"""Collects the agents' states round by round, and evaluates a round when all have finished it.

Agents may be at different rounds at the same time; a round's figures compare like with like: every agent's state at the
end of that same round. On a perfect network the duals of one round sum to zero even if the agents are apart in time.
An agent that is gone for good counts with its last state.
"""

from __future__ import annotations

import numpy as np

from simnet.learning.batch_solver import stacked
from simnet.learning.evaluation import Evaluator
from simnet.record.events import EvaluationDone
from simnet.record.rounding import sig
from simnet.vectors import Vector

State = tuple[Vector, Vector]
"""A model and its dual."""


class Scoreboard:
    """Waits for all agents' states of a round, then turns them into an event."""

    def __init__(self, evaluator: Evaluator, agents: int, features: int, rounds: int) -> None:
        self._evaluator = evaluator
        self._agents = agents
        self._rounds = rounds
        self._open: dict[int, dict[int, State]] = {}
        """By round and agent."""
        self._last: list[State] = [(np.zeros(features), np.zeros(features))] * agents
        self._gone: set[int] = set()
        self.last_round = [0] * agents

    def note(self, agent: int, round: int, theta: Vector, dual: Vector) -> list[EvaluationDone]:
        """Record a state; the figures of the rounds that it was the last one missing of."""
        self._last[agent] = state = (theta, dual)
        self.last_round[agent] = round
        states = self._open.get(round)
        if states is None:
            states = self._open[round] = {absent: self._last[absent] for absent in self._gone}
        states[agent] = state
        return self._complete() if len(states) == self._agents else []

    def excuse(self, agent: int) -> list[EvaluationDone]:
        """An agent is gone for good; the figures of the rounds that waited for it alone."""
        self._gone.add(agent)
        for round, states in self._open.items():
            if round > self.last_round[agent]:
                states[agent] = self._last[agent]
        return self._complete()

    def _complete(self) -> list[EvaluationDone]:
        """Figures of complete rounds, in order; a round never overtakes an earlier one."""
        done = []
        for round in sorted(self._open):
            if len(self._open[round]) < self._agents:
                break
            states = self._open.pop(round)
            done.append(self._figures(round, [states[agent] for agent in range(self._agents)]))
        return done

    def _figures(self, round: int, states: list[State]) -> EvaluationDone:
        thetas, duals = stacked([theta for theta, _ in states]), stacked([dual for _, dual in states])
        found = self._evaluator.evaluate(thetas, duals)
        last = round == self._rounds
        return EvaluationDone(
            round=round,
            test_error=sig(found.test_error),
            train_loss=sig(found.train_loss),
            objective=sig(found.objective),
            consensus=sig(found.consensus),
            dual_drift=sig(found.dual_drift),
            agent_test_error=[sig(x) for x in found.agent_test_error.tolist()] if last else None,
            agent_train_loss=[sig(x) for x in found.agent_train_loss.tolist()] if last else None,
        )
