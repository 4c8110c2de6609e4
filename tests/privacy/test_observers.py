"""ε per observer: the theorem against plain linear algebra, a published formula, and an attacker who does his best."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simnet.privacy.observers import InitialNoise, best_test, epsilon_of_shift, exposures, summed_exposures

WHOLE = st.integers(-3, 3)


def laplacian(agents: int, pairs) -> np.ndarray:
    found = np.zeros((agents, agents))
    for a, b in pairs:
        found[a, a] += 1
        found[b, b] += 1
        found[a, b] -= 1
        found[b, a] -= 1
    return found


def plainly(rows, noise: InitialNoise, observers) -> dict[int, float]:
    """The same in floating point, by a pseudoinverse: right only where nothing is nearly dependent."""
    hidden = [agent for agent in range(noise.agents) if agent not in observers]
    inside = [pair for pair in noise.pairs if set(pair) <= set(hidden)]
    spread = np.diag([float(each) for each in noise.variances]) + float(noise.pair_variance) * laplacian(
        noise.agents, inside
    )
    whole = np.array(rows, dtype=float)
    R, Q = whole[:, hidden], whole[:, noise.agents :]
    C = R @ spread[np.ix_(hidden, hidden)] @ R.T + float(noise.relay_variance) * Q @ Q.T
    inverse = np.linalg.pinv(C, rcond=1e-10)
    return {agent: float(R[:, at] @ inverse @ R[:, at]) for at, agent in enumerate(hidden)}


@settings(deadline=None, max_examples=60)
@given(data=st.data(), agents=st.integers(2, 5), relays=st.integers(0, 3), observers=st.integers(0, 2))
def test_it_agrees_with_a_pseudoinverse_where_numbers_are_tame(data, agents, relays, observers):
    rows = data.draw(
        st.lists(st.lists(WHOLE, min_size=agents + relays, max_size=agents + relays), min_size=1, max_size=6)
    )
    pairs = data.draw(st.sets(st.tuples(st.integers(0, agents - 1), st.integers(0, agents - 1))))
    variances = data.draw(st.lists(st.fractions(Fraction(1, 4), 4), min_size=agents, max_size=agents))
    noise = InitialNoise(variances, Fraction(2), [(a, b) for a, b in pairs if a < b], Fraction(1, 2))
    group = list(range(min(observers, agents - 1)))
    exact, near = exposures(rows, noise, group), plainly(rows, noise, group)
    assert exact.keys() == near.keys()
    for agent, value in exact.items():
        assert float(value) == pytest.approx(near[agent], rel=1e-6, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), agents=st.integers(3, 5))
def test_who_sees_more_or_has_more_friends_learns_no_less(data, agents):
    rows = data.draw(st.lists(st.lists(WHOLE, min_size=agents, max_size=agents), min_size=2, max_size=6))
    pairs = [(a, b) for a in range(agents) for b in range(a + 1, agents)]
    noise = InitialNoise([Fraction(1)] * agents, Fraction(3), pairs)
    few, many, joined = exposures(rows[:1], noise, [0]), exposures(rows, noise, [0]), exposures(rows, noise, [0, 1])
    for agent in many:
        assert few[agent] <= many[agent] <= Fraction(1)
        if agent in joined:
            assert many[agent] <= joined[agent]


@pytest.mark.parametrize(("sigma", "pair_sigma"), [(1.0, 2.0), (0.5, 5.0), (2.0, 0.1)])
def test_it_is_the_formula_of_decor_where_all_first_messages_are_seen(sigma, pair_sigma):
    """Allouah et al., "The privacy power of correlated noise in decentralized learning", 2024: an observer of all noisy
    values with covariance Σ has μ² = Δ² (Σ⁻¹)_ii, Σ = σ² I + σ_c² Laplacian, secrets shared with it taken out."""
    agents = 8
    pairs = [(a, (a + step) % agents) for a in range(agents) for step in (1, 2)]
    noise = InitialNoise([Fraction(sigma) ** 2] * agents, Fraction(pair_sigma) ** 2, pairs)
    rows = np.eye(agents, dtype=int).tolist()
    for group in ([], [0], [0, 3]):
        hidden = [agent for agent in range(agents) if agent not in group]
        inside = laplacian(agents, [pair for pair in pairs if set(pair) <= set(hidden)])[np.ix_(hidden, hidden)]
        formula = np.linalg.inv(sigma**2 * np.eye(len(hidden)) + pair_sigma**2 * inside)
        found = exposures(rows, noise, group)
        for at, agent in enumerate(hidden):
            assert float(found[agent]) == pytest.approx(formula[at, at], rel=1e-9)


def ring_rows(agents: int, rounds: int, observer: int) -> list[list[int]]:
    """What an agent of a ring hears of its neighbours, W = (I + left + right)/3, each row times a power of three."""
    W = np.zeros((agents, agents), dtype=object)
    for agent in range(agents):
        for step in (-1, 0, 1):
            W[agent, (agent + step) % agents] = 1
    Y, seen = np.array(np.eye(agents, dtype=int), dtype=object), []
    for _ in range(rounds):
        seen += [Y[(observer - 1) % agents].tolist(), Y[(observer + 1) % agents].tolist()]
        Y = W.dot(Y)
    return seen


def test_the_rank_of_floating_point_is_no_proof():
    """Coefficients fall with every round; a float64 rank loses directions, and with them privacy loss."""
    agents, rounds = 60, 30
    rows = ring_rows(agents, rounds, 0)
    noise = InitialNoise([Fraction(1)] * agents)
    exact = exposures(rows, noise, [0])
    scaled = [[value / 3.0 ** (at // 2) for value in row] for at, row in enumerate(rows)]
    assert np.linalg.matrix_rank(np.array(scaled, dtype=float)[:, 1:]) < 59
    near = plainly(scaled, noise, [0])
    assert exact[agents // 2] > Fraction(1, 2)
    assert near[agents // 2] < 0.5 * float(exact[agents // 2])


def test_a_sum_over_rounds_underestimates():
    """The formula of Muffliato's code adds |row_i|²/|row|² per message: on a ring it claims a third of what is true."""
    rows = ring_rows(12, 2, 0)
    true = exposures(rows, InitialNoise([Fraction(1)] * 12), [0])[2]
    summed = sum(row[2] ** 2 / sum(value**2 for value in row) for row in rows)
    assert true == 1
    assert summed == pytest.approx(1 / 3)
    assert summed_exposures(rows, InitialNoise([Fraction(1)] * 12), [0])[2] == Fraction(1, 3)


