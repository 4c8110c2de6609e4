"""The papers' theorems in numbers, against plain linear algebra and against runs."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from simnet.methods.theorems import Samples, Utility, best_recycling, enough_gamma, rate, recycling_margins
from tests.methods import straight_line


def small_parts(agents: int, seed: int, scale: float = 1.0) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(agents):
        X = rng.standard_normal((60, 3))
        X *= scale / np.linalg.norm(X, axis=1, keepdims=True)
        found.append((X, np.sign(X @ [1.0, -1.0, 0.5] + 0.3 * scale * rng.standard_normal(60))))
    return found


def falls(graph, etas, step, regulariser, parts) -> list[float]:
    """By which factor |Z(t) − Z*|² in the norm of J(t) falls, round by round from the second on, for exact solves."""
    agents, rounds = len(parts), len(etas)
    adjacency = nx.to_numpy_array(graph, nodelist=range(agents))
    neighbours = [sorted(graph[agent]) for agent in range(agents)]
    quiet = np.zeros((rounds, agents, 3))
    noise = quiet, quiet, quiet[:, :, 0]
    models = straight_line.m_admm(parts, neighbours, rounds, etas, step, regulariser, *noise)
    best = straight_line.optimum(parts, regulariser)
    degrees = np.diag(adjacency.sum(0))
    values, vectors = np.linalg.eigh(degrees - adjacency)
    root = vectors @ np.diag([1 / math.sqrt(value) if value > 1e-9 else 0.0 for value in values]) @ vectors.T
    slopes = [straight_line.logistic(y * (X @ best))[0] * y for X, y in parts]
    gradients = [X.T @ slope / len(y) + regulariser * best for slope, (X, y) in zip(slopes, parts, strict=True)]
    duals = step / 2 * (degrees - adjacency) @ np.cumsum(models, axis=0)

    def distance(t: int, weights: np.ndarray) -> float:
        off, dual = models[t] - best, root @ (2 * duals[t] + np.array(gradients))
        return (dual * dual).sum() / step + np.trace(off.T @ np.diag(weights) @ (degrees + adjacency) @ off)

    return [distance(t - 1, etas[t]) / distance(t, etas[t]) for t in range(1, rounds)]


@pytest.mark.parametrize("growth", [1.0, 1.1])
@pytest.mark.parametrize("eta", [[0.1] * 4, [0.3] * 4, [0.6] * 4])
def test_m_admm_converges_at_least_at_its_rate_in_the_first_and_in_the_last_round(eta, growth):
    graph = nx.complete_graph(4)
    graph.remove_edge(0, 1)
    etas = np.array(eta) * growth ** np.arange(12)[:, None]
    seen = falls(graph, etas, 0.1, 0.3, small_parts(4, 4))
    promised = [rate(now, 0.1, nx.to_numpy_array(graph), 0.3, 0.55) for now in etas[1:]]
    assert min(promised) > 0
    for fall, delta in zip(seen, promised, strict=True):
        assert fall >= 1 + delta - 1e-9


def test_the_rate_as_printed_is_broken_by_a_run_at_constant_penalties():
    """(23) counts the least singular value that is not zero; the direction of consensus, where it is zero, is slow."""
    graph, etas = nx.complete_graph(4), np.full((30, 4), 0.5)
    seen = falls(graph, etas, 0.1, 1e-3, small_parts(4, 1))
    bounds = etas[0], 0.1, nx.to_numpy_array(graph), 1e-3, 0.251
    assert rate(*bounds, printed=True) == pytest.approx(0.085, rel=0.01)
    assert max(seen) < 1.03
    assert 0 < rate(*bounds) < min(seen) - 1


PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


def two_agents(etas, step, curvature, rounds: int = 10) -> tuple[list[float], list[float]]:
    """M-ADMM on ½ curvature (x ∓ 1)² at two agents: left sides of (19), and by what |Z − Z*|² falls, round by round."""
    weights, laplacian, signless = np.diag(etas), np.eye(2) - PAIR, np.eye(2) + PAIR
    root = laplacian / math.sqrt(2.0)  # its square is the Laplacian
    targets, x, dual = np.array([1.0, -1.0]), np.zeros(2), np.zeros(2)
    best = -curvature * targets  # the gradients at the optimum, 0
    slack = np.linalg.pinv(root) @ best  # Y − Y*
    left, sizes = [], []
    for _ in range(rounds):
        before, held = x, slack
        x = np.linalg.solve(
            curvature * np.eye(2) + 2 * weights, curvature * targets - 2 * dual + weights @ signless @ before
        )
        dual = dual + step / 2 * laplacian @ x
        slack = np.linalg.pinv(root) @ (2 * dual + best)
        left.append(slack @ (slack - held) / step + x @ weights @ signless @ (x - before))
        sizes.append(slack @ slack / step + x @ weights @ signless @ x)
    return left, [a / b for a, b in pairwise(sizes)]


def theorem_32(etas, step: float, bend: float) -> float:
    """The largest δ that (21) and (22) allow two agents with ½ bend x²; matrices stand for their quadratic forms."""
    weights, laplacian, signless = np.diag(etas), np.eye(2) - PAIR, np.eye(2) + PAIR
    apart = (weights - step * np.eye(2)) @ laplacian
    wide, bent = np.linalg.norm(weights @ signless, 2), np.linalg.norm(apart, 2)

    def allowed(mu: float) -> float:
        cost = (mu * bent**2 + mu**2 * bend**2) / (2 * step * (mu - 1)) * np.eye(2) + weights @ signless
        gain = 2 * apart + 2 * bend * np.eye(2)
        return min(2 * step / (mu**2 * wide), eigh(gain + gain.T, cost + cost.T, eigvals_only=True)[0])

    return max(map(allowed, 1 + np.geomspace(0.01, 10, 200)))


def test_what_theorems_3_1_and_3_2_say_of_a_round_is_broken_by_two_penalties_of_the_papers_own():
    """Erratum 17: W(t)(D + A) is not symmetric, and (W(t) − θI)(D − A) not positive, where η_i(t) differ."""
    left, _ = two_agents([0.55, 0.65], 0.5, 0.0005)
    assert max(left) > 0  # (19) says <= 0
    _, seen = two_agents([0.55, 0.6], 0.5, 0.025)
    assert min(seen) == pytest.approx(1.026, abs=5e-4)
    assert theorem_32([0.55, 0.6], 0.5, 0.025) > 0.035
    left, seen = two_agents([0.6, 0.6], 0.5, 0.025)  # one penalty for both: both hold
    assert max(left) < 0
    assert min(seen) > 1 + theorem_32([0.6, 0.6], 0.5, 0.025) > 1


def test_no_rate_is_promised_where_penalties_differ():
    own = [0.55, 0.6], 0.5, PAIR, 0.025, 0.025
    assert rate(*own) == 0.0 < rate(*own, printed=True)
    assert rate([0.6] * 2, *own[1:]) == pytest.approx(theorem_32([0.6] * 2, 0.5, 0.025), abs=1e-3)


def test_m_admm_converges_whatever_the_penalties_above_its_dual_step():
    """What is left of Theorem 3.1 there is not proven; random quadratic problems do not break it."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        agents = int(rng.integers(2, 7))
        graph = nx.random_labeled_tree(agents, seed=int(rng.integers(1e6)))
        graph.add_edges_from((i, j) for i in range(agents) for j in range(i) if rng.random() < 0.4)
        A = nx.to_numpy_array(graph, nodelist=range(agents))
        D, one = np.diag(A.sum(0)), np.eye(agents)
        weights = np.diag(1 + 10 ** rng.uniform(-4, 3, agents) * (rng.random(agents) < 0.7))
        bends = np.diag(10 ** rng.uniform(-3, 2, agents))
        solve = np.linalg.inv(bends + 2 * weights @ D)
        models = np.hstack([solve @ weights @ (D + A), -2 * solve])
        duals = np.hstack([0 * one, one]) + (D - A) @ models / 2
        assert largest(np.vstack([models, duals]), agents) < 1 + 1e-9


