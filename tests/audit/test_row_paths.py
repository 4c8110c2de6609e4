"""How a row comes to whoever computes with it, and what its report says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simnet.audit.pair import pair
from simnet.audit.row_paths import report_score
from simnet.errors import ScenarioError
from tests.worlds import audited_world


def gap(first, second, theta):
    """How far two objectives' gradients are apart, in units of 1/m."""
    return float(np.linalg.norm(first.loss_gradient(theta) - second.loss_gradient(theta))) * first.rows


def test_a_row_that_stays_has_one_way_and_no_report():
    worlds = pair(*audited_world("pp-admm"))
    for side in (0, 1):
        [way] = worlds.ways[side]
        assert (way.probability, way.report) == (1.0, None)
        assert way.training is worlds.worlds[side].objectives


def test_a_label_is_flipped_or_not_and_everybody_elses_report_is_the_same():
    worlds = pair(*audited_world("pdml", audit={"victim": 1}, algorithm__label_epsilon=1.0))
    theta = np.array([0.3, -0.2, 0.5])
    straight, flipped = worlds.ways[0]
    assert straight.probability / flipped.probability == pytest.approx(math.e)
    assert straight.report[0] == flipped.report[0]
    assert straight.report[1] == -flipped.report[1]
    # The canary's rows are (e1, +1) and (e1, −1): one flipped is the other unflipped.
    assert gap(straight.training[1], worlds.ways[1][1].training[1], theta) == pytest.approx(0.0, abs=1e-12)
    for agent in (0, 2):
        assert straight.training[agent] is flipped.training[agent]
    # One row of a hundred moves by l̂'(z) − l̂'(−z), both of them times e1: e/(e−1) + 1/(e−1) at any z.
    assert gap(straight.training[1], flipped.training[1], theta) == pytest.approx((math.e + 1) / (math.e - 1))


def test_runs_take_either_way_as_often_as_they_should():
    worlds = pair(*audited_world("pdml", algorithm__label_epsilon=1.0))
    flipped = sum(worlds.way(0, seed) is worlds.ways[0][1] for seed in range(2000))
    assert abs(flipped - 2000 / (1 + math.e)) < 4 * math.sqrt(2000 * 0.2)


def test_a_trusted_hub_computes_with_the_leafs_row_among_all_others():
    worlds = pair(*audited_world("dp-admm", audit={"victim": 2, "row": 7}))
    [first], [second] = worlds.ways
    assert worlds.holder == 0
    assert first.training[0].rows == 300
    assert gap(first.training[0], second.training[0], np.zeros(3)) == pytest.approx(2.0)
    assert first.report != second.report


def test_a_report_tells_as_much_as_its_chances_differ():
    worlds = pair(*audited_world("pdml", algorithm__label_epsilon=1.25))
    heard = [way.report for way in worlds.ways[0]]
    assert [report_score(each, *worlds.ways) for each in heard] == pytest.approx([1.25, -1.25])
    clear = pair(*audited_world("dp-admm", audit={"victim": 1}))
    assert report_score(clear.ways[0][0].report, *clear.ways) == math.inf
    assert report_score(clear.ways[1][0].report, *clear.ways) == -math.inf


def test_a_row_whose_report_is_lost_cannot_be_audited():
    scenario, plan = audited_world("pdml", network__access__loss=0.5)
    arrived = pair(scenario, plan.model_copy(update={"row": 0})) if _arrives(scenario, plan, 0) else None
    lost = next(row for row in range(100) if not _arrives(scenario, plan, row))
    with pytest.raises(ScenarioError, match=f"audit.row = {lost}: its report is lost on the way"):
        pair(scenario, plan.model_copy(update={"row": lost}))
    assert arrived is None or arrived.ways[0][0].training[0].rows < 100


def _arrives(scenario, plan, row):
    from simnet.build import build

    reports = build(scenario).reporting.reports[plan.victim]
    return bool(reports.arrived[row])
