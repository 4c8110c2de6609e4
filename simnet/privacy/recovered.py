"""Noise that an auditor finds again in a release, once under each hypothesis about the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simnet.privacy.standard_noise import standard_gamma, standard_gaussian, standard_laplace
from simnet.vectors import Vector


@dataclass(frozen=True)
class Candidate:
    """The noise that one hypothesis finds in a release, and log density × Jacobian of it.

    A release is turned back into the noise that must have made it. The minimiser θ of f + ℓ·θ + (q/2)|θ|² + w n·θ
    determines n = −(∇f(θ) + ℓ + qθ)/w, once under each hypothesis about the data, since ℓ, q and w are public. The
    density of that candidate, with the Jacobian of the map, is the hypothesis's likelihood. A gradient or a minimiser
    that was sent with noise on top is simpler: each hypothesis computes it and subtracts.
    """

    noise: Vector
    log_likelihood: float
    standard: Vector | None = None
    """The noise as a vector that is N(0, I) if it is what was planned; None where none was."""
    slack: float = 0.0
    """By how much the norm of `standard` may be wrong: a solver's tolerance, a grid that releases lie on."""
    possible: bool = True
    """Whether some float64 noise leads to exactly these bits."""


GRID = 1.0 / 128
"""Half a step, in units of σ, of the coarsest grid that a release may be rounded to."""


def without_noise(residual: Vector) -> Candidate:
    """Where no noise is added: the gradient that should be zero, the smaller the likelier."""
    return Candidate(residual, -float(np.linalg.norm(residual)))


def added(noise: Vector, kind: str, scale: float, error: float = 0.0, *, possible: bool = True) -> Candidate:
    """Noise that was added to what was released, itself known up to an `error`."""
    density = log_density(noise, kind, scale)
    if scale == 0.0:
        return Candidate(noise, density, possible=possible)
    grid = GRID * math.sqrt(len(noise))
    if kind == "gaussian":
        return Candidate(noise, density, standard_gaussian(noise, scale), error / scale + grid, possible)
    if kind == "laplace":
        slack = STEEPEST * (error / scale + grid)
        return Candidate(noise, density, standard_laplace(noise, scale), slack, possible)
    return Candidate(noise, density, standard_gamma(noise, scale), STEEPEST * error * scale + grid, possible)


STEEPEST = 1.5
"""By how much the maps to standard noise lengthen a difference at most: √(π/2) for a Laplace number and for gamma-type
noise in one dimension, less in others."""


def reachable(base: Vector, released: Vector, scale: float) -> bool:
    """Whether for every entry there is a float64 x with base + scale x = released, exactly as float64 computes it.

    Where the noise is so much finer than the release that thousands of its values round to the same, there is.
    """
    near = released - base
    step = np.spacing(np.abs(near))
    found = 4.0 * step < np.spacing(np.abs(released))
    for shift in (0.0, 1.0, -1.0, 2.0, -2.0):
        noise = near + shift * step
        about = noise / scale
        drawn = [scale * x == noise for x in (about, np.nextafter(about, np.inf), np.nextafter(about, -np.inf))]
        found |= (base + noise == released) & np.logical_or.reduce(drawn)
    return bool(np.all(found))


def log_density(noise: Vector, kind: str, scale: float) -> float:
    """Up to a constant: N(0, scale² I), exp(−|n|₁/scale) or exp(−scale |n|); without noise the smaller the likelier."""
    if scale == 0.0:
        return -float(np.linalg.norm(noise))
    if kind == "gaussian":
        return -float(noise @ noise) / (2 * scale**2)
    if kind == "laplace":
        return -float(np.abs(noise).sum()) / scale
    return -scale * float(np.linalg.norm(noise))