def largest(step: np.ndarray, agents: int) -> float:
    """The spectral radius of a linear round on models and duals, whose sum stays 0."""
    summing = np.linalg.svd(np.ones((1, agents)))[2][1:].T
    kept = np.block([[np.eye(agents), np.zeros((agents, agents - 1))], [np.zeros((agents, agents)), summing]])
    return float(np.abs(np.linalg.eigvals(kept.T @ step @ kept)).max())


def test_both_rates_are_the_same_where_the_penalty_is_the_dual_step():
    adjacency = nx.to_numpy_array(nx.cycle_graph(5))
    same = [0.2] * 5, 0.2, adjacency, 0.1, 0.35
    assert rate(*same) == pytest.approx(rate(*same, printed=True))


def test_r_admms_conditions_hold_for_a_large_gamma_unless_the_graph_is_bipartite():
    for graph, possible in ((nx.complete_graph(5), True), (nx.cycle_graph(6), False), (nx.star_graph(4), False)):
        adjacency = nx.to_numpy_array(graph)
        assert (min(recycling_margins(0.5, 1e6, adjacency, 0.25)) > 0) == possible
        assert min(recycling_margins(0.5, 0.0, adjacency, 0.25)) < 0
        assert (min(best_recycling(0.5, 1e6, adjacency, 0.25)[2:]) > 0) == possible
        assert (enough_gamma(0.5, adjacency, 0.25) is not None) == possible


