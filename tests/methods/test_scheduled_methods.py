"""dvp, pvp, m-admm and r-admm compute what plain loops compute, cost what they say, and converge without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import BudgetError, ScenarioError
from simnet.methods import METHODS
from simnet.methods.method import AgentSize
from simnet.privacy.budget import Privacy
from simnet.privacy.ledger import account
from simnet.record.events import PrivacySpent, ReleaseMade, SolveFinished
from simnet.record.lines import unpack
from simnet.streams import Streams
from tests.methods import straight_line

ROUNDS, AGENTS, FEATURES = 12, 6, 8
LOSSES = {"logistic": straight_line.logistic, "smoothed-hinge": straight_line.smoothed_hinge}


def scenario(name: str, **changes: object) -> Scenario:
    base = Scenario.of(
        {
            "seed": 7,
            "rounds": ROUNDS,
            "data": {
                "source": "synthetic",
                "rows": 3000,
                "features": FEATURES,
                "partition": "uneven",
                "concentration": 20,
            },
            "topology": {"kind": "random", "agents": AGENTS, "mean_degree": 3},
            "algorithm": {"name": name, "eta": 0.05, "tolerance": 1e-9, "regulariser": 1e-3},
            "privacy": {"epsilon": 2.0},
        }
    )
    return base.with_(**changes)


def models(result, rounds=ROUNDS) -> np.ndarray:
    """Every round's models as the network saw them."""
    found = np.full((rounds, AGENTS, FEATURES), np.nan)
    for _, _, event in result.events:
        if isinstance(event, ReleaseMade):
            found[event.round - 1, event.agent] = unpack(event.value)
    return found


class Setting:
    """The parts, neighbours and noise draws that both sides share."""

    def __init__(self, chosen: Scenario) -> None:
        built = build(chosen)
        self.schedules = built.calibration.plans
        self.parts = [(np.asarray(part.X), part.y) for part in built.learning.parts]
        self.neighbours = [sorted(built.graph[agent]) for agent in range(AGENTS)]
        rounds = len(self.schedules[0].rounds)
        self.n, self.b2 = np.zeros((2, rounds, AGENTS, FEATURES))
        self.spread = np.zeros((rounds, AGENTS))
        for agent, schedule in enumerate(self.schedules):
            rng = Streams(7).generator("noise", agent)
            for k, plan in enumerate(schedule.rounds):
                if schedule.noise == "gamma":
                    norm = rng.gamma(FEATURES, 1 / plan.scale)
                    direction = rng.standard_normal(FEATURES)
                    self.n[k, agent] = direction * (norm / np.linalg.norm(direction))
                else:
                    self.n[k, agent] = rng.normal(0, plan.scale, FEATURES)
                self.b2[k, agent] = rng.normal(0, plan.output_sigma, FEATURES)
                own = math.sqrt(FEATURES + 1) / plan.scale if schedule.noise == "gamma" else plan.scale
                self.spread[k, agent] = plan.output_sigma or own


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("noise", ["gamma", "gaussian"])
def test_dvp_is_dual_variable_perturbation(loss, noise):
    chosen = scenario(
        "dvp",
        **{"algorithm.loss": loss, "algorithm.noise": noise, "algorithm.loss_weight": 2.0, "privacy.epsilon": 5.0},
    )
    setting = Setting(chosen)
    plain = straight_line.m_admm(
        *(
            setting.parts,
            setting.neighbours,
            ROUNDS,
            np.full((ROUNDS, AGENTS), 0.05),
            0.05,
            1e-3,
            setting.n,
            setting.b2,
            setting.spread,
        ),
        weight=2.0,
        loss=LOSSES[loss],
    )
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)


@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_m_admm_has_a_growing_penalty_of_its_own_for_each_agent(calibration):
    first, growth = [0.05, 0.06, 0.07, 0.05, 0.08, 0.06], [1.0, 1.1, 1.05, 1.2, 1.0, 1.01]
    fields = {"agent_eta": first, "agent_growth": growth, "dual_step": 0.04, "noise_growth": 1.1}
    chosen = scenario("m-admm", **{f"algorithm.{name}": value for name, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration})
    setting = Setting(chosen)
    eta = np.array(first) * np.array(growth) ** np.arange(ROUNDS)[:, None]
    noise = (setting.n, setting.b2, setting.spread)
    plain = straight_line.m_admm(setting.parts, setting.neighbours, ROUNDS, eta, 0.04, 1e-3, *noise)
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)