def test_the_sum_counts_all_noise_of_a_message():
    noise = InitialNoise([Fraction(1), Fraction(4), Fraction(9)], Fraction(2), [(0, 1)], Fraction(5))
    # The variance of 2 y1 + 3 y2 + ρ: 4 (4 + 2) + 9 · 9 + 5.
    assert summed_exposures([[0, 2, 3, 1]], noise, [0]) == {1: Fraction(4, 110), 2: Fraction(9, 110)}


@settings(deadline=None, max_examples=40)
@given(data=st.data(), agents=st.integers(3, 5), relays=st.integers(0, 2))
def test_the_weights_of_the_best_test_attain_the_exposure(data, agents, relays):
    rows = data.draw(
        st.lists(st.lists(WHOLE, min_size=agents + relays, max_size=agents + relays), min_size=1, max_size=5)
    )
    pairs = [(a, (a + 1) % agents) for a in range(agents)]
    noise = InitialNoise([Fraction(1, 2)] * agents, Fraction(2), pairs, Fraction(1, 3))
    whole = [[Fraction(value, 3) for value in row] for row in rows]
    for agent, exposure in exposures(rows, noise, [0]).items():
        weights = best_test(whole, noise, [0], agent, Fraction(1, 2**80))
        attained = sum(weight * float(row[agent]) for weight, row in zip(weights, whole, strict=True))
        assert attained == pytest.approx(float(exposure), abs=1e-9)


