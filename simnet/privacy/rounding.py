"""What rounding does to a certified gradient, and how large a neighbour's values may be so that it does no harm.

An agent publishes a point where the gradient of its local problem, *in real numbers*, has norm at most β. What it
computes is a norm in float64. Let u = 2⁻⁵³, p features, m rows of norm at most 1, C, L, c1 and μ as in `LocalProblem`,
ν the computed norm at θ, ℓ the linear term and b the noise. In any order of summation, with or without fused
operations,

    |∇J(θ)| <= ν (1 + γ_{p+2}) + ρ,    ρ = 1.01 u [(3μ + C c1 p)|θ| + C L (m + 12) + 2β + 2⁹ N]

This is theorem 7 of docs/proofs.md; ours, not peer reviewed. b itself is a float64 within 2⁻⁴⁴ N of a draw from the
distribution that the theorems are about; |b| <= N.

The shares of β: a solver stops at ν <= `SOLVED` β, ρ may have `ROUNDING` β, and the rounding of a test's query has
`QUERY` β of what its sensitivity allows for β. They add up to less than β, so β is what is charged, and every theorem
holds as it stands. Since μ|θ| <= |ℓ| + N + CL + β, ρ is small enough wherever |ℓ| is at most a number B that is known
before anything runs: the domain. Outside it an agent does not solve.
"""

from __future__ import annotations

import math

from simnet.errors import BudgetError
from simnet.privacy.problem import LocalProblem

UNIT = 2.0**-53
SOLVED, ROUNDING, QUERY = 0.99, 0.005, 0.004
COUPLING = 2.0**-44
"""How far drawn noise is from a real-valued draw, relative to the bound on its norm."""
LEAST, ROOM = 100.0, 20.0
"""Up to where a gradient may be asked for at least; how many times as long as the noise a domain is at least."""
GRADIENT_SLACK = 2.0**-20
"""The share by which rounding may lengthen a noisy gradient's sensitivity beside the sum over its rows."""


def rounding_bound(problem: LocalProblem, length: float, tolerance: float, noise: float = 0.0) -> float:
    """ρ at a θ of norm `length`, where the noise in the objective has norm at most `noise`."""
    p = problem
    return 1.01 * UNIT * (_per_length(p) * length + _fixed(p, tolerance, noise))


def domain(problem: LocalProblem, tolerance: float, noise: float = 0.0, clip: float | None = None) -> float:
    """B: how long the linear term of a local problem may be; a BudgetError if no such length is worth having.

    `noise` bounds the norm of what is added to the linear term; `clip` is that of a test's query, if there is one.
    """
    p = problem
    room = ROUNDING * tolerance / (1.01 * UNIT) - _fixed(p, tolerance, noise)
    longest = room / _per_length(p)
    if clip is not None:
        longest = min(longest, _longest_query(p, tolerance, clip))
    bound = p.curvature * longest - p.weight * p.lipschitz - 2.0 * tolerance - noise
    least = max(p.linear, ROOM * noise)
    if not bound >= least:
        raise BudgetError(_complaint(p, tolerance, bound, least))
    return bound


def longest_point(rows: int, features: int, lipschitz: float, smoothness: float) -> float:
    """Where a gradient of the mean loss may be asked for: its rounding stays within `lengthened`.

    A gradient errs by u[c1 p|x| + L(m + 10)] (as above with C = 1), on either data set.
    """
    found = GRADIENT_SLACK * lipschitz / (1.01 * UNIT * rows * smoothness * features)
    if not found >= LEAST:
        raise BudgetError(
            f"a gradient of {rows} rows with {features} features can be asked for only up to a model of norm "
            f"{found:.2g}, or rounding would count: fewer rows or features would do"
        )
    return found


def lengthened(rows: int, gradient_bound: float) -> float:
    """A bound c on a row's gradient, with room for rounding: the computed means are at most 2c/m apart."""
    return gradient_bound * (1.0 + GRADIENT_SLACK + 2.0 * UNIT * rows * (rows + 10.0))


def _per_length(p: LocalProblem) -> float:
    return 3.0 * p.curvature + p.weight * p.smoothness * p.features


def _fixed(p: LocalProblem, tolerance: float, noise: float) -> float:
    return p.weight * p.lipschitz * (p.rows + 12.0) + 2.0 * tolerance + COUPLING / UNIT * noise


def _longest_query(p: LocalProblem, tolerance: float, clip: float) -> float:
    """|θ| up to which a computed query's rounding, on both data sets, is within `QUERY` β of its sensitivity.

    A mean of clipped losses errs by u[L p|θ| + (m + 6) clip], at the tested model and at the public one. (Whether
    sparse or dense arithmetic computes it depends on all rows, so even the rows that both data sets share may err
    differently.) The sensitivity contains (1 − 1/m) L 2β/μ, of which the certificate leaves 2 `QUERY` β.
    """
    room = (1.0 - 1.0 / p.rows) * p.lipschitz * QUERY * tolerance / (1.01 * UNIT * p.curvature)
    return (room - 2.0 * (p.rows + 6.0) * clip) / (2.0 * p.lipschitz * p.features)


def _complaint(p: LocalProblem, tolerance: float, bound: float, least: float) -> str:
    """Which of rows, features and tolerance leaves no room."""
    given, size = ROUNDING * tolerance / (1.01 * UNIT), p.weight * p.lipschitz
    if tolerance < 0.99e-3 * size / p.rows:
        part = "it is too small"
    elif size * (p.rows + 12.0) > given / 2.0:
        part = f"{p.rows} rows are too many"
    else:
        part = f"{p.features} features are too many"
    return (
        f"rounding would count beside the tolerance β = {tolerance:.2g}: {part} for its certificate to hold whatever "
        f"neighbours send (the linear term could be at most {max(bound, 0.0):.2g} long, and {least:.3g} is the least); "
        "a larger algorithm.tolerance would do"
    )


def certified(tolerance: float, domain: float) -> float:
    """Where a solver stops so that β is kept with all rounding; without a domain nothing is promised, and it is β."""
    return SOLVED * tolerance if math.isfinite(domain) else tolerance
