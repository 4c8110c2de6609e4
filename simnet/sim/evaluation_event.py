"""From the figures of a round to the event that records them."""

from __future__ import annotations

from simnet.learning.evaluation import RoundFigures
from simnet.record.events import EvaluationDone
from simnet.record.rounding import sig


def evaluation_done(figures: RoundFigures) -> EvaluationDone:
    """The event: all numbers rounded, those of each agent in the last round only."""
    found = figures.evaluation
    return EvaluationDone(
        round=figures.round,
        test_error=sig(found.test_error),
        train_loss=sig(found.train_loss),
        objective=sig(found.objective),
        consensus=sig(found.consensus),
        dual_drift=sig(found.dual_drift),
        agent_test_error=[sig(x) for x in found.agent_test_error.tolist()] if figures.last else None,
        agent_train_loss=[sig(x) for x in found.agent_train_loss.tolist()] if figures.last else None,
    )
