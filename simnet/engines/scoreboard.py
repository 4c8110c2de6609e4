"""Collects the agents' states round by round, and evaluates a round when all have finished it.

Agents may be at different rounds at the same time; a round's figures compare like with like: every agent's state at the
end of that same round. On a perfect network the duals of one round sum to zero even if the agents are apart in time.
An agent that is gone for good counts with its last state.
"""

from __future__ import annotations

import numpy as np

from simnet.algorithms.peer import Vector
from simnet.learning.evaluation import Evaluator
from simnet.record.events import EvaluationDone
from simnet.record.rounding import sig


class Scoreboard:
    """Waits for all agents' states of a round, then turns them into an event."""

    def __init__(self, evaluator: Evaluator, agents: int, features: int, rounds: int) -> None:
        self._evaluator = evaluator
        self._shape = (agents, features)
        self._rounds = rounds
        self._open: dict[int, tuple[Vector, Vector, list[int]]] = {}
        self._last: list[tuple[Vector, Vector]] = [(np.zeros(features), np.zeros(features))] * agents
        self._gone: set[int] = set()
        self.last_round = [0] * agents

    def note(self, agent: int, round: int, theta: Vector, dual: Vector) -> list[EvaluationDone]:
        """Record a state; the figures of the rounds that it was the last one missing of."""
        self._last[agent] = (theta, dual)
        self.last_round[agent] = round
        if round not in self._open:
            self._open[round] = (np.zeros(self._shape), np.zeros(self._shape), [0])
            for absent in self._gone:
                self._enter(absent, round)
        self._enter(agent, round)
        return self._complete() if self._open[round][2][0] == self._shape[0] else []

    def excuse(self, agent: int) -> list[EvaluationDone]:
        """An agent is gone for good; the figures of the rounds that waited for it alone."""
        self._gone.add(agent)
        for round in self._open:
            if round > self.last_round[agent]:
                self._enter(agent, round)
        return self._complete()

    def _enter(self, agent: int, round: int) -> None:
        thetas, duals, count = self._open[round]
        thetas[agent], duals[agent] = self._last[agent]
        count[0] += 1

    def _complete(self) -> list[EvaluationDone]:
        """Figures of complete rounds, in order; a round never overtakes an earlier one."""
        done = []
        for round in sorted(self._open):
            thetas, duals, count = self._open[round]
            if count[0] < self._shape[0]:
                break
            del self._open[round]
            done.append(self._figures(round, thetas, duals))
        return done

    def _figures(self, round: int, thetas: Vector, duals: Vector) -> EvaluationDone:
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
