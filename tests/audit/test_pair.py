"""Two worlds, one row apart: how far that row moves the gradient, and how it travels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.audit.pair import pair
from simnet.errors import ScenarioError
from tests.worlds import audited_world


def shift(worlds, theta):
    """By how much the victim's gradient differs between the worlds, in units of L/m."""
    first, second = (world.objectives[worlds.plan.victim] for world in worlds.worlds)
    return float(np.linalg.norm(first.gradient(theta) - second.gradient(theta))) * first.rows


@pytest.mark.parametrize("canary", ["label-flip", "worst-case", "adversarial"])
def test_the_worlds_differ_in_the_row_in_question_only(canary):
    worlds = pair(*audited_world(audit={"canary": canary, "victim": 1, "row": 7}))
    first, second = (world.learning for world in worlds.worlds)
    for agent in range(3):
        apart = np.any(first.parts[agent].X != second.parts[agent].X, axis=1)
        apart |= first.parts[agent].y != second.parts[agent].y
        assert np.flatnonzero(apart).tolist() == ([7] if agent == 1 else [])
    assert worlds.worlds[0].graph is worlds.worlds[1].graph
    assert worlds.worlds[0].calibration is worlds.worlds[1].calibration


@pytest.mark.parametrize("canary", ["label-flip", "worst-case", "adversarial"])
def test_every_row_keeps_to_the_norm_that_the_noise_was_made_for(canary):
    for world in pair(*audited_world(audit={"canary": canary})).worlds:
        assert max(np.linalg.norm(part.X, axis=1).max() for part in world.learning.parts) <= 1.0


