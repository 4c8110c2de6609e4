from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simnet.privacy import noise
from simnet.streams import Streams


def test_gamma_type_noise_has_a_gamma_norm_and_no_preferred_direction() -> None:
    rng = Streams(1).generator("noise")
    draws = np.array([noise.gamma_type(rng, 2.5, 4) for _ in range(4000)])
    norms = np.linalg.norm(draws, axis=1)
    assert stats.kstest(norms, stats.gamma(4, scale=1 / 2.5).cdf).pvalue > 1e-3
    cosines = draws[:, 0] / norms
    # On the sphere of dimension 4 a coordinate c has density ∝ √(1 − c²): (c+1)/2 is Beta(3/2, 3/2).
    assert stats.kstest((cosines + 1) / 2, stats.beta(1.5, 1.5).cdf).pvalue > 1e-3


def test_gamma_type_noise_in_one_dimension_is_laplace() -> None:
    rng = Streams(2).generator("noise")
    draws = [noise.gamma_type(rng, 3.0, 1)[0] for _ in range(4000)]
    assert stats.kstest(draws, stats.laplace(scale=1 / 3).cdf).pvalue > 1e-3


def test_ball_noise_is_uniform_inside_and_never_outside() -> None:
    rng = Streams(3).generator("noise")
    norms = [float(np.linalg.norm(noise.in_ball(rng, 9.0, 3))) for _ in range(4000)]
    assert max(norms) <= 9.0
    # The volume within radius r grows with r³.
    assert stats.kstest(np.array(norms) ** 3 / 729.0, "uniform").pvalue > 1e-3


def test_gaussian_and_laplace_noise_have_their_scales() -> None:
    rng = Streams(4).generator("noise")
    assert stats.kstest(noise.gaussian(rng, 0.3, 4000) / 0.3, "norm").pvalue > 1e-3
    assert stats.kstest([noise.laplace(rng, 2.0) for _ in range(4000)], stats.laplace(scale=2).cdf).pvalue > 1e-3


def test_a_label_is_wrong_with_the_probability_that_its_epsilon_allows() -> None:
    rng = Streams(5).generator("labels")
    labels = np.where(rng.random(20000) < 0.3, 1.0, -1.0)
    reported = noise.flip_labels(rng, labels, 1.0)
    assert set(np.unique(reported)) == {-1.0, 1.0}
    p = 1 / (1 + math.e)
    wrong = int((reported != labels).sum())
    assert stats.binomtest(wrong, 20000, p).pvalue > 1e-3
    assert math.log((1 - noise.flip_probability(1.0)) / noise.flip_probability(1.0)) == pytest.approx(1.0)
    assert noise.flip_probability(1000.0) == 0.0