@pytest.mark.parametrize(("weight", "mu"), [(2.0, 2.0), (0.5, 3.0)])
def test_r_admms_margins_are_those_of_the_quadratic_forms(weight, mu):
    graph = nx.complete_graph(4)
    graph.remove_edge(0, 1)
    A = nx.to_numpy_array(graph)
    eta, gamma, steep = 0.4, 3.0, 0.3
    D, one = np.diag(A.sum(0)), np.eye(4)
    held, bent = 2 * eta * D + gamma * one, steep**2 * one
    least, share = held.min(where=one > 0, initial=99.0), eta * (D + A) @ np.linalg.inv(held)
    first = one + share - weight * mu / (2 * least) / eta * bent @ np.linalg.pinv(D - A)
    second = eta * (D + A) - share @ (eta * (D - A)) - 2 / weight * share @ (eta * (D + A))
    second = second - weight * mu / (2 * least * (mu - 1)) * bent
    if weight == mu == 2.0:  # then they are (26) and (27)
        reduced = eta * (D + A) - 2 * share @ (eta * D) - 2 / least * bent
        np.testing.assert_allclose(second, reduced, atol=1e-12)
    found = recycling_margins(eta, gamma, A, steep, weight, mu)
    assert found == pytest.approx([np.linalg.eigvalsh((each + each.T) / 2).min() for each in (first, second)])


@settings(max_examples=25)
@given(st.floats(0.01, 2.0), st.floats(0.0, 50.0), st.sampled_from([0.05, 0.25, 1.0]), st.integers(3, 6))
def test_the_general_conditions_hold_wherever_the_special_ones_do(eta, gamma, steep, agents):
    adjacency = nx.to_numpy_array(nx.complete_graph(agents))
    if min(recycling_margins(eta, gamma, adjacency, steep)) > 0:
        assert min(best_recycling(eta, gamma, adjacency, steep)[2:]) > 0


def test_some_gamma_is_enough_for_other_l_and_mu_before_it_is_for_2_and_2():
    adjacency = nx.to_numpy_array(nx.complete_graph(5))
    enough = enough_gamma(0.1, adjacency, 0.26)
    assert min(recycling_margins(0.1, 0.9 * enough, adjacency, 0.26)) < 0
    assert min(best_recycling(0.1, 0.9 * enough, adjacency, 0.26)[2:]) > 0


