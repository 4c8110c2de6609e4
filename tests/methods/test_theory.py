"""The theorems' preconditions, against plain linear algebra and against runs."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from simnet import Scenario
from simnet.build import World, build
from simnet.methods import METHODS
from simnet.methods.m_admm import rate
from simnet.methods.method import Finding, Setting
from simnet.methods.r_admm import recycling_margins
from tests.methods import straight_line


def theory(built: World) -> list[Finding]:
    chosen, features = built.scenario, built.learning.features
    adjacency = nx.to_numpy_array(built.graph, nodelist=range(built.agents))
    setting = Setting(chosen.privacy, chosen.rounds, built.sizes, built.calibration, adjacency, features)
    return chosen.algorithm.theory(setting)


def findings(name: str, **changes: object) -> dict[str, tuple[bool | None, float]]:
    base = {
        "data": {"source": "synthetic", "rows": 1000, "features": 6},
        "topology": {"kind": "complete", "agents": 4},
        "algorithm": {"name": "admm"},
        "privacy": {"epsilon": 20.0},
    }
    built = build(Scenario.of(base).with_method(name).with_(**changes))
    found = theory(built)
    return {finding.name: (finding.holds, finding.margin) for finding in found}


def test_a_penalty_that_falls_or_lies_below_the_dual_step_is_told():
    falling = findings("m-admm", **{"algorithm.penalty_growth": 0.9, "algorithm.dual_step": 0.001})
    assert falling["M-ADMM Theorem 3.1: η_i(t+1) >= η_i(t)"] == (False, pytest.approx(-0.1))
    assert falling["M-ADMM Theorem 3.1: η_i(t) >= θ"] == (False, pytest.approx(0.01 * 0.9**29 - 0.001))
    small = findings("m-admm", **{"algorithm.dual_step": 0.02})
    assert small["M-ADMM Theorem 3.1: η_i(t) >= θ"] == (False, pytest.approx(-0.01))
    assert all(holds for holds, _ in findings("m-admm", **{"algorithm.penalty_growth": 1.1}).values())


def test_the_jacobian_condition_has_the_margin_that_the_formula_says():
    holds, margin = findings("dvp", **{"algorithm.eta": 0.3})["privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)"]
    assert holds
    assert margin == pytest.approx(200 * (1e-4 + 2 * 0.3 * 3) - 0.5)


def test_m_admm_converges_at_least_at_the_rate_of_equation_23():
    """(1 + δ)|Z(t) − Z*|² <= |Z(t−1) − Z*|² in the norm of J, for exact solves on a small graph."""
    rng = np.random.default_rng(4)
    graph = nx.complete_graph(4)
    graph.remove_edge(0, 1)
    adjacency = nx.to_numpy_array(graph)
    parts = []
    for _ in range(4):
        X = rng.standard_normal((60, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        parts.append((X, np.sign(X @ [1.0, -1.0, 0.5] + 0.3 * rng.standard_normal(60))))
    eta, step, regulariser, rounds = np.array([0.12, 0.1, 0.15, 0.11]), 0.1, 0.3, 12
    neighbours = [sorted(graph[i]) for i in range(4)]
    quiet = np.zeros((rounds, 4, 3))
    models = straight_line.m_admm(
        parts, neighbours, rounds, np.tile(eta, (rounds, 1)), step, regulariser, quiet, quiet, quiet[:, :, 0]
    )
    best = straight_line.optimum(parts, regulariser)
    laplacian = np.diag(adjacency.sum(0)) - adjacency
    values, vectors = np.linalg.eigh(laplacian)
    root = np.linalg.pinv(vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T)
    gradients = [X.T @ (y * straight_line.logistic(y * (X @ best))[0]) / len(y) + regulariser * best for X, y in parts]
    duals = step / 2 * laplacian @ np.cumsum(models, axis=0)
    J = np.diag(eta) @ (np.diag(adjacency.sum(0)) + adjacency)

    def distance(t):
        off, dual = models[t] - best, root @ (2 * duals[t]) + root @ np.array(gradients)
        return (dual * dual).sum() / step + np.trace(off.T @ J @ off)

    delta = rate(eta, step, adjacency, regulariser, 0.25 + regulariser)
    assert delta > 0
    for t in range(1, rounds):
        assert (1 + delta) * distance(t) <= distance(t - 1) * (1 + 1e-9)


def test_r_admms_conditions_hold_for_a_large_gamma_unless_the_graph_is_bipartite():
    for graph, possible in ((nx.complete_graph(5), True), (nx.cycle_graph(6), False), (nx.star_graph(4), False)):
        adjacency = nx.to_numpy_array(graph)
        assert (min(recycling_margins(0.5, 1e6, adjacency, 0.25)) > 0) == possible
        assert min(recycling_margins(0.5, 0.0, adjacency, 0.25)) < 0


def test_r_admms_margins_are_those_of_the_quadratic_forms():
    adjacency = nx.to_numpy_array(nx.complete_graph(4))
    eta, gamma, steep = 0.4, 3.0, 0.3
    D, A, I = 3 * np.eye(4), adjacency, np.eye(4)  # noqa: E741
    held = (2 * eta * 3 + gamma) * I
    first = I + eta * (D + A) @ np.linalg.inv(held) - 4 / (2 * 5.4) / eta * steep**2 * np.linalg.pinv(D - A)
    second = eta * (D + A) - 2 * eta * (D + A) @ np.linalg.inv(held) * eta @ D - 2 / 5.4 * steep**2 * I
    found = recycling_margins(eta, gamma, adjacency, steep)
    assert found == pytest.approx([np.linalg.eigvalsh(first).min(), np.linalg.eigvalsh(second).min()])


def test_a_gamma_that_the_advice_names_is_enough():
    base = {"topology": {"kind": "complete", "agents": 4}}
    findings_before = findings("r-admm", **{"algorithm.gamma": 0.0})
    assert not all(holds for name, (holds, _) in findings_before.items() if "condition" in name)
    built = build(Scenario.of(base | {"algorithm": {"name": "r-admm", "gamma": 0.0}, "data": {"source": "synthetic"}}))
    told = [f.sentence for f in theory(built)]
    gamma = float(told[0].split("gamma = ")[1].split(" ")[0]) * 1.02
    after = findings("r-admm", **{"algorithm.gamma": gamma})
    assert all(holds for name, (holds, _) in after.items() if "condition" in name)


def test_the_least_error_of_pp_admm_solves_its_own_quadratic_equation():
    content = {"algorithm": {"name": "pp-admm"}, "data": {"source": "synthetic", "features": 6}}
    built = build(Scenario.of(content | {"privacy": {"epsilon": 5.0}}))
    found = theory(built)
    worst = max(math.log(2) - finding.margin for finding in found if "Theorem 4" in finding.name)
    log = math.log(20)
    reached = []
    for plan in built.calibration.plans:
        noise = plan.sigma2 * worst * math.sqrt(12 * log) + 2 * plan.sigma1**2 * 6 * log
        reached.append(worst**2 / 2 - plan.tolerance - noise)
    assert min(reached) == pytest.approx(0, abs=1e-12)


def test_pdmls_terms_grow_as_they_should():
    strict, loose = (findings("pdml", **{"algorithm.label_epsilon": e}) for e in (0.2, 5.0))
    name = "PDML Theorem 1: rows and labels"
    assert strict[name][1] / loose[name][1] == pytest.approx(math.tanh(2.5) / math.tanh(0.1))
    assert findings("pdml", **{"algorithm.primal_decay": 1.0})["PDML Theorem 1: ρ < 1"] == (False, 0.0)
    assert findings("pdml", **{"algorithm.objective_bound": 3.0})["PDML Theorem 1: noise in the objective"][1] == (
        pytest.approx(9 / (4 * 1e-4))
    )


@pytest.mark.parametrize("name", METHODS)
def test_every_method_but_plain_admm_has_something_to_say(name):
    assert bool(findings(name)) == (name != "admm")


def test_dual_steps_that_differ_are_told_to_move_the_optimum():
    name = "M-ADMM Theorem 3.1: one θ for all agents and rounds"
    assert name not in findings("m-admm")
    changing = findings("m-admm", **{"algorithm.dual_growth": 0.9})
    assert changing[name] == (False, pytest.approx(0.01 * (0.9**29 - 1)))
    differing = findings("m-admm", **{"algorithm.agent_dual_step": [0.01, 0.004, 0.01, 0.01]})
    assert differing[name] == (False, pytest.approx(-0.006))
    assert "M-ADMM equation (23): rate" not in differing
    holds, margin = differing["privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)"]
    assert margin == pytest.approx(200 * (1e-4 + 2 * 0.004 * 3) - 0.5)
    assert holds
