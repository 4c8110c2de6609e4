"""The random vectors, numbers and labels that hide a row.

Every draw takes the generator of its own stream; nothing here keeps state. Noise is drawn in float64: the guarantees
are those of the real-valued distributions, and the discreteness of floating point is not accounted for.
"""

from __future__ import annotations

import math

import numpy as np

from simnet.vectors import Vector


def gaussian(rng: np.random.Generator, scale: float, dimension: int) -> Vector:
    """A vector from N(0, scale² I)."""
    return scale * rng.standard_normal(dimension)


def laplace(rng: np.random.Generator, scale: float) -> float:
    """A number with density exp(−|z|/scale) / (2 scale)."""
    return float(rng.laplace(0.0, scale))


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


def flip_labels(rng: np.random.Generator, labels: Vector, epsilon: float) -> Vector:
    """Randomised response: each label ±1 keeps its sign with probability e^ε/(1+e^ε), else changes it.

    This is PDML's mechanism (equations 12 and 13): +1 and −1 with probability p = 1/(1+e^ε) each, else the true label;
    a label is then wrong with probability p, and the report is ε-locally private.
    """
    wrong = rng.random(labels.shape[0]) < flip_probability(epsilon)
    return np.where(wrong, -labels, labels)


def flip_probability(epsilon: float) -> float:
    """The probability 1/(1+e^ε) that randomised response reports the wrong label."""
    return 0.5 * (1.0 - math.tanh(0.5 * epsilon))


def _directed(rng: np.random.Generator, norm: float, dimension: int) -> Vector:
    direction = rng.standard_normal(dimension)
    return direction * (norm / float(np.linalg.norm(direction)))
