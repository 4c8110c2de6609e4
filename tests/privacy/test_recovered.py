"""The likelihood of noise that was found again, and whether float64 noise can lead to a release at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simnet.privacy.recovered import added, log_density, reachable, without_noise

DENSITIES = {
    "gaussian": lambda noise, scale: stats.norm(scale=scale).logpdf(noise).sum(),
    "laplace": lambda noise, scale: stats.laplace(scale=scale).logpdf(noise).sum(),
    # Direction and length are independent: the density in space goes down with the length alone.
    "gamma": lambda noise, scale: -scale * math.sqrt(sum(x * x for x in noise)),
}
vectors = st.lists(st.floats(-4.0, 4.0), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("kind", DENSITIES)
@given(one=vectors, other=vectors, scale=st.floats(0.1, 10.0))
def test_two_hypotheses_are_as_likely_as_the_density_of_the_noise_says(kind, one, other, scale):
    ours = log_density(one, kind, scale) - log_density(other, kind, scale)
    assert ours == pytest.approx(DENSITIES[kind](one, scale) - DENSITIES[kind](other, scale), abs=1e-9)


def test_where_there_is_no_noise_the_smaller_residual_is_the_likelier():
    small, large = np.array([3.0, 4.0]), np.array([6.0, 8.0])
    assert log_density(small, "gaussian", 0.0) == without_noise(small).log_likelihood == -5.0
    assert added(large, "laplace", 0.0).log_likelihood == -10.0
    assert added(large, "laplace", 0.0).standard is None


@pytest.mark.parametrize("kind", DENSITIES)
def test_noise_of_the_planned_kind_and_scale_is_standard_once_it_is_found(kind):
    rng = np.random.default_rng(1)
    scale, size = 2.5, 4000
    if kind == "gamma":  # in one dimension its length is exponential
        drawn = [added(np.array([x]), kind, scale) for x in rng.laplace(scale=1 / scale, size=size)]
        standard = np.concatenate([each.standard for each in drawn])
    else:
        noise = rng.normal(scale=scale, size=size) if kind == "gaussian" else rng.laplace(scale=scale, size=size)
        standard = added(noise, kind, scale).standard
    assert stats.kstest(standard, "norm").pvalue > 0.001


@given(base=st.floats(-10.0, 10.0), x=st.floats(-5.0, 5.0), scale=st.floats(1e-3, 10.0))
def test_a_release_that_was_made_with_noise_could_have_been(base, x, scale):
    assert reachable(np.array([base]), np.array([base]) + scale * np.array([x]), scale)


def test_bits_that_no_noise_leads_to_are_told_from_bits_that_some_does():
    """Mironov's attack: with a scale of 3 a third of all numbers are no multiple of it in float64."""
    rng = np.random.default_rng(2)
    released = 3.0 * rng.standard_normal(2000)
    wrong = np.nextafter(released, np.inf)
    zero = np.zeros(1)
    assert all(reachable(zero, released[place : place + 1], 3.0) for place in range(2000))
    assert 0.1 < np.mean([reachable(zero, wrong[place : place + 1], 3.0) for place in range(2000)]) < 0.9