def test_weights_that_know_of_rounding_work_on_messages_in_floating_point():
    """60 agents and 30 rounds: some rows are dependent to 15 digits. The test does as well as it says."""
    agents, rounds, runs, victim = 60, 30, 2000, 8
    rows = ring_rows(agents, rounds, 0)
    noise = InitialNoise([Fraction(1)] * agents)
    scaled = [[Fraction(value, 3 ** (at // 2)) for value in row] for at, row in enumerate(rows)]
    weights = np.array(best_test(scaled, noise, [0], victim, Fraction(1, 2**88)))
    promised = float(weights @ np.array([float(row[victim]) for row in scaled]))
    model = np.random.default_rng(7).standard_normal((agents, runs))
    model[0], seen = 0.0, []  # the observer knows its own
    for _ in range(rounds):
        seen += [model[-1], model[1]]
        model = (np.roll(model, 1, axis=0) + model + np.roll(model, -1, axis=0)) / 3
    scores = weights @ np.array(seen)
    assert 0.5 < promised <= float(exposures(rows, noise, [0])[victim]) * (1 + 1e-12)  # a sum in float64
    assert scores.var() == pytest.approx(promised, rel=0.15)


def test_the_best_attacker_stays_just_below_it():
    """A protocol of five agents, the observer's best linear test on 200,000 runs: within 1 % of μ, and below ε."""
    rng = np.random.default_rng(3)
    rows = np.array(ring_rows(5, 3, 0))
    pairs = [(a, (a + 1) % 5) for a in range(5)]
    noise = InitialNoise([Fraction(1)] * 5, Fraction(4), pairs)
    mu = math.sqrt(exposures(rows.tolist(), noise, [0])[2])
    inside = laplacian(5, [pair for pair in pairs if 0 not in pair])[1:, 1:]
    spread = np.linalg.cholesky(np.eye(4) + 4.0 * inside)
    R = rows[:, 1:].astype(float)
    best = np.linalg.pinv(R @ (spread @ spread.T) @ R.T, rcond=1e-12) @ R[:, 1]
    runs = 200_000
    scores = [
        (spread @ rng.standard_normal((4, runs)) + shift * np.eye(4)[:, [1]]).T @ (R.T @ best) for shift in (0, 1)
    ]
    separation = (scores[1].mean() - scores[0].mean()) / scores[0].std()
    assert separation == pytest.approx(mu, rel=0.01)
    delta, half = 1e-2, runs // 2
    epsilon = epsilon_of_shift(mu, delta)
    cut = np.quantile(scores[1][:half], 1 - 0.05)
    hits = [int(np.sum(each[half:] > cut)) for each in scores]
    low = stats.beta.ppf(0.025, hits[1], half - hits[1] + 1)
    high = stats.beta.ppf(0.975, hits[0] + 1, half - hits[0])
    assert math.log((low - delta) / high) < epsilon


@settings(deadline=None)
@given(mu=st.floats(1e-3, 20.0), delta=st.floats(1e-9, 0.2))
def test_epsilon_of_a_shift_is_the_least_that_covers_it(mu, delta):
    def profile(epsilon: float) -> float:
        return float(
            stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu))
        )

    epsilon = epsilon_of_shift(mu, delta)
    assert profile(epsilon) <= delta * (1 + 1e-6) + 1e-15
    if epsilon > 1e-6:
        assert profile(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-4) - 1e-14


def test_nothing_seen_is_nothing_learned():
    assert exposures([], InitialNoise([Fraction(1)] * 3), [0]) == {1: 0, 2: 0}
    assert epsilon_of_shift(0.0, 1e-5) == 0.0
