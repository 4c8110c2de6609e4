from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.privacy import claims, curves
from simnet.privacy.curves import ORDERS
from simnet.privacy.ledger import RECYCLED, Account, Charge, Ledger, account, claimed, network
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.problem import LocalProblem
from tests.methods.plans import proven_ipp, proven_pp
from tests.privacy import pld

DELTA = 1e-4
PROBLEM = LocalProblem.of(7000, 2, 0.01, 1e-4)


def gradient(sigma: float, kind: str = "release", times: int = 1) -> Charge:
    return Charge.of("noisy-gradient", {"rows": 100, "gradient_bound": 1.0, "sigma": sigma}, kind, times)


def test_what_a_gaussian_release_costs_is_what_dp_accounting_says() -> None:
    from dp_accounting import GaussianDpEvent, rdp

    spent = account([gradient(0.5)] * 7, DELTA)
    # Replacing one of 100 rows moves the mean gradient by 2/100: noise multiplier 25.
    theirs = rdp.RdpAccountant().compose(GaussianDpEvent(25.0), 7).get_epsilon(DELTA)
    assert spent.proven_epsilon == pytest.approx(theirs, abs=1e-3)
    assert spent.claimed_epsilon == pytest.approx(claims.epsilon_of(7 * 0.5 * (0.01 / 0.5) ** 2, DELTA))
    assert spent.basis == "Gaussian noise on the gradient; Rényi composition"


def test_the_same_release_charged_by_the_least_of_what_is_proven_costs_what_is_exact() -> None:
    numbers = {"rows": 100, "gradient_bound": 1.0, "sigma": 0.5}
    spent = account([Charge.of("noisy-gradient", numbers, bound="least")] * 7, DELTA)
    assert spent.basis == "Gaussian noise on the gradient; exact Gaussian composition"
    exact = pld.gaussian_epsilon(0.02, 0.5, 7, DELTA)
    assert spent.proven_epsilon == pytest.approx(exact, abs=1e-3)
    assert spent.proven_epsilon < 0.9 * account([gradient(0.5)] * 7, DELTA).proven_epsilon


def test_an_account_names_the_proof_that_gave_the_least() -> None:
    flat = LocalProblem.of(7000, 2, 0.1, 1e-4)
    minimiser = "Gaussian objective perturbation with curvature and noise on the approximate minimiser"
    for problem, bound, composition in (
        (PROBLEM, "moments", "Rényi composition"),
        (PROBLEM, "transport", "Rényi composition"),
        (PROBLEM, "least", "Rényi composition of transport bounds"),
        (flat, "least", "Gaussian trade-offs (theorem G)"),
    ):
        plan = proven_pp(problem, 0.5, DELTA, 30, bound=bound)
        assert account(plan.charges, DELTA).basis == f"{minimiser}; {composition}"
    test = proven_ipp(PROBLEM, 1.0, DELTA, 15, 30, 2.0).opening[0]
    assert account([test], 1e-12).basis == "sparse vector technique; composition of pure ε"


def test_a_charge_of_an_older_log_keeps_its_price() -> None:
    """Charges say which proofs price them; those that say nothing are priced as they were when they were made."""
    plan = proven_pp(PROBLEM, 0.5, DELTA, 30)
    numbers = {name: value for name, value in plan.release.parameters if name != "least"}
    curve = curves.objective(ORDERS, PROBLEM.gradient_shift / plan.sigma1, PROBLEM.kappa)
    curve = curve + curves.gaussian(ORDERS, 2 * plan.tolerance / PROBLEM.curvature, plan.sigma2)
    old = account([Charge.of("perturbed-minimiser", numbers)] * 30, DELTA)
    assert old.proven_epsilon == pytest.approx(curves.epsilon(30 * curve, DELTA), rel=1e-12)
    mixed = account([*[Charge.of("perturbed-minimiser", numbers)] * 29, plan.release], DELTA)
    assert mixed.basis.endswith("Rényi composition")