def test_m_admm_has_a_changing_dual_step_of_its_own_for_each_agent():
    first, growth = [0.04, 0.03, 0.05, 0.02, 0.04, 0.05], [1.0, 0.9, 1.1, 1.05, 0.95, 1.02]
    fields = {"agent_dual_step": first, "agent_dual_growth": growth, "penalty_growth": 1.1}
    chosen = scenario("m-admm", **{f"algorithm.{name}": value for name, value in fields.items()})
    setting = Setting(chosen)
    grown = np.arange(ROUNDS)[:, None]
    eta = np.broadcast_to(0.05 * 1.1**grown, (ROUNDS, AGENTS))
    steps = np.array(first) * np.array(growth) ** grown
    noise = (setting.n, setting.b2, setting.spread)
    plain = straight_line.m_admm(setting.parts, setting.neighbours, ROUNDS, eta, steps, 1e-3, *noise)
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)


@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_the_dual_step_changes_neither_the_noise_nor_its_price(calibration):
    """λ_i is computed from what was released, so the mechanism of a round does not contain it."""
    steps = {"algorithm.dual_step": 0.03, "algorithm.dual_growth": 1.02, "algorithm.agent_dual_step": [0.02] * AGENTS}
    plain = scenario("m-admm", **{"privacy.calibration": calibration})
    assert build(plain.with_(**steps)).calibration.plans == build(plain).calibration.plans


@pytest.mark.parametrize("differ", [False, True])
def test_dual_steps_that_change_alike_lead_to_the_optimum_and_different_ones_to_a_weighted_one(differ):
    """Σ λ_i/θ_i stays 0 and −2λ_i = ∇f_i in the end, so Σ ∇f_i/θ_i = 0 at the model that all agree on."""
    own = [0.09, 0.03, 0.06, 0.09, 0.04, 0.08]
    steps = {"algorithm.agent_dual_step": own} if differ else {"algorithm.dual_growth": 0.999}
    fields = {"algorithm.eta": 0.1, "algorithm.regulariser": 0.05, "algorithm.tolerance": 1e-10}
    chosen = scenario("m-admm", **fields, **steps, rounds=600)
    chosen = chosen.with_(**{"privacy.calibration": "none", "data.rows": 900})
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.05)
    weighted = straight_line.optimum(parts, 0.05, 1 / np.array(own)) if differ else best
    last = models(run(chosen), 600)[-1]
    np.testing.assert_allclose(last, np.tile(weighted, (AGENTS, 1)), atol=1e-6)
    assert np.linalg.norm(weighted - best) / np.linalg.norm(best) > (0.01 if differ else -1)


@pytest.mark.parametrize("noise", ["gamma", "gaussian"])
def test_pvp_perturbs_what_it_sends_and_goes_on_with_that_itself(noise):
    chosen = scenario("pvp", **{"algorithm.noise": noise})
    setting = Setting(chosen)
    plain = straight_line.m_admm(
        *(setting.parts, setting.neighbours, ROUNDS, np.full((ROUNDS, AGENTS), 0.05), 0.05, 1e-3, setting.n),
        np.zeros_like(setting.n),
        setting.spread,
        where="primal",
    )
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("calibration", ["proven", "paper", "none"])
def test_r_admm_solves_in_odd_rounds_and_recycles_in_even_ones(loss, calibration):
    fields = {"loss": loss, "gamma": 0.3, "penalty_growth": 1.05, "noise_growth": 0.9}
    chosen = scenario("r-admm", **{f"algorithm.{name}": value for name, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration})
    setting = Setting(chosen)
    grown = 1.05 ** np.arange(ROUNDS)
    plain = straight_line.r_admm(
        *(setting.parts, setting.neighbours, ROUNDS, 0.05 * grown, 0.3 * grown, 1e-3),
        *(setting.n, setting.b2, setting.spread),
        loss=LOSSES[loss],
    )
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)


OWN = {"agent_eta": [0.05, 0.08, 0.06, 0.07, 0.05, 0.09], "agent_growth": [1.05, 1.0, 1.1, 1.02, 0.97, 1.0]}


@pytest.mark.parametrize("calibration", ["proven", "paper", "none"])
def test_r_admm_has_a_penalty_of_its_own_for_each_agent_beside_one_dual_step(calibration):
    fields = OWN | {"dual_step": 0.04, "gamma": 0.3, "noise_growth": 0.9}
    chosen = scenario("r-admm", **{f"algorithm.{name}": value for name, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration})
    setting = Setting(chosen)
    grown = np.array(OWN["agent_growth"]) ** np.arange(ROUNDS)[:, None]
    plain = straight_line.r_admm(
        *(setting.parts, setting.neighbours, ROUNDS, np.array(OWN["agent_eta"]) * grown, 0.3 * grown, 1e-3),
        *(setting.n, setting.b2, setting.spread),
        dual=np.full(ROUNDS, 0.04),
    )
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)


