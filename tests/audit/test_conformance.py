"""What the auditor makes of many runs: families, breaches, f90, and whether silence means something."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from simnet.audit.conformance import ALPHA, Evidence, conformance
from simnet.audit.transcript import Breach


def runs(rng, count, features=2, rounds=3, factor=1.0, **more):
    """Evidence of runs whose noise is what it should be, times a factor."""
    return [
        Evidence(
            {0: {t: (factor * rng.standard_normal(features), 0.0) for t in range(1, rounds + 1)}}, (), "same", **more
        )
        for _ in range(count)
    ]


def test_honest_runs_are_clean_and_twenty_of_them_conclusive():
    rng = np.random.default_rng(1)
    found = conformance(runs(rng, 20), runs(rng, 20), 0)
    assert found.broken_by == ()
    assert found.conclusive
    assert len(found.families) * found.level == pytest.approx(ALPHA)


def test_fewer_than_twenty_are_not_however_much_noise_they_show():
    rng = np.random.default_rng(2)
    found = conformance(runs(rng, 19, features=40), runs(rng, 19, features=40), 0)
    assert found.f90 > 0.9
    assert not found.conclusive


def test_noise_that_nobody_could_recover_gives_no_f90():
    empty = [Evidence({}, (), None)] * 20
    found = conformance(empty, empty, 0)
    assert found.f90 is None
    assert not found.conclusive
    assert found.broken_by == ()


def test_noise_times_f90_is_caught_nine_times_of_ten_and_noise_as_it_should_be_never():
    rng = np.random.default_rng(3)
    factor = conformance(runs(rng, 20), runs(rng, 20), 0).f90
    weak = [conformance(runs(rng, 20, factor=factor), runs(rng, 20, factor=factor), 0) for _ in range(60)]
    assert sum("amount" in each.broken_by for each in weak) > 45
    honest = [conformance(runs(rng, 20), runs(rng, 20), 0) for _ in range(60)]
    assert not any(each.broken_by for each in honest)


def test_a_fault_in_one_run_is_enough():
    rng = np.random.default_rng(4)
    first = runs(rng, 20)
    first[3] = Evidence(first[3].noises, (Breach("payload", "agent 0 in round 1: something"),) * 2, "same")
    found = conformance(first, runs(rng, 20), 0)
    assert found.broken_by == ("payload",)
    assert found.breaches["payload"] == 2
    assert found.sentences == ("payload: agent 0 in round 1: something",)


def test_traffic_that_differs_is_a_breach_only_where_no_round_may_be_skipped():
    rng = np.random.default_rng(5)
    first = [Evidence(each.noises, (), "other") for each in runs(rng, 20)]
    assert conformance(first, runs(rng, 20), 0).broken_by == ("traffic",)
    assert conformance(first, runs(rng, 20), 0, skips=True).broken_by == ()


def test_labels_that_are_flipped_too_seldom_are_seen_and_f90_is_about_them():
    rng = np.random.default_rng(6)
    chance = 0.3
    sides = [[each for flip in rng.random(200) < 0.12 for each in runs(rng, 1, flipped=bool(flip))] for _ in range(2)]
    found = conformance(*sides, 0, flip_chance=chance, labels_only=True)
    assert found.broken_by == ("flips",)
    most = max(k for k in range(401) if binom(400, chance).cdf(k) <= found.level)
    assert binom(400, found.f90 * chance).cdf(most) == pytest.approx(0.9)


def test_too_few_labels_have_no_f90():
    rng = np.random.default_rng(7)
    few = runs(rng, 4, flipped=False)
    assert conformance(few, few, 0, flip_chance=0.1, labels_only=True).f90 is None
