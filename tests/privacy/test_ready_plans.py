"""Plans that anybody's method can use: they meet the budget, keep to the grid, and an auditor finds their noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simnet.errors import BudgetError
from simnet.privacy.budget import Privacy
from simnet.privacy.ledger import BARE, account
from simnet.privacy.noise import grid
from simnet.privacy.noise_schedule import DRAWS
from simnet.privacy.problem import LocalProblem
from simnet.privacy.ready_plans import (
    gaussian_plan,
    laplace_plan,
    mean_sensitivity,
    objective_plan,
    sampled_plan,
    threshold_test,
    zcdp_plan,
)
from simnet.privacy.secret_noise import CipherNoise

PRIVACY = Privacy(epsilon=1.0, delta=1e-5)
BARELY = PRIVACY.model_copy(update={"calibration": "none"})
PAPER = PRIVACY.model_copy(update={"calibration": "paper"})
PROBLEM = LocalProblem.of(7000, 2, 0.1, 1e-4, features=5)
EVERY = {
    "gaussian": lambda p: gaussian_plan(p, 20, 0.01),
    "weighted": lambda p: gaussian_plan(p, 3, 0.01, weights=(1.0, 2.0, 4.0)),
    "gated": lambda p: gaussian_plan(p, 20, 0.01, test=threshold_test(p, 0.02, 0.1, 4)),
    "gated, one release": lambda p: gaussian_plan(p, 20, 0.01, test=threshold_test(p, 0.02, 0.1, 1)),
    "laplace": lambda p: laplace_plan(p, 20, 0.01),
    "sampled": lambda p: sampled_plan(p, 20, 0.01, 0.1),
    "zcdp": lambda p: zcdp_plan(p, 20),
    "zcdp by weights": lambda p: zcdp_plan(p, 3, (1.0, 2.0, 4.0)),
    "objective": lambda p: objective_plan(p, 20, PROBLEM),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_plan_meets_the_budget_by_proof_and_hardly_below_it(name):
    plan = EVERY[name](PRIVACY)
    spent = account(plan.charges, PRIVACY.delta)
    assert spent.proven_epsilon is not None
    assert 0.999 <= spent.proven_epsilon <= 1.0
    assert spent.claimed_epsilon is None
    assert plan.facts(PRIVACY.delta)["ε claimed"] == "no paper covers this"


@pytest.mark.parametrize("name", EVERY)
def test_without_privacy_every_plan_is_bare(name):
    plan = EVERY[name](BARELY)
    assert {charge.mechanism for charge in plan.charges} == {BARE.mechanism}
    assert account(plan.charges, PRIVACY.delta).proven_epsilon is None
    assert plan.facts(PRIVACY.delta)["ε proven"] == "no finite one"


@pytest.mark.parametrize("name", EVERY)
def test_no_paper_has_a_price_for_them(name):
    with pytest.raises(BudgetError, match="no paper has a price for this method's noise"):
        EVERY[name](PAPER)


@pytest.mark.parametrize("name", EVERY)
def test_a_liar_has_less_noise_at_the_full_price(name):
    plan = EVERY[name](PRIVACY)
    weak = plan.weakened(0.5)
    assert weak.charges == plan.charges
    if name.startswith("zcdp"):
        assert weak.rho(1) == pytest.approx(4 * plan.rho(1))
    elif name == "objective":
        assert weak.sigma1 == 0.5 * plan.sigma1
    else:
        assert weak.rounds[0].scale == 0.5 * plan.rounds[0].scale


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
@pytest.mark.parametrize("source", [lambda: np.random.default_rng(5), lambda: CipherNoise(bytes(32))])
def test_what_is_released_lies_on_the_grid_and_its_noise_is_found_again(name, source):
    plan, rng = EVERY[name](PRIVACY), source()
    clean, step = np.linspace(-0.3, 0.3, 400), grid(plan.rounds[0].scale)
    released = plan.perturb(1, clean, rng)
    assert np.all(released / step == np.rint(released / step))
    found = plan.noise_in(1, clean, released)
    assert found.noise == pytest.approx(released - clean)
    assert found.standard is not None
    assert stats.kstest(found.standard, "norm").pvalue > 1e-3
    assert plan.noise_in(1, clean + 5 * plan.rounds[0].scale, released).log_likelihood < found.log_likelihood
    weak = plan.weakened(0.5)
    thin = plan.noise_in(1, clean, weak.perturb(1, clean, rng)).standard
    assert thin is not None
    assert stats.kstest(thin, "norm").pvalue < 1e-6


def test_a_bare_plan_releases_what_it_is_given():
    clean = np.array([0.1, -7.0])
    for name in ("gaussian", "laplace", "sampled"):
        assert EVERY[name](BARELY).perturb(3, clean, np.random.default_rng(1)).tolist() == clean.tolist()


def test_rounds_have_the_noise_of_their_share():
    plan = EVERY["weighted"](PRIVACY)
    scales = [each.scale for each in plan.rounds]
    assert scales[0] == pytest.approx(2 * scales[2])
    assert scales[0] == pytest.approx(math.sqrt(2) * scales[1])
    assert EVERY["zcdp by weights"](PRIVACY).rho(3) == pytest.approx(4 * EVERY["zcdp by weights"](PRIVACY).rho(1))
    with pytest.raises(BudgetError, match="weights: one number above 0 for each of the 3 rounds"):
        gaussian_plan(PRIVACY, 3, 0.01, weights=(1.0, 2.0))


def test_a_sample_takes_each_row_with_its_rate_and_needs_less_noise():
    plan, rng = EVERY["sampled"](PRIVACY), CipherNoise(bytes(32))
    counts = [len(plan.sample(rng, 1000)) for _ in range(50)]
    assert np.mean(counts) == pytest.approx(100, abs=6)
    assert len(set(counts)) > 10
    # A row that is taken moves the sum by up to twice its bound.
    assert plan.rounds[0].scale < 0.5 * gaussian_plan(PRIVACY, 20, 0.02).rounds[0].scale
    with pytest.raises(BudgetError, match=r"rate = 0\.0: a share"):
        sampled_plan(PRIVACY, 20, 0.01, 0.0)


def test_the_noise_of_a_sampled_round_is_told_with_its_sample_as_noise():
    plan, rng = EVERY["sampled"](PRIVACY), np.random.default_rng(3)
    rows = rng.normal(size=(300, 6))
    rows *= 0.01 / np.linalg.norm(rows, axis=1, keepdims=True)
    found = []
    for t in range(1, 21):
        for _ in range(10):
            chosen = plan.sample(rng, len(rows))
            released = plan.perturb(t, rows[chosen].sum(axis=0), rng)
            found.append(plan.noise_among(t, rows, released).standard)
    assert stats.kstest(np.concatenate(found), "norm").pvalue > 1e-3


def test_releases_behind_a_gate_are_paid_in_advance_and_cost_less_noise_than_all_rounds():
    plan = EVERY["gated"](PRIVACY)
    assert [charge.mechanism for charge in plan.opening] == ["threshold-test", "gaussian"]
    assert {charge.kind for charge in plan.opening} == {"test"}
    assert plan.opening[1].times == 4
    assert plan.opening[1].use == plan.charge(17).use
    assert account(plan.opening, PRIVACY.delta) == account(plan.charges, PRIVACY.delta)
    assert plan.rounds[0].scale < EVERY["gaussian"](PRIVACY).rounds[0].scale
    test = plan.gate.begin(np.random.default_rng(1))
    assert sum(test.test(5.0) for _ in range(20)) == 4


def test_objective_perturbation_in_four_lines():
    """The minimiser of (μ/2)|θ|² + b·θ is known: what comes out is that, with little noise on it."""
    plan, rng = EVERY["objective"](PRIVACY), np.random.default_rng(2)
    b1, b2 = plan.draw(rng, 5)
    theta = -b1 / PROBLEM.curvature
    released = plan.finished(theta, b2)
    assert np.linalg.norm(released - theta) < 10 * plan.sigma2 * math.sqrt(5)
    assert plan.release.mechanism == "objective-perturbation"
    assert math.isfinite(plan.domain)


def test_noise_that_somebody_names_costs_what_it_comes_to():
    plan = gaussian_plan(PRIVACY, 20, 0.01, sigma=0.5)
    assert {each.scale for each in plan.rounds} == {0.5}
    assert account(plan.charges, PRIVACY.delta).proven_epsilon > 0.1


def test_a_mean_moves_by_two_bounds_over_its_rows_and_a_little_for_rounding():
    assert mean_sensitivity(100, 0.5) == pytest.approx(0.01, rel=2e-6)
    assert mean_sensitivity(100, 0.5) > 0.01


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_a_release_is_the_clean_value_plus_the_noise_as_it_is_drawn(name):
    """Turned noise would hide as much, and give every run another digest."""
    plan, clean = EVERY[name](PRIVACY), np.arange(4.0)
    drawn = DRAWS[plan.noise](np.random.default_rng(7), plan.rounds[0].scale, 4)
    released = plan.perturb(1, clean, np.random.default_rng(7))
    assert np.abs(released - clean - drawn).max() < 0.01 * plan.rounds[0].scale  # it lies on a grid
