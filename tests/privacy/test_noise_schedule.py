"""Noise by a schedule: targets met from below, claims against the papers' formulas, curves against the text."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.methods.dp_admm import noisy_gradient, paper_sigma
from simnet.methods.pdml import decaying_rounds, label_charge, with_flipped_labels
from simnet.privacy import curves, trade_offs
from simnet.privacy.curves import ORDERS
from simnet.privacy.ledger import Basis, Charge, account
from simnet.privacy.noise import gamma_spread, grid
from simnet.privacy.noise_schedule import (
    DataRound,
    GammaMechanism,
    Noise,
    NoiseSchedule,
    RoundPlan,
    calibrated,
    objective_rounds,
    primal_rounds,
    smallest_scale,
)
from simnet.privacy.problem import LocalProblem
from simnet.privacy.trade_offs import TradeOff
from tests.methods.plans import proven_pp
from tests.privacy import pld
from tests.privacy.plain_trade_offs import gaussian_delta, mixture_delta, release_leak, release_mean

DELTA = 1e-4
PROBLEM = LocalProblem.of(7000, 3, 0.02, 1e-4)


def m_admm_rounds() -> list[DataRound]:
    """η grows by 1.05 per round, α by 1.02, and w = 2η(t)V."""
    return [
        DataRound(LocalProblem.of(7000, 3, eta, 1e-4), 6.0 * eta, 1.02**t)
        for t, eta in enumerate(0.02 * 1.05**t for t in range(12))
    ]


def replace_bound(charge: Charge) -> Charge:
    """The same charge, priced by Rényi curves alone."""
    return Charge.of(charge.mechanism, {name: value for name, value in charge.parameters if name != "least"})


def linear_rounds(count: int, problem: LocalProblem = PROBLEM) -> list[DataRound]:
    return [DataRound(problem)] * count


def plan_objective(
    rounds: list[DataRound], mechanism: GammaMechanism, noise: Noise, epsilon: float, basis: Basis = "proven"
) -> list[RoundPlan]:
    part = "the curvature part, log(1+κ) per round,"
    return calibrated(
        lambda scale: objective_rounds(rounds, mechanism, noise, scale), epsilon, DELTA, basis=basis, part=part
    )


def plan_primal(
    rounds: list[DataRound], noise: Noise, epsilon: float, tolerance: float | None = None
) -> list[RoundPlan]:
    return calibrated(lambda scale: primal_rounds(rounds, noise, scale, tolerance), epsilon, DELTA, part="nothing")


@pytest.mark.parametrize("noise", ["gamma", "gaussian"])
@pytest.mark.parametrize("method", ["m-admm", "r-admm", "pvp"])
@pytest.mark.parametrize("epsilon", [0.4, 3.0])
def test_every_method_meets_its_target_from_below(
    noise: Literal["gamma", "gaussian"], method: str, epsilon: float
) -> None:
    if method == "m-admm":
        plans = plan_objective(m_admm_rounds(), "penalty-gamma", noise, epsilon)
    elif method == "r-admm":
        rounds = linear_rounds(10)
        plans = plan_objective(rounds, "linear-gamma", noise, epsilon)
    else:
        plans = plan_primal(linear_rounds(10), noise, epsilon)
    spent = account([plan.charge for plan in plans], DELTA).proven_epsilon
    assert spent is not None
    assert epsilon - 1e-4 <= spent <= epsilon


def test_m_admms_noise_and_penalty_follow_their_schedules_and_its_loss_the_text() -> None:
    plans = plan_objective(m_admm_rounds(), "penalty-gamma", "gamma", 3.0)
    total = np.zeros_like(ORDERS)
    claimed = 0.0
    for t, plan in enumerate(plans):
        alpha, eta = plans[0].scale * 1.02**t, 0.02 * 1.05**t
        assert plan.scale == pytest.approx(alpha)
        mu = 1e-4 + 2 * eta * 3
        total = total + curves.pure(ORDERS, alpha / (eta * 3 * 7000) + math.log1p(0.25 / (7000 * mu)))
        total = total + ORDERS * (2 * plan.tolerance / mu) ** 2 / (2 * plan.output_sigma**2)
        claimed += (1.4 * 0.25 + alpha) / (eta * 3 * 7000)
    spent = account([plan.charge for plan in plans], DELTA)
    assert spent.proven_epsilon == pytest.approx(curves.epsilon(total, DELTA), abs=1e-9)
    assert spent.claimed_epsilon == pytest.approx(claimed)


def test_r_admms_loss_is_that_of_the_text() -> None:
    plans = plan_objective(linear_rounds(10), "linear-gamma", "gamma", 1.0)
    alpha, mu = plans[0].scale, PROBLEM.curvature
    spent = account([plan.charge for plan in plans], DELTA)
    assert spent.claimed_epsilon == pytest.approx(10 * (2 / 7000) * (1.4 * 0.25 / mu + alpha))
    one = curves.pure(ORDERS, 2 * alpha / 7000 + math.log1p(0.25 / (7000 * mu)))
    output = ORDERS * (2 * plans[0].tolerance / mu) ** 2 / (2 * plans[0].output_sigma ** 2)
    assert spent.proven_epsilon == pytest.approx(curves.epsilon(10 * (one + output), DELTA), abs=1e-9)


def test_a_target_can_be_met_in_the_papers_own_accounting() -> None:
    plans = plan_objective(m_admm_rounds(), "penalty-gamma", "gamma", 3.0, basis="claimed")
    spent = account([plan.charge for plan in plans], DELTA)
    assert spent.claimed_epsilon == pytest.approx(3.0, abs=1e-4)
    assert spent.claimed_epsilon <= 3.0


def test_the_output_noise_of_gamma_rounds_is_negligible() -> None:
    [plan] = plan_objective(linear_rounds(1), "linear-gamma", "gamma", 1.0)
    # The norm of n is d/α, of its effect on the model d/(αμ); the output noise has √d σ2.
    assert plan.output_sigma < 0.02 / (plan.scale * PROBLEM.curvature)


def test_primal_noise_covers_the_solvers_tolerance() -> None:
    rounds = linear_rounds(5)
    for tolerance in (0.0, 1e-3):
        [plan, *_] = plan_primal(rounds, "gaussian", 1.0, tolerance=tolerance)
        shift = (2 / 7000 + 2 * tolerance) / PROBLEM.curvature
        assert mixture_delta(1.0, math.sqrt(5) * shift / plan.scale, nodes=40_001) == pytest.approx(DELTA, rel=1e-5)


def test_pdmls_primal_noise_loses_geometrically() -> None:
    """Erratum 10: ρ_T = (Δ²/2V²) Σ ρ^−(t−1) with Δ = 2L(e^ε+1)/((e^ε−1) m (a/n + 2βV))."""
    label, v, decay = 1.0, 0.05, 0.8
    problem = with_flipped_labels(LocalProblem(500, 0.3), label)
    plans = decaying_rounds(problem, v, decay, 10, tolerance=0.0)
    delta_w = 2 * (math.e + 1) / ((math.e - 1) * 500 * 0.3)
    square = (delta_w / v) ** 2 * sum(decay**-t for t in range(10))
    charges = [label_charge((label,)), *(plan.charge for plan in plans)]
    spent = account(charges, DELTA)
    assert spent.proven_epsilon == pytest.approx(trade_offs.epsilon(TradeOff(square), DELTA))
    by_curves = account([replace_bound(charge) for charge in charges], DELTA).proven_epsilon
    assert by_curves == pytest.approx(curves.epsilon(square / 2 * ORDERS, DELTA))
    assert spent.label_epsilon == label
    assert "labels against everybody" in spent.basis


def test_dp_admm_pays_for_replacing_a_row() -> None:
    """Erratum 9: the paper's own σ, which claims ε, costs far more when a row is replaced."""
    sigma = paper_sigma(1.0, 1e-3, 50, 20_000)
    spent = account([noisy_gradient(20_000, 1.0, sigma).charge] * 50, 1e-3)
    assert spent.claimed_epsilon == pytest.approx(1.0, abs=1e-3)
    assert spent.proven_epsilon is not None
    assert spent.proven_epsilon > 1.4
    plan, *_ = calibrated(lambda s: [noisy_gradient(20_000, 1.0, s)] * 50, 1.0, 1e-3, part="nothing")
    proven = account([plan.charge] * 50, 1e-3).proven_epsilon
    assert proven == pytest.approx(1.0, abs=1e-4)
    assert proven <= 1.0