def test_r_admm_converges_where_its_conditions_hold():
    graph, parts, regulariser = nx.complete_graph(4), small_parts(4, 3, scale=0.5), 0.02
    steep = 0.25 * 0.5**2 + regulariser
    gamma = 1.01 * enough_gamma(0.2, nx.to_numpy_array(graph), steep)
    quiet = np.zeros((600, 4, 3))
    still = np.full(1200, 0.2), np.full(1200, gamma), regulariser, quiet, quiet, quiet[:, :, 0]
    models = straight_line.r_admm(parts, [sorted(graph[agent]) for agent in range(4)], 1200, *still)
    best = straight_line.optimum(parts, regulariser)
    np.testing.assert_allclose(models[-2], np.tile(best, (4, 1)), atol=1e-6)


def test_step_35_of_r_admms_proof_has_the_wrong_sign_where_agents_mix():
    """Erratum 20: convexity makes ⟨f − f*, M(∇O(f) − ∇O(f*))⟩ >= 0 for diagonal M; η(D + A)D̃⁻¹ is not diagonal."""
    A = nx.to_numpy_array(nx.complete_graph(3))
    D = np.diag(A.sum(0))
    mixing = 0.5 * (D + A) @ np.linalg.inv(2 * 0.5 * D + 0.2 * np.eye(3))
    off, bends = np.array([4.0, -1.0, -1.0]), np.array([0.0, 1.0, 1.0])
    assert off @ (bends * off) > 0
    assert off @ mixing @ (bends * off) < 0


def test_r_admm_converges_on_random_quadratic_problems_that_meet_its_conditions():
    """What the gap in the proof leaves open: no run is known that breaks the theorem."""
    rng, met = np.random.default_rng(4), 0
    while met < 150:
        agents = int(rng.integers(3, 7))
        graph = nx.erdos_renyi_graph(agents, 0.8, seed=int(rng.integers(1e6)))
        eta, gamma, steep = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 3), 10 ** rng.uniform(-2, 1)
        if not nx.is_connected(graph):
            continue
        A = nx.to_numpy_array(graph)
        if min(recycling_margins(eta, gamma, A, steep)) <= 0:
            continue
        met += 1
        D, one = np.diag(A.sum(0)), np.eye(agents)
        bends = steep * rng.random(agents) ** rng.choice([0.1, 1, 6]) * (rng.random(agents) < 0.8)
        solve = np.linalg.inv(np.diag(bends) + 2 * eta * D)
        odd = np.hstack([eta * solve @ (D + A), -2 * solve])
        duals = np.hstack([0 * one, one]) + eta / 2 * (D - A) @ odd
        slope = bends[:, None] * odd + 2 * duals + eta * (D - A) @ odd
        even = odd - np.linalg.inv(2 * eta * D + gamma * one) @ slope
        assert largest(np.vstack([even, duals]), agents) < 1 + 1e-9


