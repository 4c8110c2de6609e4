"""The theorems' preconditions, against plain linear algebra and against runs."""

from __future__ import annotations

import math

import networkx as nx
import pytest

from simnet import Scenario
from simnet.build import World, build
from simnet.methods import METHODS
from simnet.methods.method import Finding, Setting
from simnet.methods.theorems import rate


def theory(built: World) -> list[Finding]:
    chosen, features = built.scenario, built.learning.features
    adjacency = nx.to_numpy_array(built.graph, nodelist=range(built.agents))
    public = built.learning.public
    setting = Setting(chosen.privacy, chosen.rounds, built.sizes, built.calibration, adjacency, features, public)
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
    growing = findings("m-admm", **{"algorithm.penalty_growth": 1.1})
    assert [name for name, (holds, _) in growing.items() if not holds] == [
        "M-ADMM section 6.2: a secret η_i(t) hides a row"
    ]


def test_the_jacobian_condition_has_the_margin_that_the_formula_says():
    holds, margin = findings("dvp", **{"algorithm.eta": 0.3})["privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)"]
    assert holds
    assert margin == pytest.approx(200 * (1e-4 + 2 * 0.3 * 3) - 0.5)


def test_a_gamma_that_the_advice_names_is_enough():
    base = {"topology": {"kind": "complete", "agents": 4}}
    findings_before = findings("r-admm", **{"algorithm.gamma": 0.0})
    assert not all(holds for name, (holds, _) in findings_before.items() if "condition" in name)
    built = build(Scenario.of(base | {"algorithm": {"name": "r-admm", "gamma": 0.0}, "data": {"source": "synthetic"}}))
    told = next(f.sentence for f in theory(built) if "(26)" in f.name)
    gamma = float(told.split("gamma = ")[1].split(" ")[0]) * 1.02
    after = findings("r-admm", **{"algorithm.gamma": gamma})
    assert all(holds for name, (holds, _) in after.items() if "condition" in name)


def test_the_least_error_of_pp_admm_solves_its_own_quadratic_equation():
    content = {"algorithm": {"name": "pp-admm"}, "data": {"source": "synthetic", "features": 6}}
    built = build(Scenario.of(content | {"privacy": {"epsilon": 5.0}}))
    found = theory(built)
    worst = next(math.log(2) - finding.margin for finding in found if "4: least error" in finding.name)
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
    assert findings("pdml", **{"algorithm.primal_decay": 1.0})["PDML Theorem 1: ρ < C"] == (False, 0.0)
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
    assert "M-ADMM Theorem 3.2: rate" not in differing
    holds, margin = differing["privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)"]
    assert margin == pytest.approx(200 * (1e-4 + 2 * 0.004 * 3) - 0.5)
    assert holds


def test_the_rate_of_m_admm_is_told_for_the_first_and_the_last_round():
    base = {"data": {"source": "synthetic", "rows": 1000, "features": 6}, "topology": {"kind": "complete", "agents": 4}}
    fields = {"name": "m-admm", "penalty_growth": 1.2, "regulariser": 0.3, "eta": 0.1}
    built = build(Scenario.of(base | {"algorithm": fields, "privacy": {"epsilon": 20.0}}))
    found = next(finding for finding in theory(built) if finding.name == "M-ADMM Theorem 3.2: rate")
    adjacency = nx.to_numpy_array(built.graph)
    first, last = (rate([0.1 * 1.2**t] * 4, 0.1, adjacency, 0.3, 0.55) for t in (0, 29))
    assert "the squared distance to the optimum, in the norm of J(t), falls" in found.sentence
    assert f"1 + {first:.3g} in round 1 and 1 + {last:.3g} in round 30; equation (23) as printed" in found.sentence
    assert found.margin == last < first / 100


def test_m_admms_theorem_promises_no_rate_to_penalties_of_the_agents_own():
    own = findings("m-admm", **{"algorithm.agent_eta": [0.01, 0.02, 0.01, 0.03], "algorithm.dual_step": 0.01})
    assert own["M-ADMM Theorem 3.2: one η(t) for all agents"] == (False, pytest.approx(-0.02))
    assert "M-ADMM Theorem 3.2: rate" not in own
    assert own["M-ADMM Theorem 3.1: η_i(t) >= θ"][0] is True


def test_the_paper_of_r_admm_says_nothing_of_penalties_of_the_agents_own():
    own = findings("r-admm", **{"algorithm.agent_eta": [0.01, 0.02, 0.01, 0.03]})
    name = "R-ADMM Theorem III.1: one η for all agents, which is the dual step"
    assert own[name] == (False, pytest.approx(-0.02))
    assert not any("condition" in each for each in own)
    assert name not in findings("r-admm")
    holds, margin = own["privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)"]
    assert (holds, margin) == (True, pytest.approx(200 * (1e-4 + 2 * 0.01 * 3) - 0.5))


def test_r_admms_conditions_are_told_for_the_least_penalty_of_a_run():
    steady, falling = (findings("r-admm", **{"algorithm.penalty_growth": growth}) for growth in (1.0, 0.9))
    small = findings("r-admm", **{"algorithm.eta": 0.01 * 0.9**29, "algorithm.gamma": 0.2 * 0.9**29})
    for number in (24, 25, 26, 27):
        name = f"R-ADMM condition ({number})"
        assert falling[name][1] == pytest.approx(small[name][1])
        assert falling[name][1] != steady[name][1]


def test_dp_admm_tells_the_utility_of_its_averages_and_the_rounds_that_serve_it_best():
    star = {"topology.kind": "star"}
    trusted, untrusted = (findings("dp-admm", **star, **{"algorithm.hub": hub}) for hub in ("trusted", "untrusted"))
    name, best = "DP-ADMM Theorem 2: utility", "DP-ADMM Theorem 2: best number of rounds"
    assert trusted[name][0] is None
    # Noise on four parts of the rows adds up to more than noise on all of them.
    assert trusted[name][1] < untrusted[name][1]
    assert trusted[best][1] > untrusted[best][1]
    silent = findings("dp-admm", **star, **{"privacy.calibration": "none"})
    assert best not in silent
    assert name not in findings("dp-acc-admm", **star)
    short = findings("dp-admm", **star, **{"algorithm.gamma": 1.0})
    assert short["DP-ADMM: γ >= ηρ|AᵀA| + 1"][0] is False
    assert trusted["DP-ADMM: γ >= ηρ|AᵀA| + 1"] == (True, 0.0)