def test_r_admm_with_penalties_of_the_agents_own_still_reaches_the_optimum_of_uneven_shares():
    fields = {"agent_eta": [0.1, 0.16, 0.12, 0.14, 0.1, 0.18], "dual_step": 0.1, "regulariser": 0.05, "gamma": 0.2}
    chosen = scenario("r-admm", **{f"algorithm.{field}": value for field, value in fields.items()})
    chosen = chosen.with_(rounds=400, **{"privacy.calibration": "none", "data.rows": 900, "algorithm.tolerance": 1e-10})
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.05)
    np.testing.assert_allclose(models(run(chosen), 400)[-2], np.tile(best, (AGENTS, 1)), atol=1e-6)


def test_each_agents_own_penalty_has_the_price_of_its_own_theorem():
    """Theorem IV.1 with η_i(2k−1) for η, at the worst agent; and theorem 4 of the proofs for each exact minimiser."""
    rate = 300.0
    fields = OWN | {"dual_step": 0.01, "noise_rate": rate}
    chosen = scenario("r-admm", **{f"algorithm.{name}": value for name, value in fields.items()})
    built = build(chosen)
    claimed, exact = [], []
    for size, eta, growth in zip(built.sizes, OWN["agent_eta"], OWN["agent_growth"], strict=True):
        curvature = 1e-3 + 2 * eta * growth ** np.arange(0, ROUNDS, 2) * size.degree
        claimed.append(np.sum(2 / size.rows * (1.4 * 0.25 / curvature + rate)))
        exact.append(np.sum(2 * rate / size.rows + np.log1p(0.25 / (size.rows * curvature))))
    privacy = run(chosen).summary["privacy"]
    assert privacy["claimed_epsilon"] == pytest.approx(max(claimed), rel=1e-9)
    # Beside the pure part there is the small Gaussian noise of the approximate minimiser; moments may price it lower.
    assert 0.5 * max(exact) < privacy["proven_epsilon"] < 1.05 * max(exact)
    assert len(set(np.round(claimed, 12))) == AGENTS


NOISE = {
    "agent_noise_rate": [300.0, 200.0, 450.0, 350.0, 250.0, 400.0],
    "agent_noise_growth": [1.1, 1, 0.9, 1.02, 1.2, 1],
}


def theorem_of(name: str, size: AgentSize, eta: np.ndarray, rate: np.ndarray) -> float:
    """Theorem 4.1 of M-ADMM or IV.1 of R-ADMM for one agent: η_i and α_i of the rounds that use the data."""
    if name == "m-admm":
        return float(np.sum((1.4 * 0.25 + rate) / (eta * size.degree * size.rows)))
    return float(np.sum(2 / size.rows * (1.4 * 0.25 / (1e-3 + 2 * eta * size.degree) + rate)))


@pytest.mark.parametrize("calibration", ["proven", "paper"])
@pytest.mark.parametrize("name", ["m-admm", "r-admm"])
def test_each_agent_has_a_noise_of_its_own_that_grows_by_its_own_factor_and_is_charged_for_it(name, calibration):
    """α_i(t), as Algorithm 1 of M-ADMM and Algorithm 2 of R-ADMM take it, beside a penalty of each agent's own."""
    fields = OWN | NOISE | {"dual_step": 0.04} | ({"gamma": 0.3} if name == "r-admm" else {"agent_growth": [1.05] * 6})
    chosen = scenario(name, **{f"algorithm.{field}": value for field, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration})
    built, setting = build(chosen), Setting(chosen)
    every = np.arange(ROUNDS)[:, None]
    etas = np.array(fields["agent_eta"]) * np.array(fields["agent_growth"]) ** every
    used = np.arange(0, ROUNDS, 2 if name == "r-admm" else 1)
    rates = np.array(NOISE["agent_noise_rate"]) * np.array(NOISE["agent_noise_growth"]) ** np.arange(len(used))[:, None]
    drawn = [[plan.scale for plan in schedule.rounds] for schedule in built.calibration.plans]
    np.testing.assert_allclose(np.array(drawn).T, rates, rtol=1e-12)
    noise = (setting.n, setting.b2, setting.spread)
    if name == "m-admm":
        plain = straight_line.m_admm(setting.parts, setting.neighbours, ROUNDS, etas, 0.04, 1e-3, *noise)
    else:
        gammas = 0.3 * np.array(fields["agent_growth"]) ** every
        plain = straight_line.r_admm(
            *(setting.parts, setting.neighbours, ROUNDS, etas, gammas, 1e-3), *noise, dual=np.full(ROUNDS, 0.04)
        )
    result = run(chosen)
    np.testing.assert_allclose(models(result), plain, rtol=0, atol=1e-7)
    claimed = [theorem_of(name, *each) for each in zip(built.sizes, etas[used].T, rates.T, strict=True)]
    accounts = [account(schedule.charges, 1e-4) for schedule in built.calibration.plans]
    assert [each.claimed_epsilon for each in accounts] == pytest.approx(claimed, rel=1e-9)
    # Theorem 4 of the proofs for exact minimisers: αΔ, and log(1 + κ) per round; beside it a little Gaussian noise.
    proven = [each.proven_epsilon for each in accounts]
    for size, eta, rate, told in zip(built.sizes, etas[used].T, rates.T, proven, strict=True):
        shift = 2 / size.rows if name == "r-admm" else 1 / (eta * size.degree * size.rows)
        bend = 0.25 / (size.rows * (1e-3 + 2 * eta * size.degree))
        exact = np.sum(rate * shift + np.log1p(bend))
        assert 0.4 * exact < told < 1.05 * exact
    privacy = result.summary["privacy"]
    assert privacy["claimed_epsilon"] == pytest.approx(max(claimed), rel=1e-9)
    assert privacy["proven_epsilon"] == pytest.approx(max(proven), rel=1e-9)
    assert len(set(np.round(claimed, 9))) == AGENTS


