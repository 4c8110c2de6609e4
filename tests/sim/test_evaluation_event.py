"""Events of evaluations."""

from __future__ import annotations

import numpy as np

from simnet.learning.evaluation import Evaluation, RoundFigures
from simnet.sim.evaluation_event import evaluation_done


def test_the_figures_are_rounded_and_those_of_each_agent_are_told_in_the_last_round_only():
    third = np.array([1 / 3, -1e-17])
    found = Evaluation(2 / 3, 1 / 3, 1 / 7, 1e-17, 0.0, third, third)
    event = evaluation_done(RoundFigures(4, found, last=False))
    assert (event.round, event.train_loss, event.test_error, event.consensus) == (4, 0.66666667, 0.33333333, 0.0)
    assert event.agent_test_error is event.agent_train_loss is None
    assert evaluation_done(RoundFigures(5, found, last=True)).agent_test_error == [0.33333333, 0.0]