def test_a_target_that_no_noise_meets_is_refused() -> None:
    tiny = linear_rounds(30, LocalProblem.of(10, 1, 0.01, 0.0))
    with pytest.raises(BudgetError, match=r"the curvature part, log\(1\+κ\) per round, alone costs ε = "):
        plan_objective(tiny, "linear-gamma", "gamma", 1.0)
    with pytest.raises(BudgetError, match="curvature part"):
        plan_objective(tiny, "linear-gamma", "gaussian", 1.0)


def test_pdmls_first_noise_can_be_chosen_for_a_target() -> None:
    problem = with_flipped_labels(LocalProblem(500, 0.3), 1.0)
    plans = calibrated(lambda scale: decaying_rounds(problem, scale, 0.8, 10), 2.0, DELTA, part="nothing")
    assert [plan.scale / plans[0].scale for plan in plans] == pytest.approx([0.8 ** (t / 2) for t in range(10)])
    spent = account([plan.charge for plan in plans], DELTA).proven_epsilon
    assert spent == pytest.approx(2.0, abs=1e-4)
    assert spent <= 2.0


def test_noise_that_the_user_names_costs_what_it_costs() -> None:
    rounds = linear_rounds(10)
    met = plan_objective(rounds, "linear-gamma", "gamma", 1.0)
    assert objective_rounds(rounds, "linear-gamma", "gamma", 1.0 / met[0].scale) == met
    primal = plan_primal(rounds, "gaussian", 1.0)
    assert primal_rounds(rounds, "gaussian", primal[0].scale) == primal


