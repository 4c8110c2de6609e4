"""Rounding is measured against fifty digits, and the bounds are written out a second time in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.learning.dataset import bound_rows
from simnet.learning.objective import LOGISTIC, SMOOTHED_HINGE, LocalObjective, unbiased
from simnet.learning.solver import Solver
from simnet.privacy.noise import gamma_length, gamma_type, gaussian, gaussian_length, grid, grid_price, gridded
from simnet.privacy.problem import LocalProblem
from simnet.privacy.rounding import (
    SOLVED,
    certified,
    domain,
    lengthened,
    longest_point,
    rounding_bound,
)

LOSSES = {"logistic": LOGISTIC, "hinge": SMOOTHED_HINGE, "unbiased": unbiased(LOGISTIC, 0.7)}


def exact_slope(name: str, z: mpmath.mpf) -> mpmath.mpf:
    if name == "hinge":
        return -min(max(mpmath.mpf(1.5) - z, mpmath.mpf(0)), mpmath.mpf(1))
    slope = -1 / (1 + mpmath.exp(z))
    # The loss is that of the share as float64 has it: a public number.
    return slope - mpmath.mpf(1.0 / math.expm1(0.7)) if name == "unbiased" else slope


def exact_gradient(name, X, y, weight, curvature, theta, linear_terms) -> list[mpmath.mpf]:
    """(C/m) Σ l'(y x·θ) y x + μθ + Σ linear terms, in fifty digits."""
    real = [mpmath.mpf(float(t)) for t in theta]
    total = [curvature * t + sum(mpmath.mpf(float(term[j])) for term in linear_terms) for j, t in enumerate(real)]
    for row, label in zip(X, y, strict=True):
        z = float(label) * sum(mpmath.mpf(float(a)) * t for a, t in zip(row, real, strict=True))
        slope = exact_slope(name, z) * float(label) * mpmath.mpf(weight) / len(y)
        for j, a in enumerate(row):
            if a:
                total[j] += slope * mpmath.mpf(float(a))
    return total


def length(vector) -> mpmath.mpf:
    return mpmath.sqrt(sum(each * each for each in vector))


def data(rng, rows: int, features: int, sparse: bool):
    X = rng.standard_normal((rows, features))
    if sparse:
        X *= rng.random((rows, features)) < 0.3
    X = bound_rows(X * rng.choice([0.3, 1.0, 50.0]))
    return X, rng.choice([-1.0, 1.0], rows)


cases = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(LOSSES)),
    st.sampled_from([1, 3, 40]),
    st.integers(1, 9),
    st.floats(-3.0, 14.0),
    st.booleans(),
    st.booleans(),
)


@given(cases)
@settings(deadline=None, max_examples=150)
def test_a_computed_gradient_errs_by_less_than_rho(case):
    """Any θ, up to lengths where nothing is left of the data; with `balanced` the linear term cancels all the rest."""
    seed, name, rows, features, size, sparse, balanced = case
    rng = np.random.default_rng(seed)
    X, y = data(rng, rows, features, sparse)
    weight, curvature = float(rng.choice([1.0, 3.0])), float(10.0 ** rng.uniform(-4, 1))
    loss = LOSSES[name]
    objective = LocalObjective(sp.csr_array(X) if sparse else X, y, loss, curvature, weight)
    theta = rng.standard_normal(features)
    theta *= 10.0**size / np.linalg.norm(theta)
    noise = rng.standard_normal(features)
    public = rng.standard_normal(features)
    if balanced:
        public = -(objective.loss_gradient(theta) + curvature * theta) - noise
    computed = curvature * theta
    computed += objective.loss_gradient(theta)
    computed += public + noise
    norm = math.sqrt(computed.dot(computed))
    problem = LocalProblem(rows, curvature, loss.lipschitz, loss.smoothness, weight, features=features)
    with mpmath.workdps(50):
        true = exact_gradient(name, X, y, weight, mpmath.mpf(curvature), theta, (public, noise))
        error = length([mpmath.mpf(float(a)) - b for a, b in zip(computed, true, strict=True)])
        allowed = rounding_bound(problem, float(np.linalg.norm(theta)), norm)
        assert error <= allowed
        assert length(true) <= norm * (1 + (features + 3) * 2.0**-53) + allowed


@given(st.integers(0, 2**32 - 1), st.floats(1.0, 45.0))
@settings(deadline=None, max_examples=300)
def test_a_slope_errs_by_less_than_eight_units(seed, size):
    z = np.random.default_rng(seed).uniform(-size, size, 20)
    for name, loss in LOSSES.items():
        with mpmath.workdps(40):
            for found, margin in zip(loss.slope(z.copy()), z, strict=True):
                assert abs(mpmath.mpf(float(found)) - exact_slope(name, mpmath.mpf(float(margin)))) <= (
                    8 * 2.0**-53 * loss.lipschitz
                )


