from __future__ import annotations

import math
import os

import numpy as np
import pytest

from simnet.learning import data_files
from simnet.learning.dataset import Dataset, scale, split
from simnet.learning.generators import ringnorm, synthetic, twonorm, waveform
from simnet.streams import Streams
from tests.learning.plain import error, fit

needs_data = pytest.mark.skipif("SIMNET_DATA" not in os.environ, reason="needs the data folder: set SIMNET_DATA")
GENERATORS = {"twonorm": twonorm, "ringnorm": ringnorm, "waveform": waveform}


def rng(name: object = "") -> np.random.Generator:
    return Streams(4).generator("data", name)


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("features", [2, 30])
def test_the_best_plane_errs_as_often_as_the_label_noise_says_whatever_the_dimension(noise, features):
    data = synthetic(20_000, features, noise, rng(features))
    assert (data.rows, data.features) == (20_000, features)
    np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=0.04)
    np.testing.assert_allclose(data.X.std(axis=0), 1.0, atol=0.04)
    assert error(fit(data, 1e-6), data) == pytest.approx(math.atan(noise) / math.pi, abs=0.01)


def test_the_separating_direction_is_drawn_from_the_generator():
    first, other = (fit(synthetic(2000, 5, 0.1, rng(name)), 1e-3) for name in "ab")
    cosine = first @ other / np.linalg.norm(first) / np.linalg.norm(other)
    assert abs(cosine) < 0.95


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_generator_draws_the_same_rows(name):
    first, again, other = (GENERATORS[name](50, rng(k)) for k in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert first.name == name


def test_twonorm_is_two_unit_normals_four_apart_along_the_diagonal():
    data = twonorm(40_000, rng())
    a = 2 / math.sqrt(20)
    for sign in (1.0, -1.0):
        part = data.X[data.y == sign]
        np.testing.assert_allclose(part.mean(axis=0), sign * a, atol=0.03)
        np.testing.assert_allclose(np.cov(part.T), np.eye(20), atol=0.05)
    best = np.mean(np.sign(data.X.sum(axis=1)) != data.y)
    assert best == pytest.approx(0.5 * math.erfc(math.sqrt(2.0)), abs=0.003)


def test_ringnorm_is_a_unit_normal_inside_one_twice_as_wide():
    data = ringnorm(40_000, rng())
    inner, outer = data.X[data.y > 0], data.X[data.y < 0]
    np.testing.assert_allclose(inner.mean(axis=0), 2 / math.sqrt(20), atol=0.03)
    np.testing.assert_allclose(outer.mean(axis=0), 0.0, atol=0.06)
    np.testing.assert_allclose(np.cov(inner.T), np.eye(20), atol=0.05)
    np.testing.assert_allclose(np.cov(outer.T), 4 * np.eye(20), atol=0.2)


def test_a_positive_waveform_averages_the_waves_with_peaks_at_7_and_11():
    data = waveform(40_000, rng())
    assert data.features == 21
    assert (data.y > 0).mean() == pytest.approx(1 / 3, abs=0.01)
    h7, h11, h15 = (np.maximum(6.0 - np.abs(np.arange(1, 22) - peak), 0.0) for peak in (7, 11, 15))
    np.testing.assert_allclose(data.X[data.y > 0].mean(axis=0), (h7 + h11) / 2, atol=0.06)
    np.testing.assert_allclose(data.X[data.y < 0].mean(axis=0), (h7 + h11 + 2 * h15) / 4, atol=0.06)
    # A column's variance is that of u (h_a − h_b), one twelfth of the squared difference, plus the noise.
    np.testing.assert_allclose(data.X[data.y > 0].var(axis=0), (h7 - h11) ** 2 / 12 + 1.0, atol=0.08)


def benchmark(name: str) -> Dataset:
    path = data_files.named(name)
    assert path is not None
    return data_files.read(path)


def standardised(data: Dataset) -> Dataset:
    return Dataset(data.name, (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), data.y)


@needs_data
@pytest.mark.parametrize("name", GENERATORS)
def test_moments_agree_with_the_benchmark_file_class_by_class(name):
    # The waveform file holds standardised columns, so all are compared that way.
    theirs, ours = standardised(benchmark(name)), standardised(GENERATORS[name](40_000, rng()))
    assert (ours.y > 0).mean() == pytest.approx((theirs.y > 0).mean(), abs=0.02)
    for sign in (1.0, -1.0):
        mine, yours = ours.X[ours.y == sign], theirs.X[theirs.y == sign]
        np.testing.assert_allclose(mine.mean(axis=0), yours.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(np.cov(mine.T), np.cov(yours.T), atol=0.16)


@needs_data
@pytest.mark.parametrize("name", GENERATORS)
def test_a_model_of_generated_rows_works_on_the_benchmark_file_as_well_as_one_of_its_own_rows(name):
    train, test = split(scale(standardised(benchmark(name)), bias=True), 0.5, rng())
    ours = scale(standardised(GENERATORS[name](20_000, rng())), bias=True)
    assert error(fit(ours, 1e-5), test) == pytest.approx(error(fit(train, 1e-5), test), abs=0.02)
