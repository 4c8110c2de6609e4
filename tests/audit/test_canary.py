"""Two worlds, one row apart, and how far that row moves the gradient."""

from __future__ import annotations

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