def plain_domain(m, mu, L, c1, C, p, beta, N) -> Fraction:
    """|ℓ| <= B keeps |θ| so short that ρ <= 0.005 β: solved for B, in fractions."""
    m, mu, L, c1, C, p, beta, N = (Fraction(each) for each in (m, mu, L, c1, C, p, beta, N))
    u = Fraction(1, 2**53)
    longest = (Fraction(5, 1000) * beta / (Fraction(101, 100) * u) - C * L * (m + 12) - 2 * beta - 2**9 * N) / (
        3 * mu + C * c1 * p
    )
    return mu * longest - C * L - 2 * beta - N


@given(
    st.integers(2, 10**5),
    st.floats(1e-3, 10.0),
    st.integers(1, 2000),
    st.floats(1e-8, 1e-3),
    st.floats(0.0, 3.0),
    st.sampled_from([0.5, 1.0, 4.0]),
)
def test_the_domain_is_the_plain_formula_or_a_refusal(rows, curvature, features, tolerance, noise, weight):
    problem = LocalProblem(rows, curvature, weight=weight, features=features)
    plain = plain_domain(rows, curvature, 1.0, 0.25, weight, features, tolerance, noise)
    least = max(100.0, 20.0 * noise)
    if plain >= least:
        assert domain(problem, tolerance, noise) == pytest.approx(float(plain), rel=1e-9)
        longest = (float(plain) + noise + weight + tolerance) / curvature
        share = certified(tolerance, 1.0) + rounding_bound(problem, longest, tolerance, noise)
        assert share <= 0.996 * tolerance
    elif plain < 0.99 * least:
        with pytest.raises(BudgetError, match="rounding would count"):
            domain(problem, tolerance, noise)


def test_a_solve_at_the_very_edge_of_the_domain_is_certified_in_real_numbers():
    rng = np.random.default_rng(3)
    X, y = data(rng, 60, 5, sparse=False)
    problem = LocalProblem(60, 0.05, features=5)
    beta = 1e-6
    bound = domain(problem, beta, gaussian_length(0.1, 5))
    assert bound > 1e4
    solver = Solver(LocalObjective(X, y, LOGISTIC, 0.05))
    for _ in range(10):
        public = rng.standard_normal(5)
        public *= bound / np.linalg.norm(public)
        noise = gaussian(rng, 0.1, 5)
        theta = solver.solve(public + noise, 0.0, np.zeros(5), SOLVED * beta).theta
        with mpmath.workdps(50):
            true = exact_gradient("logistic", X, y, 1.0, mpmath.mpf(0.05), theta, (public, noise))
            assert length(true) <= beta


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 7.0), st.integers(2, 60))
@settings(deadline=None, max_examples=60)
def test_the_rounding_of_a_query_fits_into_what_its_sensitivity_has_left(seed, size, rows):
    """Clipped losses at a model as long as the domain lets it be; the sensitivity's own slack is 0.004 β each."""
    rng = np.random.default_rng(seed)
    X, y = data(rng, rows, 4, sparse=False)
    objective = LocalObjective(X, y, LOGISTIC, 0.1)
    theta = rng.standard_normal(4)
    theta *= 10.0**size / np.linalg.norm(theta)
    with mpmath.workdps(50):
        exact = mpmath.mpf(0)
        for row, label in zip(X, y, strict=True):
            z = float(label) * sum(mpmath.mpf(float(a)) * mpmath.mpf(float(t)) for a, t in zip(row, theta, strict=True))
            exact += min(mpmath.log1p(mpmath.exp(-z)), mpmath.mpf(2))
        error = abs(mpmath.mpf(objective.mean_loss(theta, 2.0)) - exact / rows)
        assert error <= 1.01 * 2.0**-53 * (4 * float(np.linalg.norm(theta)) + (rows + 6) * 2.0)


def test_a_test_narrows_the_domain_where_its_query_is_the_finer_thing():
    """A strong curvature lets the certificate stand long after the query is spoilt."""
    stiff = LocalProblem(1000, 50.0, features=100)
    assert domain(stiff, 1e-6, clip=2.0) < domain(stiff, 1e-6)
    with pytest.raises(BudgetError, match="rounding would count"):
        domain(LocalProblem(1, 0.1, features=3), 1e-3, clip=2.0)


