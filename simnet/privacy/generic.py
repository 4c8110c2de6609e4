"""What the mechanisms do that any method may use: nothing here knows a loss, a graph or a paper."""

from __future__ import annotations

import math

from simnet.privacy.claims import Parameters
from simnet.privacy.steps import (
    GaussianStep,
    KnownStep,
    LaplaceStep,
    NakedStep,
    PureStep,
    SampledGaussianStep,
    Step,
    ZcdpStep,
)

ORDER = "order-"
"""How the name of a parameter begins that says what a Rényi curve is at an order, as in order-2.5."""


def gaussian(p: Parameters) -> tuple[Step, ...]:
    """Noise N(0, σ² I) on a vector that moves by at most `sensitivity` (Euclidean) when a row is replaced."""
    return (GaussianStep(p["sensitivity"], p["sigma"]),)


def laplace(p: Parameters) -> tuple[Step, ...]:
    """Laplace noise on a vector whose numbers move by at most `sensitivity` in all (L1) when a row is replaced."""
    return (LaplaceStep(p["sensitivity"], p["scale"]),) if p["scale"] else (NakedStep(),)


def pure(p: Parameters) -> tuple[Step, ...]:
    return (PureStep(p["epsilon"]),)


def zcdp(p: Parameters) -> tuple[Step, ...]:
    return (ZcdpStep(p["rho"]),)


def renyi(p: Parameters) -> tuple[Step, ...]:
    known = {order_of(key): value for key, value in p.items() if key.startswith(ORDER)}
    return (KnownStep(known),) if known else (NakedStep(),)


def subsampled_gaussian(p: Parameters) -> tuple[Step, ...]:
    """Noise N(0, σ² I) on a sum of row vectors over a Poisson sample of `rate` q that nobody sees.

    `sensitivity` is c, the norm that the vector of one row has at most in this sum: replacing a row that is in the
    sample moves the sum by up to 2c. The sum may be divided by a public number, as c and σ are; not by the size of the
    sample. docs/proofs.md, theorem 12.
    """
    if p["sigma"] == 0.0:
        return (NakedStep(),)
    if p["rate"] == 1.0:
        return (GaussianStep(2.0 * p["sensitivity"], p["sigma"]),)
    return (SampledGaussianStep(p["rate"], p["sensitivity"] / p["sigma"]),)


def threshold_test(p: Parameters) -> tuple[Step, ...]:
    """The sparse vector technique with its threshold drawn once, for queries of any kind that move by `sensitivity`."""
    if p["threshold_scale"] == 0.0 or p["query_scale"] == 0.0:
        return (NakedStep(),)
    return (PureStep(p["sensitivity"] / p["threshold_scale"] + 2.0 * p["cap"] * p["sensitivity"] / p["query_scale"]),)


def order_of(key: str) -> float:
    """The number that ends the name of a parameter, as in order-2.5; 0 if none does."""
    try:
        found = float(key.rpartition("-")[2])
    except ValueError:
        return 0.0
    return found if math.isfinite(found) else 0.0
