"""An adversarial neighbour holds its victim's problem where it wants it."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.audit.pair import pair
from simnet.audit.trials import listen
from tests.worlds import audited_world


@pytest.mark.parametrize("duals", ["node", "healing"])
def test_the_only_neighbour_pins_the_problem_at_its_goal_from_the_second_round_on(duals):
    changes = {"topology": {"kind": "complete", "agents": 2}, "algorithm__duals": duals}
    worlds = pair(*audited_world("pp-admm", audit={"canary": "adversarial", "drive": 7.0}, **changes))
    heard = listen(worlds, 0, 5)
    victim = worlds.shadows(0)[0]
    goal = np.array([0.0, -7.0, 0.0])
    for each in heard.rounds:
        if each.t > 1:
            # The penalty ηV|θ − goal|² has no other linear term than −2ηV goal.
            assert victim.duals.linear(victim.theta, victim.eta) == pytest.approx(-2 * victim.eta * goal)
        victim.absorb(each.t, each.sent, each.known)


def test_one_neighbour_of_two_still_brings_the_model_close_to_the_goal():
    worlds = pair(*audited_world("admm", audit={"canary": "adversarial"}, rounds=6))
    released = [each.sent[0] for each in listen(worlds, 0, 5).rounds if each.sent is not None]
    assert released[-1][1] < -10.0


@pytest.mark.parametrize("method", ["dp-admm", "dp-acc-admm"])
def test_an_untrusted_hub_makes_its_leaf_show_its_gradient_where_it_wants(method):
    worlds = pair(*audited_world(method, audit={"canary": "adversarial", "victim": 1}, algorithm__hub="untrusted"))
    victim, goal = worlds.shadows(0)[1], np.array([0.0, -20.0, 0.0])
    points = []
    for each in listen(worlds, 0, 5).rounds:
        points.append(victim.point)
        victim.absorb(each.t, each.sent, each.known)
    assert np.array_equal(points, [np.zeros(3), goal, goal, goal])


def test_an_alternating_neighbour_drives_its_victim_to_and_fro():
    changes = {"topology": {"kind": "complete", "agents": 2}, "rounds": 6}
    worlds = pair(*audited_world("admm", audit={"canary": "alternating", "drive": 7.0}, **changes))
    places = [each.sent[0][1] for each in listen(worlds, 0, 5).rounds if each.t > 1]
    assert [place > 0 for place in places] == [True, False, True, False, True]


def test_what_a_neighbour_drives_is_charged_to_nobody():
    heard = listen(pair(*audited_world("pp-admm", audit={"canary": "adversarial"})), 0, 5)
    assert heard.breaches == ()