@pytest.mark.parametrize(
    ("problem", "tolerance", "part"),
    [
        (LocalProblem(10**6, 0.05, features=50), 1e-9, "1000000 rows are too many"),
        (LocalProblem(100, 0.01, features=10**6), 1e-5, "1000000 features are too many"),
        (LocalProblem(10, 0.05, features=3), 1e-13, "it is too small"),
    ],
)
def test_a_plan_without_a_domain_is_refused_in_one_sentence(problem, tolerance, part):
    with pytest.raises(BudgetError, match=part) as refused:
        domain(problem, tolerance)
    assert "a larger algorithm.tolerance would do" in str(refused.value)


@given(st.integers(0, 2**32 - 1), st.integers(2, 50), st.integers(1, 8), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=60)
def test_computed_mean_gradients_of_neighbouring_data_are_no_farther_apart_than_is_charged(seed, rows, features, share):
    """The worst row: a unit row whose slope goes from −1 to 1 as its label changes, at a point as far as it may be."""
    rng = np.random.default_rng(seed)
    X, y = data(rng, rows, features, sparse=False)
    X[0] = bound_rows(rng.standard_normal((1, features)) * 100)
    reach = longest_point(rows, features, 1.0, 0.25)
    point = X[0] / np.linalg.norm(X[0]) * reach * share
    other = y.copy()
    other[0] = -y[0]
    one, two = (LocalObjective(X, labels, LOGISTIC, 0.0).loss_gradient(point) for labels in (y, other))
    with mpmath.workdps(50):
        apart = length([mpmath.mpf(float(a)) - mpmath.mpf(float(b)) for a, b in zip(one, two, strict=True)])
        assert apart <= mpmath.mpf(2 * lengthened(rows, 1.0)) / rows


def test_a_gradient_of_too_many_rows_and_features_is_refused():
    assert longest_point(7000, 105, 1.0, 0.25) == pytest.approx(4.63e4, rel=0.01)
    with pytest.raises(BudgetError, match="fewer rows or features"):
        longest_point(10**7, 10**4, 1.0, 0.25)


def test_noise_stays_within_the_length_that_plans_count_with():
    rng = np.random.default_rng(1)
    for features in (1, 10, 200):
        longest = max(float(np.linalg.norm(gaussian(rng, 0.3, features))) for _ in range(2000))
        assert longest < gaussian_length(0.3, features) < longest + 0.3 * 9
        assert max(float(np.linalg.norm(gamma_type(rng, 4.0, features))) for _ in range(2000)) < gamma_length(
            4.0, features
        )


@given(st.floats(1e-9, 1e6), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_the_grid_is_a_power_of_two_between_a_128th_and_a_64th_of_the_noise(sigma, values):
    step = grid(sigma)
    assert sigma / 128 < step <= sigma / 64
    assert math.frexp(step)[0] == 0.5
    found = gridded(np.array(values), sigma)
    for value, point in zip(values, found.tolist(), strict=True):
        assert Fraction(point) / Fraction(step) == round(Fraction(value) / Fraction(step))
    assert not np.signbit(found[found == 0.0]).any()
    assert gridded(np.array(values), 0.0).tolist() == values


@pytest.mark.parametrize("step", [1 / 64, 1.0001 / 128])
@pytest.mark.parametrize("offset", [0.0, 1 / 3])
def test_float64_noise_makes_a_grid_point_hardly_more_or_less_likely(step, offset):
    """Both edges of each cell moved by all that the noise may be off, in fifty digits."""
    off = mpmath.mpf(1.2) * mpmath.mpf(2) ** -47
    with mpmath.workdps(50):
        for cell in range(0, int(8.18 / step), 7):
            low, high = (cell + offset) * mpmath.mpf(step), (cell + offset + 1) * mpmath.mpf(step)
            mass, wide, narrow = (
                mpmath.ncdf(-low + each) - mpmath.ncdf(-high - each) for each in (mpmath.mpf(0), off, -off)
            )
            allowed = grid_price(1, 1, 0.0, 0.5)[0] / 2
            assert mpmath.log(wide / mass) <= allowed
            assert mpmath.log(mass / narrow) <= allowed
        assert 2 * mpmath.ncdf(-8.18) < 2.0**-51


def test_what_float64_adds_stays_small_beside_a_long_run_and_a_large_epsilon():
    """As a total variation it would come with a factor e^ε: 9 % of δ after 10⁴ rounds, more than δ at ε = 10."""
    for rounds, epsilon, most in ((30, 1.0, 1e-7), (10**4, 1.0, 1e-4), (30, 10.0, 1e-3)):
        more_epsilon, more_delta = grid_price(rounds, 105, epsilon, 1e-4)
        assert more_epsilon < most * epsilon
        assert more_delta < most * 1e-4
    assert grid_price(30, 105, 20.0, 1e-4)[1] > 1e-6
