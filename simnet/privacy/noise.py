"""The random vectors, numbers and labels that hide a row.

Every draw takes the generator of its own stream; nothing here keeps state. Noise is drawn in float64, and the
guarantees are those of real-valued distributions. What lies between them is accounted for: noise in an objective by the
certificate (`simnet.privacy.rounding`), noise on what is released by a grid that hides the low bits (`gridded`).
"""

from __future__ import annotations

import math

import numpy as np

from simnet.vectors import Vector

TAU = 2.0**-47
"""How far a standard normal in float64 is from a real-valued draw; `simnet.privacy.secret_noise` has the proof."""
_SHOWS = 2.0 * 1.1 * 128.0 * 1.2 * TAU
"""Two edges of a cell, each moved by 1.2 τ (which has room for the product with the scale), relative to its mass: cells
are wider than a 128th of the scale, and the density changes by less than a tenth within one."""


def gaussian(rng: np.random.Generator, scale: float, dimension: int) -> Vector:
    """A vector from N(0, scale² I)."""
    return scale * rng.standard_normal(dimension)


def gaussian_length(scale: float, dimension: int) -> float:
    """What |n| exceeds with probability at most e^−40 (concentration of a 1-Lipschitz function, 9²/2 > 40)."""
    return scale * (math.sqrt(dimension) + 9.0)


def gamma_length(rate: float, dimension: int) -> float:
    """The same for `gamma_type`: P(|n|·rate > d + √(2dx) + x) <= e^−x, x = 40.5 (Boucheron and others, 2.4)."""
    return (dimension + 9.0 * math.sqrt(dimension) + 40.5) / rate


def grid(scale: float) -> float:
    """The public grid of noise N(0, scale²): the largest power of 2 that is at most scale/64; 0 without noise."""
    return math.ldexp(1.0, math.frexp(scale)[1] - 7) if scale > 0.0 else 0.0


def gridded(value: Vector, scale: float) -> Vector:
    """The nearest point of the grid of the noise that is on a value.

    A sum in float64 is a function of the sum of its terms, so this is a monotone step function of value + noise, the
    same on all data sets. Noise within τ of a real-valued draw makes a point hardly more or less likely
    (`grid_price`). Nothing below the grid is left, nor the sign of a zero.
    """
    step = grid(scale)
    if not step:
        return value
    found: Vector = np.rint(value / step)
    found *= step
    found += 0.0
    return found


def grid_price(releases: int, features: int, epsilon: float, delta: float) -> tuple[float, float]:
    """What so many gridded releases with float64 noise add to ε and to δ (docs/proofs.md, theorem 8).

    A grid point is at most e^±`_SHOWS` times as likely as with real-valued noise, per coordinate, but for points so far
    out that together they have a probability of 2⁻⁵¹.
    """
    numbers = releases * features
    more = numbers * _SHOWS
    far = numbers * 2.0**-51 * (1.0 + math.exp(min(epsilon + 2.0 * more, 700.0)))
    return 2.0 * more, delta * math.expm1(more) + far


def gamma_spread(rate: float, dimension: int) -> float:
    """The standard deviation of each coordinate of `gamma_type`."""
    return math.sqrt(dimension + 1.0) / rate


def laplace(rng: np.random.Generator, scale: float) -> float:
    """A number with density exp(−|z|/scale) / (2 scale)."""
    return float(rng.laplace(0.0, scale))


def laplace_vector(rng: np.random.Generator, scale: float, dimension: int) -> Vector:
    """A vector of independent such numbers."""
    return np.array([laplace(rng, scale) for _ in range(dimension)])


def gamma_type(rng: np.random.Generator, rate: float, dimension: int) -> Vector:
    """A vector n with density proportional to exp(−rate·|n|).

    In polar coordinates that density is r^(d−1) exp(−rate·r), so the norm is Gamma(d, 1/rate) and the direction is
    uniform (M-ADMM, section 4; R-ADMM, section IV).
    """
    return _directed(rng, float(rng.gamma(dimension, 1.0 / rate)), dimension)


def in_ball(rng: np.random.Generator, radius: float, dimension: int) -> Vector:
    """A vector uniform in the ball of that radius: PDML's bounded objective noise, |η_i| <= R (equation 14).

    The paper allows any bounded distribution; the uniform one is the least committed of them.
    """
    return _directed(rng, radius * float(rng.random()) ** (1.0 / dimension), dimension)


def flip_labels(rng: np.random.Generator, labels: Vector, epsilon: float | Vector) -> Vector:
    """Randomised response: each label ±1 keeps its sign with probability e^ε/(1+e^ε), else changes it.

    `epsilon` is that of all labels, or each one's own.

    This is PDML's mechanism (equations 12 and 13): +1 and −1 with probability p = 1/(1+e^ε) each, else the true label;
    a label is then wrong with probability p, and the report is ε-locally private.
    """
    chosen, place = np.unique(epsilon, return_inverse=True)
    chances = np.array([flip_probability(float(each)) for each in chosen])
    wrong = rng.random(labels.shape[0]) < chances[place]
    return np.where(wrong, -labels, labels)


def flip_probability(epsilon: float) -> float:
    """The probability 1/(1+e^ε) that randomised response reports the wrong label."""
    return 0.5 * (1.0 - math.tanh(0.5 * epsilon))


def _directed(rng: np.random.Generator, norm: float, dimension: int) -> Vector:
    direction = rng.standard_normal(dimension)
    return direction * (norm / float(np.linalg.norm(direction)))