@given(st.lists(st.sampled_from(["pp", "flat", "gradient", "gamma"]), min_size=1, max_size=12), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_what_has_been_spent_never_falls_and_never_exceeds_the_budget(kinds: list[str], budget: float) -> None:
    """Each proof alone grows with every charge, so the least of them does, whichever is the least at the time."""
    charges = {
        "pp": proven_pp(PROBLEM, 0.5, DELTA, 3).release,
        "flat": proven_pp(LocalProblem.of(7000, 2, 0.1, 0.0), 0.4, DELTA, 2).release,
        "gradient": Charge.of("noisy-gradient", {"rows": 100, "gradient_bound": 1.0, "sigma": 0.2}, bound="least"),
        "gamma": Charge.of("primal-gamma", problem_parameters(PROBLEM) | {"rate": 5.0, "tolerance": 0}, bound="least"),
    }
    ledger, before = Ledger(DELTA, budget), 0.0
    for kind in kinds:
        ledger.afford(charges[kind])
        now = ledger.account().proven_epsilon
        assert now is not None
        assert before - 1e-9 <= now <= budget
        before = now


def test_an_account_needs_nothing_but_the_charges_of_a_log() -> None:
    plan = proven_pp(PROBLEM, 0.5, DELTA, 30)
    log = [json.dumps([plan.release.mechanism, dict(plan.release.parameters)]) for _ in range(30)]
    read = account((Charge.of(*json.loads(line)) for line in log), DELTA)
    assert read.proven_epsilon == plan.epsilon


def test_a_test_pays_in_advance_and_its_releases_are_free_until_they_are_used_up() -> None:
    plan = proven_ipp(PROBLEM, 1.0, DELTA, 15, 30, 2.0)
    before = account(plan.opening, DELTA)
    assert before.proven_epsilon == plan.epsilon
    for made in (1, 14, 15):
        assert account((*plan.opening, *[plan.release] * made), DELTA).proven_epsilon == plan.epsilon
    beyond = account((*plan.opening, *[plan.release] * 16), DELTA).proven_epsilon
    assert beyond is not None
    assert beyond > plan.epsilon


def test_what_was_released_before_a_test_was_paid_for_uses_up_nothing_of_it() -> None:
    """Also where its numbers are those of what the test lets pass: the price is that of both, whatever passes."""
    plan = proven_ipp(PROBLEM, 1.0, DELTA, 15, 30, 2.0)
    full = account((plan.release, *plan.opening, *[plan.release] * 15), DELTA).proven_epsilon
    assert full is not None
    assert full > plan.epsilon
    for made in (0, 1, 14):
        assert account((plan.release, *plan.opening, *[plan.release] * made), DELTA).proven_epsilon == full


def test_a_ledger_stops_before_it_goes_over() -> None:
    plan = proven_pp(PROBLEM, 0.5, DELTA, 30)
    ledger = Ledger(DELTA, 0.5)
    for _ in range(30):
        assert ledger.afford(plan.release)
    assert not ledger.afford(plan.release)
    with pytest.raises(BudgetError, match=r"would go over the budget of ε = 0\.5"):
        ledger.spend(plan.release)
    spent = ledger.account().proven_epsilon
    assert spent is not None
    assert 0.5 - 1e-4 < spent <= 0.5


@given(st.lists(st.tuples(st.sampled_from([0.2, 0.5, 1.0, 3.0]), st.integers(1, 4)), max_size=25))
@settings(max_examples=50, deadline=None)
def test_no_sequence_of_charges_gets_a_ledger_over_its_budget(wishes: list[tuple[float, int]]) -> None:
    ledger, refused = Ledger(DELTA, 0.8), False
    for sigma, times in wishes:
        charge = gradient(sigma, times=times)
        refused |= not ledger.afford(charge)
        spent = ledger.account().proven_epsilon
        assert spent is not None
        assert spent <= 0.8
    everything = account([gradient(sigma, times=times) for sigma, times in wishes], DELTA).proven_epsilon
    assert everything is not None
    assert refused == (everything > 0.8)


def test_charges_are_made_together_or_not_at_all() -> None:
    ledger = Ledger(DELTA, 0.3)
    with pytest.raises(BudgetError):
        ledger.spend(gradient(1.0), gradient(0.01))
    assert ledger.account() == Account(0.0, 0.0, "nothing was released")


@given(st.lists(st.sampled_from([0.3, 0.7, 2.0]), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_charges_does_not_matter(sigmas: list[float], random: object) -> None:
    shuffled = list(sigmas)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (account([gradient(s) for s in order], DELTA) for order in (sigmas, shuffled))
    assert one.proven_epsilon == pytest.approx(other.proven_epsilon, rel=1e-12)
    assert one.claimed_epsilon == pytest.approx(other.claimed_epsilon, rel=1e-12)


def test_a_model_without_noise_has_no_finite_epsilon() -> None:
    spent = account([Charge.of("bare-model", {})], DELTA)
    assert (spent.claimed_epsilon, spent.proven_epsilon) == (None, None)
    assert not Ledger(DELTA, 100.0).afford(Charge.of("bare-model", {}))
    assert Ledger(DELTA).afford(Charge.of("bare-model", {}))


def test_an_uncertified_minimiser_without_output_noise_is_not_private() -> None:
    numbers = {"rows": 100, "curvature": 1.0, "lipschitz": 1.0, "smoothness": 0.25, "weight": 1.0, "rate": 1.0}
    numbers |= {"noise_weight": 1.0, "tolerance": 1e-12, "output_sigma": 0.0}
    spent = account([Charge.of("linear-gamma", numbers)], DELTA)
    assert spent.proven_epsilon is None
    assert spent.claimed_epsilon is not None


def test_the_network_is_as_private_as_its_worst_agent() -> None:
    accounts = [Account(1.0, 0.5, "a; b"), Account(0.2, 0.9, "b; c")]
    assert network(accounts) == Account(1.0, 0.9, "a; b; c")
    assert network([*accounts, Account(None, 0.1, "d")]).claimed_epsilon is None


def test_labels_and_rows_of_a_reported_data_set_have_separate_guarantees() -> None:
    label = Charge.of("reported-label", {"label_epsilon": 0.7})
    numbers = {"rows": 100, "curvature": 1.0, "lipschitz": 1.0, "smoothness": 0.25, "weight": 1.0}
    model = Charge.of("reported-primal", numbers | {"sigma": 0.5, "tolerance": 0.0})
    spent = account([label, model, model], DELTA)
    assert spent.label_epsilon == 0.7
    assert spent.claimed_epsilon == 0.7
    assert spent.proven_epsilon == curves.epsilon(2 * curves.gaussian(ORDERS, 0.02, 0.5), DELTA)


@pytest.mark.parametrize(
    ("name", "parameters", "times", "complaint"),
    [
        ("magic", {}, 1, "'magic' is not a mechanism"),
        ("noisy-gradient", {}, 1, "needs gradient_bound"),
        ("bare-model", {"x": 1.0}, 1, "no parameter x"),
        ("bare-model", {}, 0, "at least one use"),
    ],
)
def test_a_charge_that_makes_no_sense_is_refused(
    name: str, parameters: dict[str, float], times: int, complaint: str
) -> None:
    with pytest.raises(BudgetError, match=complaint):
        Charge.of(name, parameters, "release", times)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_a_charge_with_impossible_numbers_is_refused(bad: float) -> None:
    with pytest.raises(BudgetError, match="finite and not negative"):
        gradient(bad)


def test_agents_with_equal_charges_are_priced_once() -> None:
    from simnet.privacy.ledger import _account, _after

    charges = [gradient(1.0 + t) for t in range(10)]
    ledgers = [Ledger(DELTA, 5.0) for _ in range(2_000)]
    states, prices = _after.cache_info().misses, _account.cache_info().misses
    for charge in charges:
        for ledger in ledgers:
            ledger.spend(charge)
        worst = network(ledger.account() for ledger in ledgers)
    assert worst == account(charges, DELTA)
    assert _after.cache_info().misses - states <= 10
    assert _account.cache_info().misses - prices <= 10


def test_equal_charges_share_their_curve_and_nobody_can_change_it() -> None:
    from simnet.privacy.ledger import curve_of

    curve = curve_of(gradient(1.0).use)
    assert curve is curve_of(gradient(1.0).use)
    with pytest.raises(ValueError, match="read-only"):
        curve[0] = 0.0
    assert np.all(np.diff(curve) > 0)


def test_the_claimed_price_alone_is_the_one_of_the_whole_account():
    problem = {
        "noise_weight": 1.0,
        "rows": 500.0,
        "lipschitz": 1.0,
        "smoothness": 0.25,
        "curvature": 0.3,
        "weight": 1.0,
    }
    charges = [
        Charge.of("linear-gamma", problem | {"rate": 3.0 + t, "tolerance": 1e-6, "output_sigma": 1e-3})
        for t in range(4)
    ]
    plain = sum(2 / 500 * (1.4 * 0.25 / 0.3 + 3.0 + t) for t in range(4))
    assert claimed(charges, 1e-4) == account(charges, 1e-4).claimed_epsilon == pytest.approx(plain)


def test_only_what_was_paid_for_can_be_recycled_later() -> None:
    ledger = Ledger(DELTA)
    assert not ledger.paid
    ledger.spend(RECYCLED)
    assert not ledger.paid, "recycled values are made of others"
    ledger.spend(gradient(0.5))
    assert ledger.paid