@pytest.mark.parametrize("name", ["dvp", "pvp", "m-admm", "r-admm"])
def test_where_a_budget_decides_each_agents_own_growth_of_noise_costs_all_of_it(name):
    growth = NOISE["agent_noise_growth"]
    schedules = build(scenario(name, **{"algorithm.agent_noise_growth": growth})).calibration.plans
    for schedule, own in zip(schedules, growth, strict=True):
        assert account(schedule.charges, 1e-4).proven_epsilon == pytest.approx(2.0, rel=1e-6)
        scales = np.array([plan.scale for plan in schedule.rounds])
        np.testing.assert_allclose(scales[1:] / scales[:-1], own, rtol=1e-9)


def test_equal_noise_of_each_agents_own_is_the_noise_of_all():
    alike = {"algorithm.agent_noise_rate": [300.0] * AGENTS, "algorithm.agent_noise_growth": [1.1] * AGENTS}
    common = {"algorithm.noise_rate": 300.0, "algorithm.noise_growth": 1.1}
    for name in ("dvp", "pvp", "m-admm", "r-admm"):
        own, shared = (build(scenario(name, **each)).calibration for each in (alike, common))
        assert own == shared
        assert own.limit == math.inf


def test_even_rounds_of_r_admm_broadcast_but_cost_neither_privacy_nor_gradients():
    spent, gradients = {0: 0, 1: 0}, {0: 0, 1: 0}
    for _, _, event in run(scenario("r-admm")).events:
        if isinstance(event, PrivacySpent):
            assert (event.mechanism == "recycled") == (event.round % 2 == 0)
            spent[event.round % 2] += 1
        elif isinstance(event, SolveFinished):
            gradients[event.round % 2] += event.gradients
    assert spent == {0: AGENTS * ROUNDS // 2, 1: AGENTS * ROUNDS // 2}
    assert gradients[0] == 0 < gradients[1]


@pytest.mark.parametrize("name", ["dvp", "pvp", "m-admm", "r-admm"])
@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_a_whole_run_costs_what_was_asked_for_in_the_accounting_that_was_asked_for(name, calibration):
    privacy = run(scenario(name, **{"privacy.calibration": calibration})).summary["privacy"]
    asked = privacy["proven_epsilon" if calibration == "proven" else "claimed_epsilon"]
    assert asked == pytest.approx(2.0, rel=1e-6)


def test_the_claims_are_the_totals_of_the_papers_theorems():
    """Theorem 4.1 of M-ADMM and Theorem IV.1 of R-ADMM, from a rate that the scenario names."""
    rate, growth = 3.0, 1.02
    for name in ("m-admm", "r-admm"):
        chosen = scenario(name, **{"algorithm.noise_rate": rate, "algorithm.penalty_growth": growth})
        built = build(chosen)
        worst = 0.0
        for size in built.sizes:
            eta = 0.05 * growth ** np.arange(ROUNDS)
            if name == "m-admm":
                total = np.sum((1.4 * 0.25 + rate) / (eta * size.degree * size.rows))
            else:
                bend = 1.4 * 0.25 / (1e-3 + 2 * eta[::2] * size.degree)
                total = np.sum(2 / size.rows * (bend + rate))
            worst = max(worst, total)
        privacy = run(chosen).summary["privacy"]
        assert privacy["claimed_epsilon"] == pytest.approx(worst, rel=1e-9)
        assert privacy["proven_epsilon"] is not None


def test_noise_that_the_scenario_names_is_the_noise_that_is_drawn():
    for name, field in (("dvp", "noise_rate"), ("pvp", "noise_rate")):
        built = build(scenario(name, **{f"algorithm.{field}": 5.0, "algorithm.noise_growth": 1.5}))
        assert [plan.scale for plan in built.calibration.plans[0].rounds[:3]] == pytest.approx([5.0, 7.5, 11.25])
    built = build(scenario("r-admm", **{"algorithm.noise": "gaussian", "algorithm.sigma": 0.2}))
    assert {plan.scale for plan in built.calibration.plans[0].rounds} == {0.2}
    assert built.calibration.limit == math.inf


@pytest.mark.parametrize("name", ["dvp", "m-admm", "r-admm", "pvp", "pp-admm", "ipp-admm"])
def test_without_noise_every_method_reaches_the_optimum_that_an_outside_solver_finds(name):
    fields = {"eta": 0.1, "regulariser": 0.05, "tolerance": 1e-10}
    if name == "ipp-admm":
        fields |= {"max_releases": 300, "threshold": 0.0}
    if name == "m-admm":
        fields |= {"penalty_growth": 1.001, "dual_step": 0.09}
    chosen = scenario(name, **{f"algorithm.{field}": value for field, value in fields.items()})
    chosen = chosen.with_(rounds=300, **{"privacy.calibration": "none", "data.rows": 900})
    result = run(chosen)
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.05)
    assert result.summary["privacy"]["proven_epsilon"] is None
    last = models(result, 300)
    if name == "ipp-admm":  # it stops where nothing improves any more, which is near the optimum, not at it
        kept = np.array([last[~np.isnan(last[:, agent, 0]), agent][-1] for agent in range(AGENTS)])
        assert np.linalg.norm(kept - best) < 0.05 * np.linalg.norm(best) * math.sqrt(AGENTS)
    else:
        odd = last[-2] if name == "r-admm" else last[-1]
        np.testing.assert_allclose(odd, np.tile(best, (AGENTS, 1)), atol=1e-6)


