"""The two bounds for Gaussian objective perturbation, against what really happens on small problems."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from simnet.privacy import curves
from simnet.streams import Streams
from simnet.vectors import Vector
from tests.privacy.truth import Case, RowLoss, random_case, renyi_by_quadrature

BOUNDS = [curves.objective, curves.objective_transport]


def orders_for(kappa: float, rng: np.random.Generator) -> list[float]:
    """Orders inside the transport bound's range, some near its end and some near the other bound's."""
    ends = [1.0 + 0.9 / kappa, 1.0 + 0.9 / (4.0 * kappa)]
    return sorted({min(end, 40.0) for end in ends} | {1.0 + min(0.9 / kappa, 30.0) * rng.random() for _ in range(2)})


def assert_bounded(case: Case, orders: list[float], truth: list[float]) -> None:
    for bound in BOUNDS:
        claimed = bound(np.array(orders), case.ratio, case.kappa)
        assert np.all(np.array(truth) <= claimed * (1.0 + 1e-9) + 1e-11), (bound.__name__, orders, truth, claimed)


def test_neither_bound_is_below_the_truth_in_a_thousand_random_one_dimensional_cases() -> None:
    rng = Streams(1).generator("cases")
    finite = 0
    for _ in range(1000):
        case = random_case(rng, 1, log_kappa=(-3.0, 0.5))
        orders = orders_for(case.kappa, rng)
        # The slope moves by 2d within noise of order d/κ, which may be narrow.
        truth = renyi_by_quadrature(case, orders, min(0.1, 0.1 * case.ratio / case.kappa))
        assert_bounded(case, orders, truth)
        finite += int(np.isfinite(curves.objective(np.array(orders), case.ratio, case.kappa)).sum())
    assert finite > 1000


def test_neither_bound_is_below_the_truth_in_random_two_dimensional_cases() -> None:
    rng = Streams(2).generator("cases")
    tried = 0
    while tried < 40:
        case = random_case(rng, 2, log_kappa=(-2.0, 0.3))
        # Narrower kinks than that would need finer grids than a test can afford.
        if case.ratio < 0.5 * case.kappa:
            continue
        orders = [a for a in orders_for(case.kappa, rng) if (a - 1.0) * case.ratio < 8.0] or [1.5]
        assert_bounded(case, orders, renyi_by_quadrature(case, orders, min(0.25, 0.2 * case.ratio / case.kappa)))
        tried += 1


def test_quadrature_and_monte_carlo_agree_in_two_dimensions() -> None:
    rng = Streams(3).generator("cases")
    case = random_case(rng, 2, log_kappa=(-1.0, -0.9))
    loss = case.log_ratio(case.sigma * rng.standard_normal((40_000, 2)))
    moments = np.exp(loss)
    estimate, error = moments.mean(), moments.std() / math.sqrt(len(moments))
    [exact] = renyi_by_quadrature(case, [2.0])
    assert abs(estimate - math.exp(exact)) < 5.0 * error


@pytest.mark.parametrize("dimension", [2, 5])
def test_monte_carlo_stays_below_the_bounds(dimension: int) -> None:
    rng = Streams(4).generator("cases", dimension)
    for _ in range(5):
        case = random_case(rng, dimension, log_kappa=(-1.5, -0.7))
        moments = np.exp(case.log_ratio(case.sigma * rng.standard_normal((20_000, dimension))))
        low = math.log(moments.mean() - 4.0 * moments.std() / math.sqrt(len(moments)))
        for bound in BOUNDS:
            assert low <= bound(np.array([2.0]), case.ratio, case.kappa)[0]


def test_the_reference_density_is_that_of_the_solver() -> None:
    """The change of variables, step (i) of both proofs: θ̃ has the distribution function Φ(∇J(θ)/σ) in one dimension."""
    rng = Streams(5).generator("cases")
    case = random_case(rng, 1, log_kappa=(-1.0, 0.0))
    theta = case.minimise(case.sigma * rng.standard_normal((4000, 1)))
    gradient, _ = case.derivatives(theta, case.row)
    assert stats.kstest(gradient[:, 0] / case.sigma, "norm").pvalue > 1e-3


def test_a_release_of_an_approximate_minimiser_costs_no_more_than_both_its_parts() -> None:
    """One dimension; the two solvers stop as far apart as their certificates allow, in either direction."""
    rng = Streams(7).generator("cases")
    b = np.linspace(-9.0, 9.0, 801)
    weights = stats.norm.pdf(b) * (b[1] - b[0])
    for _ in range(6):
        case = random_case(rng, 1, log_kappa=(-2.0, -0.5))
        beta = 0.2 * case.sigma
        sigma = 2.0 * beta / case.curvature / rng.uniform(0.2, 1.0)
        exact = [replace(case, row=row).minimise(case.sigma * b[:, None])[:, 0] for row in (case.row, case.other)]
        places = np.linspace(np.min(exact) - 9.0 * sigma, np.max(exact) + 9.0 * sigma, 1001)
        for aside in (beta / case.curvature, -beta / case.curvature):
            first, second = (
                stats.norm.pdf(places[:, None], theta + off, sigma) @ weights
                for theta, off in zip(exact, (aside, -aside), strict=True)
            )
            assert first.sum() * (places[1] - places[0]) == pytest.approx(1.0, abs=1e-6)
            for a in (1.5, 1.0 + min(0.2 / case.kappa, 5.0)):
                seen = (first > 1e-200) & (second > 1e-200)
                exponent = a * np.log(first[seen]) + (1.0 - a) * np.log(second[seen])
                truth = (logsumexp(exponent) + math.log(places[1] - places[0])) / (a - 1.0)
                parts = curves.gaussian(np.array([a]), 2.0 * beta / case.curvature, sigma)[0]
                for bound in BOUNDS:
                    assert truth <= bound(np.array([a]), case.ratio, case.kappa)[0] + parts + 1e-6


def test_the_transport_bound_is_nearly_attained() -> None:
    """Constant slopes of opposite sign make a plain Gaussian: d²a/2, and nothing beyond it for small κ."""
    up, down = (RowLoss("valley", np.array([1.0]), 1.0, 0.01, centre) for centre in (-3000.0, 3000.0))
    case = Case((), up, down, 1, 1.0, np.array([0.0]), 2.0, 1.0, 0.01)
    orders = [1.5, 4.0, 10.0]
    truth = np.array(renyi_by_quadrature(case, orders))
    assert truth == pytest.approx(0.5 * np.array(orders) * case.ratio**2, rel=1e-9)
    assert np.all(curves.objective_transport(np.array(orders), case.ratio, case.kappa) < truth * 1.001)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def divergence_of_a_map(a: float, knots: Vector, values: Vector) -> float:
    """D_a between N(0, 1) and the law of b where b + v(b) is N(0, 1), for v piecewise linear and bounded.

    The density ratio is exp(b v + v²/2)/(1 + v'), and v' is constant between knots.
    """
    half = 0.5 * np.diff(knots)[:, None]
    slopes = (np.diff(values) / np.diff(knots))[:, None]
    b = 0.5 * (knots[:-1] + knots[1:])[:, None] + half * NODES
    v = values[:-1, None] + slopes * (b - knots[:-1, None])
    exponent = -0.5 * b**2 + (a - 1.0) * (b * v + 0.5 * v**2 - np.log1p(slopes))
    return float(logsumexp(exponent, b=half * WEIGHTS) - 0.5 * math.log(2.0 * math.pi)) / (a - 1.0)


def test_no_admissible_map_of_the_noise_beats_the_transport_bound() -> None:
    """Any v with |v| <= d and slope in [−κ/(1+κ), κ], adversarial ones included, whether or not a loss makes it."""
    rng = Streams(6).generator("maps")
    closest = 0.0
    for trial in range(2000):
        kappa, d = 10.0 ** rng.uniform(-1.5, 0.0), 10.0 ** rng.uniform(-1.5, 0.3)
        a = 1.0 + rng.uniform(0.1, 0.95) / kappa
        reach = 10.0 + a * d
        knots = np.linspace(-reach, reach, 161)
        if trial % 2:
            # As steep as allowed through a point, then saturated: the worst shape.
            slope = kappa if rng.random() < 0.7 else -kappa / (1.0 + kappa)
            values = np.clip(slope * (knots - rng.uniform(-3.0, 3.0)), -d, d)
        else:
            slopes = rng.uniform(-kappa / (1.0 + kappa), kappa, 160)
            walk = np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])
            values = np.clip(walk - walk[80] + rng.uniform(-d, d), -d, d)
        truth = divergence_of_a_map(a, knots, values)
        bound = curves.objective_transport(np.array([a]), d, kappa)[0]
        assert truth <= bound * (1.0 + 1e-9), (a, d, kappa)
        closest = max(closest, truth / bound)
    assert closest > 0.8


def test_the_transport_bound_is_the_sharper_one_wherever_both_hold() -> None:
    orders = curves.ORDERS
    for kappa in (1e-6, 1e-3, 0.05, 0.5, 3.0):
        for ratio in (0.0, 1e-3, 0.1, 2.0):
            assert np.all(
                curves.objective_transport(orders, ratio, kappa) <= curves.objective(orders, ratio, kappa) + 1e-15
            )


def test_both_bounds_end_where_their_proofs_end() -> None:
    orders = np.array([1.0 + 0.249 / 0.1, 1.0 + 0.251 / 0.1, 1.0 + 0.999 / 0.1, 1.0 + 1.001 / 0.1])
    assert np.isfinite(curves.objective(orders, 0.5, 0.1)).tolist() == [True, False, False, False]
    assert np.isfinite(curves.objective_transport(orders, 0.5, 0.1)).tolist() == [True, True, True, False]


def test_without_curvature_from_a_row_both_bounds_are_the_gaussian_mechanism() -> None:
    plain = curves.gaussian(curves.ORDERS, 0.3, 1.0)
    for bound in BOUNDS:
        assert bound(curves.ORDERS, 0.3, 0.0) == pytest.approx(plain, rel=1e-12)