def test_gaussian_variants_are_priced_by_the_sharper_proofs() -> None:
    """σ → w σ_t, with the curvature and κ of each round: DVP's least noise is that of PP-ADMM with the same rounds."""
    rounds = [DataRound(PROBLEM, 0.12)] * 12
    [plan, *_] = plan_objective(rounds, "penalty-gamma", "gaussian", 1.0)
    assert 0.12 * plan.scale == pytest.approx(proven_pp(PROBLEM, 1.0, DELTA, 12).sigma1, rel=1e-4)
    grown = m_admm_rounds()
    found = plan_objective(grown, "penalty-gamma", "gaussian", 1.0)
    squares, leak = np.zeros(2001), np.zeros(2001)
    u = np.linspace(1.0, 9.0, 2001)
    for r, one in zip(grown, found, strict=True):
        ratio = 2 / 7000 / (r.noise_weight * one.scale)
        squares += release_mean(ratio, r.problem.kappa, ratio + u) ** 2
        squares += (2 * one.tolerance / r.problem.curvature / one.output_sigma) ** 2
        leak += release_leak(ratio, r.problem.kappa, ratio + u)
    assert np.min(gaussian_delta(1.0, np.sqrt(squares)) + leak) == pytest.approx(DELTA, rel=0.01)
    before = calibrated(
        lambda s: objective_rounds(grown, "penalty-gamma", "gaussian", s, bound="moments"), 1.0, DELTA, part="-"
    )
    assert found[0].scale < 0.95 * before[0].scale


@given(st.floats(0.01, 50.0), st.floats(1e-9, 1e9))
@settings(max_examples=40, deadline=None)
def test_the_smallest_scale_meets_the_target_and_a_smaller_one_does_not(target: float, unit: float) -> None:
    scale = smallest_scale(lambda s: (unit / s) ** 2 + 0.5 * unit / s, target, "nothing")
    loss = (unit / scale) ** 2 + 0.5 * unit / scale
    assert target * (1 - 1e-8) <= loss <= target


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_a_calibrated_gaussian_is_private_enough_by_its_exact_loss(epsilon: float) -> None:

    def loss(sigma: float) -> float:
        return curves.epsilon(20 * curves.gaussian(ORDERS, 1.0, sigma), 1e-5)

    sigma = smallest_scale(loss, epsilon, "nothing")
    assert pld.gaussian_epsilon(1.0, sigma, 20, 1e-5) <= epsilon + 1e-3
    assert loss(sigma) == pytest.approx(epsilon, abs=1e-6)


def test_a_loss_that_no_noise_reduces_is_refused_by_name() -> None:
    with pytest.raises(BudgetError, match="the floor alone costs ε = 2"):
        smallest_scale(lambda s: 2.0 + 1.0 / s, 1.5, "the floor")
    with pytest.raises(BudgetError, match="above 0"):
        smallest_scale(lambda s: 1.0 / s, 0.0, "nothing")


@pytest.mark.parametrize(("rate", "output"), [(40.0, 0.0), (40.0, 1e-3), (0.0, 0.0)])
def test_a_release_with_gamma_noise_lies_on_the_grid_of_the_noise_that_was_added_last(
    rate: float, output: float
) -> None:
    charge = Charge.of("gaussian", {"sensitivity": 1.0, "sigma": 1.0})
    plan = RoundPlan(scale=rate, tolerance=0.0, output_sigma=output, charge=charge)
    release = np.random.default_rng(4).normal(size=5)
    found = NoiseSchedule("gamma", (plan,)).on_grid(plan, release)
    if not rate:
        assert found.tolist() == release.tolist()
        return
    step = grid(output or gamma_spread(rate, 5))
    assert found.tolist() == (np.round(release / step) * step).tolist() != release.tolist()