@given(theta=st.lists(st.floats(-5.0, 5.0), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None)
def test_no_canary_moves_the_gradient_by_more_than_the_sensitivity(theta):
    for loss in ("logistic", "smoothed-hinge"):
        for canary in ("label-flip", "worst-case", "adversarial"):
            worlds = pair(*audited_world("admm", audit={"canary": canary}, algorithm__loss=loss))
            assert shift(worlds, np.array(theta)) <= 2.0 + 1e-12


def test_a_flipped_label_moves_a_logistic_gradient_by_the_norm_of_the_row_wherever_the_model_is():
    worlds = pair(*audited_world("admm", audit={"canary": "label-flip"}, algorithm__loss="logistic"))
    row = worlds.worlds[0].learning.parts[0].X[0]
    for theta in (np.zeros(3), np.array([3.0, -1.0, 2.0])):
        assert shift(worlds, theta) == pytest.approx(np.linalg.norm(row))


def test_the_worst_case_pair_uses_the_whole_sensitivity_of_the_hinge():
    assert shift(pair(*audited_world("admm", audit={"canary": "worst-case"})), np.zeros(3)) == pytest.approx(2.0)


def test_the_adversarial_pair_uses_almost_all_of_the_logistic_loss_where_the_neighbour_drives_the_model():
    worlds = pair(*audited_world("admm", audit={"canary": "adversarial"}, algorithm__loss="logistic"))
    assert shift(worlds, np.array([0.0, -20.0, 0.0])) > 1.9
    assert shift(worlds, np.zeros(3)) < 1.0


@pytest.mark.parametrize(
    ("method", "audit", "sentence"),
    [
        ("pdml", {"canary": "adversarial"}, "only the labels are protected"),
        ("dp-admm", {"canary": "adversarial", "victim": 1}, "only an untrusted hub can drive a victim"),
        ("dp-admm", {"victim": 1, "links": [[0, 9]]}, "agents 0 and 9 share no link"),
    ],
)
def test_an_eavesdropper_that_a_method_leaves_no_room_for_is_refused_with_a_sentence(method, audit, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        pair(*audited_world(method, audit=audit))


@pytest.mark.parametrize(
    ("audit", "sentence"),
    [
        ({"victim": 3}, "audit.victim = 3: there are 3 agents"),
        ({"row": 100}, "audit.row = 100: agent 0 holds 100 rows"),
        ({"links": [[0, 0]]}, "share no link"),
        ({"links": [[1, 2]]}, "no link of agent 0, which has the row, is overheard"),
        ({"evidence": "tests"}, "pp-admm has no test"),
    ],
)
def test_an_audit_that_makes_no_sense_is_refused_with_a_sentence(audit, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        pair(*audited_world(audit=audit))


def test_the_tests_alone_can_be_audited_up_to_the_first_release_only():
    with pytest.raises(ScenarioError, match="max_releases = 2 must be 1"):
        pair(*audited_world("ipp-admm", audit={"evidence": "tests"}, algorithm__max_releases=2))


def test_an_adversarial_pair_needs_two_features():
    with pytest.raises(ScenarioError, match="at least two features"):
        pair(*audited_world(audit={"canary": "adversarial"}, data__features=1))


def gap(first, second, theta):
    """How far two objectives' gradients are apart, in units of 1/m."""
    return float(np.linalg.norm(first.loss_gradient(theta) - second.loss_gradient(theta))) * first.rows


def test_a_row_that_stays_has_one_way_and_no_report():
    worlds = pair(*audited_world("pp-admm"))
    for side in (0, 1):
        [path] = worlds.paths[side]
        assert (path.probability, path.report) == (1.0, None)
        assert path.training is worlds.worlds[side].objectives


def test_a_label_is_flipped_or_not_and_everybody_elses_report_is_the_same():
    worlds = pair(*audited_world("pdml", audit={"victim": 1}, algorithm__label_epsilon=1.0))
    theta = np.array([0.3, -0.2, 0.5])
    straight, flipped = worlds.paths[0]
    assert straight.probability / flipped.probability == pytest.approx(math.e)
    assert straight.report[0] == flipped.report[0]
    assert straight.report[1] == -flipped.report[1]
    # The canary's rows are (e1, +1) and (e1, −1): one flipped is the other unflipped.
    assert gap(straight.training[1], worlds.paths[1][1].training[1], theta) == pytest.approx(0.0, abs=1e-12)
    for agent in (0, 2):
        assert straight.training[agent] is flipped.training[agent]
    # One row of a hundred moves by l̂'(z) − l̂'(−z), both of them times e1: e/(e−1) + 1/(e−1) at any z.
    assert gap(straight.training[1], flipped.training[1], theta) == pytest.approx((math.e + 1) / (math.e - 1))


def test_runs_take_either_way_as_often_as_they_should():
    worlds = pair(*audited_world("pdml", algorithm__label_epsilon=1.0))
    flipped = sum(worlds.path(0, seed) is worlds.paths[0][1] for seed in range(2000))
    assert abs(flipped - 2000 / (1 + math.e)) < 4 * math.sqrt(2000 * 0.2)


def test_a_trusted_hub_computes_with_the_leafs_row_among_all_others():
    worlds = pair(*audited_world("dp-admm", audit={"victim": 2, "row": 7}))
    [first], [second] = worlds.paths
    assert worlds.holder == 0
    assert first.training[0].rows == 300
    assert gap(first.training[0], second.training[0], np.zeros(3)) == pytest.approx(2.0)
    assert first.report != second.report


def test_a_row_whose_report_is_lost_cannot_be_audited():
    scenario, plan = audited_world("pdml", network__access__loss=0.5)
    arrived = pair(scenario, plan.model_copy(update={"row": 0})) if _arrives(scenario, plan, 0) else None
    lost = next(row for row in range(100) if not _arrives(scenario, plan, row))
    with pytest.raises(ScenarioError, match=f"audit.row = {lost}: its report is lost on the way"):
        pair(scenario, plan.model_copy(update={"row": lost}))
    assert arrived is None or arrived.paths[0][0].training[0].rows < 100


def _arrives(scenario, plan, row):
    from simnet.build import build

    reports = build(scenario).reporting.reports[plan.victim]
    return bool(reports.arrived[row])