class Lasso:
    """A small fused lasso, solved by DP-ADMM's own steps, and the R of its averages."""

    def __init__(self) -> None:
        self.X, self.y = (np.concatenate(each) for each in zip(*small_parts(3, 8), strict=True))
        self.A = np.vstack([[[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]], np.eye(3)])
        self.eta, self.rho, self.lam = 0.5, 0.4, 0.02
        self.gamma = self.eta * self.rho * np.linalg.norm(self.A.T @ self.A, 2) + 1
        xs, _, us = self.steps(np.zeros((6_000, 3)))
        self.x, self.dual = xs[-1], self.rho * us[-1]
        assert np.abs(self.gradient(self.x) + self.A.T @ self.dual).max() < 1e-9

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.X.T @ (self.y * straight_line.logistic(self.y * (self.X @ x))[0]) / len(self.y)

    def steps(self, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, u = np.zeros(3), np.zeros(5)
        found = []
        for each in noise:
            z = self.A @ x + u
            y = np.sign(z) * np.maximum(np.abs(z) - self.lam / self.rho, 0)
            x = x - self.eta / self.gamma * (self.gradient(x) + each + self.rho * self.A.T @ (z - y))
            u = u + self.A @ x - y
            found.append((x, y, u))
        return tuple(map(np.array, zip(*found, strict=True)))

    def gap(self, x: np.ndarray, y: np.ndarray) -> float:
        """R(x, y), with g'(y*) = ρu*."""
        best = self.A @ self.x

        def loss(at: np.ndarray) -> float:
            return float(np.logaddexp(0, -self.y * (self.X @ at)).mean())

        first = loss(x) - loss(self.x) - self.gradient(self.x) @ (x - self.x)
        return first + self.lam * (np.abs(y).sum() - np.abs(best).sum()) - self.dual @ (y - best)

    def utility(self, sigma: float, rounds: int) -> Utility:
        fields = {"eta": self.eta, "penalty": self.rho, "gamma": self.gamma, "sparsity": self.lam}
        return Utility.of(A=self.A, sigma=sigma, rounds=rounds, distance=float(np.linalg.norm(self.x)), **fields)


@cache
def lasso_at_hand() -> Lasso:
    return Lasso()


def test_the_averages_of_dp_admm_come_as_near_as_theorem_2_says():
    lasso, rng = lasso_at_hand(), np.random.default_rng(2)
    for rounds, sigma in ((5, 0.0), (40, 0.0), (40, 0.3), (160, 0.05)):
        runs = 1 if sigma == 0.0 else 40
        gaps = []
        for _ in range(runs):
            xs, ys, _ = lasso.steps(sigma * rng.standard_normal((rounds, 3)))
            gaps.append(lasso.gap(xs.mean(0), ys.mean(0)))
        bound = lasso.utility(sigma, rounds).bound
        assert -1e-12 < np.mean(gaps) + 4 * np.std(gaps) / math.sqrt(runs) < bound
        assert np.mean(gaps) > bound / 1000


def test_the_best_number_of_rounds_has_the_least_bound_where_the_variance_grows_with_them():
    def bound(rounds: float) -> float:
        return found.start / rounds + found.noise * rounds / found.rounds

    found = lasso_at_hand().utility(0.1, 100)
    assert found.best_bound == pytest.approx(bound(found.best_rounds))
    assert found.best_bound <= min(bound(factor * found.best_rounds) for factor in (0.5, 0.9, 1.1, 2.0))
    assert lasso_at_hand().utility(0.0, 100).best_rounds == math.inf


def test_theorem_2s_orders_are_those_of_the_paper():
    """T = O(n√(εμ0)/√(αηd)) and R <= O(√(αηd)/(n√(εμ0))), σ² = c²αT/(2n²εμ0): four times the rows, a quarter of it."""
    few, many = (lasso_at_hand().utility(math.sqrt(30.0) / rows, 30) for rows in (1_000, 4_000))
    assert many.best_rounds == pytest.approx(4 * few.best_rounds)
    assert many.best_bound == pytest.approx(few.best_bound / 4)


def test_the_rows_that_pp_admm_needs_are_those_of_the_remarks():
    free, rough = Samples(0.0, 10), Samples(1e-3, 10)
    assert free.rows(0.2) == pytest.approx(2 * math.log(20) / 0.2**2)  # remark 1, β = 0
    assert rough.rows(0.2) == pytest.approx(math.log(20) / (0.2**2 / 2 - 1e-3))
    assert Samples(1e-3, 10, 0.0, 0.0) == rough  # remark 2
    private = Samples(1e-3, 10, 0.01, 0.001)
    noise = 0.001 * 0.2 * math.sqrt(20 * math.log(20)) + 2 * 0.01**2 * 10 * math.log(20)
    assert private.rows(0.2) == pytest.approx(math.log(20) / (0.2**2 / 2 - 1e-3 - noise))


@given(st.floats(0.0, 0.1), st.integers(1, 200), st.floats(0.0, 0.1), st.floats(0.0, 0.01))
def test_no_number_of_rows_promises_the_least_error_and_some_number_more(tolerance, features, sigma1, sigma2):
    found = Samples(tolerance, features, sigma1, sigma2)
    assert found.rows(0.99 * found.least_error) == math.inf
    more = 1.01 * found.least_error + 1e-3
    assert found.rows(2 * more) < found.rows(more) < math.inf