def test_the_papers_privacy_theorems_are_refused_where_they_say_nothing():
    with pytest.raises(ScenarioError, match="at least as large as the dual step"):
        build(scenario("m-admm", **{"algorithm.dual_step": 0.1, "privacy.calibration": "paper"}))
    growing = {"algorithm.dual_step": 0.04, "algorithm.dual_growth": 1.1, "privacy.calibration": "paper"}
    with pytest.raises(ScenarioError, match=r"agent 0's penalty of round 4 is 0\.05, .* dual step 0\.05324"):
        build(scenario("m-admm", **growing))
    with pytest.raises(ScenarioError, match=r"algorithm\.agent_dual_step: 2 values for 6 agents"):
        build(scenario("m-admm", **{"algorithm.agent_dual_step": [0.1, 0.2]}))
    with pytest.raises(ScenarioError, match=r"algorithm\.agent_eta: 2 values for 6 agents"):
        build(scenario("r-admm", **{"algorithm.agent_eta": [0.1, 0.2]}))
    with pytest.raises(ScenarioError, match=r"algorithm\.agent_noise_rate: 1 values for 6 agents"):
        build(scenario("dvp", **{"algorithm.agent_noise_rate": [3.0]}))
    few = {"data.rows": 60, "data.train": 42, "algorithm.eta": 1e-3, "privacy.epsilon": 1e9}
    for name in ("m-admm", "dvp", "r-admm"):
        with pytest.raises(ScenarioError, match="too few rows"):
            build(scenario(name, **few, **{"privacy.calibration": "paper"}))


def test_equal_schedules_are_calibrated_once_and_charges_add_up_to_the_plan():
    built = build(scenario("r-admm"))
    totals = [account(schedule.charges, 1e-4).proven_epsilon for schedule in built.calibration.plans]
    assert totals == pytest.approx([2.0] * AGENTS, rel=1e-6)


@pytest.mark.parametrize("name", ["dvp", "m-admm"])
def test_an_agent_without_neighbours_has_no_penalty_to_put_noise_into(name):
    with pytest.raises(BudgetError, match="without neighbours"):
        METHODS[name](name=name).calibrate(Privacy(), [AgentSize(100, 0, gradient_bound=1.0, smoothness=0.25)], 3)
