"""Random rows.

Generated are a noisy linear problem, and Breiman's twonorm, ringnorm and waveform: L. Breiman, Bias, Variance, and
Arcing Classifiers, Technical Report 460, Statistics Department, University of California, Berkeley, 1996. Which class
is positive follows the files of Rätsch's benchmark. Each row draws its class, so the shares of the classes vary from
draw to draw. Features are unscaled: see `dataset.scale`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simnet.learning.dataset import Dataset

_NORM_FEATURES = 20
_NORM_MEAN = 2.0 / math.sqrt(_NORM_FEATURES)


def synthetic(rows: int, features: int, label_noise: float, rng: np.random.Generator) -> Dataset:
    """Gaussian features, labels sign(x·w + label_noise·n) with n ~ N(0, 1) and w uniform on the unit sphere.

    Because x·w ~ N(0, 1) whatever the number of features, w itself errs with probability arctan(label_noise)/π, and no
    classifier does better.
    """
    w = rng.standard_normal(features)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((rows, features))
    margin = X @ w + label_noise * rng.standard_normal(rows)
    return Dataset("synthetic", X, np.where(margin > 0.0, 1.0, -1.0))


def twonorm(rows: int, rng: np.random.Generator) -> Dataset:
    """N((a, …, a), I) against N((−a, …, −a), I) in 20 dimensions, a = 2/√20. The best error is Φ(−2) = 2.3 %."""
    y = _coin(rows, rng)
    X = rng.standard_normal((rows, _NORM_FEATURES)) + _NORM_MEAN * y[:, np.newaxis]
    return Dataset("twonorm", X, y)


def ringnorm(rows: int, rng: np.random.Generator) -> Dataset:
    """N((a, …, a), I), positive, within N(0, 4I), negative, in 20 dimensions, a = 2/√20: no plane separates them."""
    y = _coin(rows, rng)
    inner = y[:, np.newaxis] > 0.0
    noise = rng.standard_normal((rows, _NORM_FEATURES))
    return Dataset("ringnorm", np.where(inner, _NORM_MEAN + noise, 2.0 * noise), y)


def waveform(rows: int, rng: np.random.Generator) -> Dataset:
    """Mixtures of two of three triangular waves, sampled at 21 points with unit noise, as two classes.

    x_i = u h_a(i) + (1 − u) h_b(i) + n_i, u uniform on [0, 1]; h has height and half-width 6, its peak at 7, 11 or 15.
    The three pairs are equally likely. Positive is the pair with peaks at 7 and 11, a third of the rows; the other two
    pairs are negative. The benchmark's file holds standardised columns, this function Breiman's own.
    """
    points = np.arange(1, 22)
    waves = np.array([np.maximum(6.0 - np.abs(points - peak), 0.0) for peak in (7, 11, 15)])
    pairs = np.array([(0, 1), (1, 2), (0, 2)])
    drawn = rng.integers(len(pairs), size=rows)
    first, second = pairs[drawn].T
    u = rng.random((rows, 1))
    X = u * waves[first] + (1.0 - u) * waves[second] + rng.standard_normal((rows, len(points)))
    return Dataset("waveform", X, np.where(drawn == 0, 1.0, -1.0))


def _coin(rows: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return np.where(rng.random(rows) < 0.5, 1.0, -1.0)
