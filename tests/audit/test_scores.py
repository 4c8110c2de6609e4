"""The eavesdropper recovers from public values what the victim drew in secret."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from simnet import run
from simnet.audit.answers import AnswerLikelihood as Outcomes
from simnet.audit.pair import pair
from simnet.audit.scores import closest_pair, flattest, report_score, smallest
from simnet.audit.trials import listen
from simnet.privacy.noise import gaussian, grid
from simnet.privacy.sparse_vector import SvtPlan
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack
from simnet.streams import Streams
from tests.worlds import audited_world

WAN = {
    "pacing": {"kind": "deadline", "period": 0.2},
    "link": {"latency": {"kind": "lognormal", "median": 0.08}, "loss": 0.2},
}


def recovered(worlds, side, seed):
    """Per release of the victim, the noise that the hypothesis `side` reads from what crossed the network."""
    victim = worlds.shadows(side)[worlds.holder]
    found = []
    for each in listen(worlds, side, seed).rounds:
        if each.sent is not None:
            candidate = victim.noise_of(each.t, each.sent[0], each.known)
            if candidate is not None:
                found.append(candidate.noise)
        victim.absorb(each.t, each.sent, each.known)
    return np.array(found)


@pytest.mark.parametrize("network", [{"pacing": "ideal"}, WAN], ids=["ideal", "lossy"])
@pytest.mark.parametrize("duals", ["node", "healing", "edge"])
def test_the_recovered_noise_is_the_drawn_noise(duals, network):
    # A tiny tolerance makes the solve exact and, with it, the output noise vanish.
    changes = {"algorithm__duals": duals, "algorithm__tolerance": 1e-9, "network": network, "rounds": 6}
    worlds = pair(*audited_world(audit={"canary": "label-flip", "victim": 1}, **changes))
    found = recovered(worlds, 1, seed=77)
    rng = Streams(77).generator("noise", 1)
    plan = worlds.worlds[0].calibration.plans[1]
    assert len(found) == 6
    for noise in found:
        drawn = gaussian(rng, plan.sigma1, 3)
        gaussian(rng, plan.sigma2, 3)
        assert noise == pytest.approx(drawn, abs=1e-6)


@pytest.mark.parametrize("method", ["dvp", "m-admm", "r-admm", "pvp"])
def test_the_recovered_noise_is_the_drawn_noise_of_scheduled_methods_too(method):
    worlds = pair(*audited_world(method, audit={"canary": "label-flip"}, algorithm__tolerance=1e-9))
    found = recovered(worlds, 0, seed=5)
    rng = Streams(5).generator("noise", 0)
    schedule = worlds.worlds[0].calibration.plans[0]
    assert len(found) == (2 if method == "r-admm" else 4)
    for noise, plan in zip(found, schedule.rounds, strict=True):
        drawn, _ = schedule.draw(plan, rng, 3)
        # What pvp adds is known up to half a step of the grid.
        assert noise == pytest.approx(drawn, abs=grid(2 / plan.scale) / 2 if method == "pvp" else 1e-6)


def test_the_recovered_noise_of_a_server_is_what_it_added_to_its_minimiser():
    worlds = pair(
        *audited_world(
            "pdml", audit={"victim": 2}, algorithm__tolerance=1e-9, algorithm__objective_bound=0.0, network=WAN
        )
    )
    schedule = worlds.worlds[0].calibration.plans[2]
    for path in (0, 1):
        # A seed for which the label in question takes the path that the eavesdropper supposes.
        seed = next(seed for seed in range(100) if worlds.path(1, seed) is worlds.paths[1][path])
        victim, rng = worlds.shadows(1, path)[2], Streams(seed).generator("noise", 2)
        for each, plan in zip(listen(worlds, 1, seed).rounds, schedule.rounds, strict=True):
            assert victim.noise_of(each.t, each.sent[0], each.known).noise == pytest.approx(
                gaussian(rng, plan.scale, 3), abs=0.51 * grid(plan.scale)
            )
            victim.absorb(each.t, each.sent, each.known)


@pytest.mark.parametrize("network", [{"pacing": "ideal"}, WAN], ids=["ideal", "lossy"])
@pytest.mark.parametrize("method", ["dp-admm", "dp-acc-admm"])
@pytest.mark.parametrize(("hub", "victim"), [("trusted", 2), ("untrusted", 0), ("untrusted", 2)])
def test_the_recovered_noise_of_a_star_is_what_its_hub_or_leaf_added_to_the_gradient(method, hub, victim, network):
    worlds = pair(*audited_world(method, audit={"victim": victim}, algorithm__hub=hub, network=network, rounds=6))
    holder = 0 if hub == "trusted" else victim
    found = recovered(worlds, 1, seed=77)
    rng = Streams(77).generator("noise", holder)
    scale = worlds.worlds[0].calibration.plans[holder].rounds[0].scale
    assert worlds.holder == holder
    assert found == pytest.approx(np.array([gaussian(rng, scale, 3) for _ in range(6)]), abs=0.51 * grid(scale))


def test_the_wrong_hypothesis_finds_noise_that_is_off_by_what_the_row_does_to_the_gradient():
    worlds = pair(*audited_world(algorithm__tolerance=1e-9))
    right, heard = recovered(worlds, 0, seed=3), listen(worlds, 0, 3).rounds
    victim = worlds.shadows(1)[0]
    for noise, each in zip(right, heard, strict=True):
        wrong = victim.noise_of(each.t, each.sent[0], each.known).noise
        # The hinge's slope at the rows (e1, +1) and (e1, −1) of a hundred.
        along = each.sent[0][0]
        slopes = np.clip(1.5 - along, 0.0, 1.0) + np.clip(1.5 + along, 0.0, 1.0)
        assert noise - wrong == pytest.approx(np.array([slopes / 100, 0.0, 0.0]), abs=1e-9)
        victim.absorb(each.t, each.sent, each.known)


def test_only_the_privacy_noise_changes_from_run_to_run():
    scenario, plan = audited_world(audit={"canary": "label-flip"})
    worlds = pair(scenario, plan)
    same, other = (listen(worlds, 0, seed).rounds for seed in (scenario.seed, scenario.seed + 1))
    log = [event for _, _, event in run(scenario).events if isinstance(event, ReleaseMade) and event.agent == 0]
    for each, event in zip(same, log, strict=True):
        assert np.array_equal(each.sent[0], unpack(event.value))
    assert not np.array_equal(same[0].sent[0], other[0].sent[0])


def test_small_alike_and_flat_noises_are_found_wherever_they_are():
    rng = np.random.default_rng(3)
    noises = list(rng.standard_normal((6, 4)))
    plain = min(
        min(np.linalg.norm(a - b), np.linalg.norm(a + b)) for k, a in enumerate(noises) for b in noises[k + 1 :]
    )
    assert closest_pair(noises) == pytest.approx(plain)
    assert closest_pair([*noises, -noises[2]]) == 0.0
    assert closest_pair(noises[:1]) == 0.0
    assert smallest(noises) == pytest.approx(min(np.linalg.norm(each) for each in noises))
    assert smallest([]) == flattest([]) == 0.0
    assert flattest([*noises, np.full(4, 3.0)]) == 0.0


@pytest.mark.parametrize("redraw", [False, True])
def test_the_likelihood_of_a_tests_answers_is_the_integral_over_the_threshold_noise(redraw):
    plan = SvtPlan(
        threshold=0.5,
        clip=2.0,
        cap=2,
        epsilon1=1.0,
        epsilon2=1.0,
        threshold_scale=0.7,
        query_scale=1.3,
        redraw=redraw,
        shared_noise=False,
        regularised=False,
    )
    answers = [(0.2, False), (1.1, True), (-0.4, False), (0.9, True)]
    outcomes = Outcomes(plan)
    for t, (query, passed) in enumerate(answers, 1):
        outcomes.note(t, query, passed=passed)

    def below(x):
        return 0.5 * np.exp(x / 1.3) if x < 0 else 1 - 0.5 * np.exp(-x / 1.3)

    def density(r):
        return np.exp(-abs(r) / 0.7) / 1.4

    def chance(r, some):
        return np.prod([1 - below(0.5 + r - q) if passed else below(0.5 + r - q) for q, passed in some])

    def integral(some):
        return sum(
            quad(lambda r: density(r) * chance(r, some), low, high, limit=200)[0] for low, high in ((-30, 0), (0, 30))
        )

    exact = np.prod([integral([answer]) for answer in answers]) if redraw else integral(answers)
    assert outcomes.log_likelihood() == pytest.approx(np.log(exact), abs=2e-3)


def test_a_report_tells_as_much_as_its_chances_differ():
    worlds = pair(*audited_world("pdml", algorithm__label_epsilon=1.25))
    heard = [path.report for path in worlds.paths[0]]
    assert [report_score(each, *worlds.paths) for each in heard] == pytest.approx([1.25, -1.25])
    clear = pair(*audited_world("dp-admm", audit={"victim": 1}))
    assert report_score(clear.paths[0][0].report, *clear.paths) == math.inf
    assert report_score(clear.paths[1][0].report, *clear.paths) == -math.inf
