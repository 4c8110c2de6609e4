"""Collects the agents' states round by round, and evaluates a round when all have finished it.

Agents may be at different rounds at the same time; a round's figures compare like with like: every agent's state at the
end of that same round. On a perfect network the duals of one round sum to zero even if the agents are apart in time.
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
        self._open: dict[int, tuple[Vector, Vector, int]] = {}
        self.last_round = [0] * agents

    def note(self, agent: int, round: int, theta: Vector, dual: Vector) -> EvaluationDone | None:
        """Record a state; the round's figures if it was the last one missing."""
        thetas, duals, count = self._open.get(round) or (np.zeros(self._shape), np.zeros(self._shape), 0)
        thetas[agent], duals[agent] = theta, dual
        self.last_round[agent] = round
        if count + 1 < self._shape[0]:
            self._open[round] = (thetas, duals, count + 1)
            return None
        self._open.pop(round, None)
        return self._figures(round, thetas, duals)

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
