"""Each family is silent on independent Gaussian vectors and speaks up on the one thing that it looks for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from simnet.audit import families
from simnet.audit.families import Noises, bonferroni, caught_factor

LEVEL = 1e-4
SHAPES = [(40, 4, 3), (40, 2, 1), (120, 3, 2)]


def noises(z, slack=0.0):
    return Noises(z, np.full(z.shape[:2], slack), tuple(range(1, z.shape[1] + 1)))


def every(z, other):
    """The p-value of every family."""
    own = noises(z)
    found = [
        families.single(own),
        families.amount(own),
        families.features_alike(own),
        families.rounds_alike(own),
        families.agents_alike(own, {1: noises(other)}),
        families.runs_alike(own),
        families.shape(own),
    ]
    return {each.name: each.p_value for each in found}


@pytest.mark.parametrize("shape", SHAPES)
def test_under_the_null_a_family_speaks_up_no_oftener_than_its_p_value_says(shape):
    rng = np.random.default_rng(5)
    found = [every(rng.standard_normal(shape), rng.standard_normal(shape)) for _ in range(200)]
    for name in found[0]:
        below = sum(each[name] <= 0.1 for each in found)
        # 20 of 200 are expected at most; a binomial count stays below 35 with probability 0.9995.
        assert below < 35, name


def test_a_test_that_selects_rounds_by_earlier_noise_deceives_no_family():
    # The second round releases only after little noise in the first: z_1 of such runs is small, and nobody's fault.
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(100):
        z = rng.standard_normal((400, 2, 2))
        z[np.linalg.norm(z[:, 0], axis=1) > 1.0, 1] = np.nan
        alarms += families.rounds_alike(noises(z)).p_value <= 0.05
        alarms += families.amount(noises(z)).p_value <= 0.05
    assert alarms < 22


def test_a_single_release_without_noise_is_seen():
    z = np.random.default_rng(1).standard_normal((40, 5, 3))
    z[7, 2] = 1e-4
    assert families.single(noises(z)).p_value < LEVEL
    assert families.amount(noises(z)).p_value > LEVEL
    # With a slack that would let any vector be that small by chance, it is not.
    assert families.single(noises(z, slack=0.3)).p_value > LEVEL


def test_the_smallest_of_many_releases_has_the_p_value_of_a_plain_count():
    z = np.random.default_rng(2).standard_normal((30, 2, 2))
    plain = 60 * chi2(2).cdf((z**2).sum(axis=2).min())
    assert families.single(noises(z)).p_value == pytest.approx(min(1.0, plain))


@pytest.mark.parametrize("place", [np.s_[:, 2], np.s_[:, :, 1], np.s_[:, 2, 1], np.s_[:]])
def test_too_little_noise_is_seen_in_a_round_in_a_feature_in_both_and_in_all(place):
    z = np.random.default_rng(3).standard_normal((60, 4, 3))
    z[place] *= 0.5
    found = families.amount(noises(z))
    assert found.p_value < LEVEL
    z[place] *= 4.0  # twice the noise is nobody's loss
    assert families.amount(noises(z)).p_value > LEVEL


@pytest.mark.parametrize("mix", ["same", "negative", "sum of the others", "one release"])
def test_features_that_agree_or_follow_from_others_are_seen(mix):
    z = np.random.default_rng(4).standard_normal((40, 5, 4))
    if mix == "one release":
        z[3, 1] = 0.7
    elif mix == "sum of the others":
        z[..., 3] = z[..., :3].sum(axis=2) / math.sqrt(3.0)
    else:
        z[..., 3] = z[..., 0] if mix == "same" else -z[..., 0]
    assert families.features_alike(noises(z)).p_value < LEVEL
    assert families.single(noises(z)).p_value > LEVEL


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("runs", [slice(None), slice(11, 12)])
def test_rounds_and_agents_that_share_noise_are_seen_in_all_runs_and_in_one(sign, runs):
    rng = np.random.default_rng(5)
    z, other = rng.standard_normal((2, 40, 6, 3))
    assert families.agents_alike(noises(z), {1: noises(other)}).p_value > LEVEL
    other[runs, 4] = sign * z[runs, 1]
    assert families.agents_alike(noises(z), {1: noises(other)}).p_value < LEVEL
    z[runs, 5] = sign * z[runs, 2]
    assert families.rounds_alike(noises(z)).p_value < LEVEL


def test_a_pair_of_rounds_has_the_p_value_of_a_plain_noncentral_chi_square():
    z = np.random.default_rng(6).standard_normal((20, 2, 2))
    early, late = z[:, 0], z[:, 1]
    plain = []
    for sign in (-1, 1):
        apart = ((late + sign * early) ** 2).sum(axis=1)
        plain += [ncx2(40, (early**2).sum()).cdf(apart.sum()) * 2]
        plain += [20 * ncx2(2, (early**2).sum(axis=1)).cdf(apart).min() * 2]
    assert families.rounds_alike(noises(z)).p_value == pytest.approx(min(1.0, 2 * min(plain)), rel=1e-6)


def test_many_runs_are_compared_by_their_products():
    z = np.random.default_rng(7).standard_normal((1000, 2, 2))
    z[:, 1] = 0.2 * z[:, 0] + math.sqrt(1 - 0.04) * z[:, 1]
    products = (z[:, 0] * z[:, 1]).sum() / math.sqrt((z[:, 0] ** 2).sum())
    assert families.rounds_alike(noises(z)).p_value == pytest.approx(4 * norm.cdf(-products))


def test_runs_that_share_their_noise_are_seen():
    z = np.random.default_rng(8).standard_normal((40, 3, 2))
    assert families.runs_alike(noises(z)).p_value > LEVEL
    z[31] = z[4]
    assert families.runs_alike(noises(z)).p_value < LEVEL


def test_noise_of_another_shape_and_the_right_variance_is_seen_but_a_grid_is_not():
    rng = np.random.default_rng(9)
    assert families.shape(noises(rng.laplace(0, math.sqrt(0.5), (300, 5, 3)))).p_value < LEVEL
    z = rng.standard_normal((2000, 5, 3))
    assert families.shape(noises(np.rint(64 * z) / 64)).p_value > 0.01


def test_vectors_on_a_grid_are_no_smaller_than_their_slack_says():
    # One dimension, a grid of 1/64: zeros are common. Half a step of slack keeps every family honest.
    rng = np.random.default_rng(10)
    alarms = 0
    for _ in range(60):
        z = np.rint(64 * rng.standard_normal((40, 3, 1))) / 64
        own = noises(z, slack=1 / 128)
        found = (families.single(own), families.rounds_alike(own), families.runs_alike(own))
        alarms += sum(each.p_value <= 0.01 for each in found)
    assert alarms < 8


def test_f90_is_the_factor_that_is_caught_nine_times_of_ten():
    dof, level = 120, 1e-3
    factor = caught_factor(dof, level)
    quantile = chi2(dof).ppf(level)
    assert chi2(dof).cdf(quantile / factor**2) == pytest.approx(0.9)
    rng = np.random.default_rng(11)
    caught = np.mean(factor**2 * rng.chisquare(dof, 20_000) <= quantile)
    assert caught == pytest.approx(0.9, abs=0.01)
    assert caught_factor(0, level) == 0.0


def test_a_family_shares_its_error_among_groups_and_tests():
    found = bonferroni("some", [("a", 0.001)], [("b", 0.01), ("c", 1e-5)])
    assert (found.p_value, found.worst) == (pytest.approx(4e-5), "c")
    assert bonferroni("none").p_value == 1.0
    assert bonferroni("large", [("a", 0.9), ("b", 0.8)]).p_value == 1.0
