"""Mechanisms for anybody's method: what they cost, whose claim they are, and what is only declared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

from simnet.errors import BudgetError
from simnet.privacy import curves
from simnet.privacy.curves import ORDERS
from simnet.privacy.ledger import BARE, RECYCLED, Charge, Ledger, account, network
from simnet.privacy.mechanisms import MECHANISMS
from simnet.privacy.sparse_vector import split
from tests.privacy import pld

DELTA = 1e-5


def of(name: str, **numbers: float) -> Charge:
    return Charge.of(name.replace("_", "-"), numbers, bound="least")


def test_gaussian_noise_costs_what_is_exact():
    spent = account([of("gaussian", sensitivity=0.3, sigma=2.0)] * 12, DELTA)
    assert spent.proven_epsilon == pytest.approx(pld.gaussian_epsilon(0.3, 2.0, 12, DELTA), abs=1e-3)
    assert spent.basis == "Gaussian noise; exact Gaussian composition"


def test_laplace_noise_costs_what_dp_accounting_says_and_not_much_more():
    for times in (1, 5, 200):
        spent = account([of("laplace", sensitivity=0.1, scale=1.0)] * times, DELTA).proven_epsilon
        exact = pld.laplace_epsilon(0.1, 1.0, times, DELTA)
        assert spent is not None
        assert exact - 1e-3 <= spent <= max(1.3 * exact, times * 0.1)
    assert account([of("laplace", sensitivity=0.1, scale=1.0)], 1e-12).proven_epsilon == pytest.approx(0.1)


def test_the_laplace_curve_is_the_divergence_of_two_densities():
    for ratio in (1e-4, 0.03, 0.7, 4.0, 50.0):
        for a in (1.1, 2.0, 9.5):

            def density(x: float, a: float = a, ratio: float = ratio) -> float:
                return 0.5 * math.exp(-a * abs(x) + (a - 1) * abs(x - ratio) - a * ratio)

            # The factor e^(aρ) keeps the integrand small; it is taken out again below.
            found = sum(
                integrate.quad(density, low, high, epsabs=0.0, epsrel=1e-12)[0]
                for low, high in ((-60.0, 0.0), (0.0, ratio), (ratio, ratio + 60.0))
            )
            truth = (math.log(found) + a * ratio) / (a - 1)
            assert float(curves.laplace(np.array([a]), ratio)[0]) == pytest.approx(truth, rel=2e-6, abs=1e-12)


def test_a_move_that_is_spread_over_several_numbers_costs_no_more():
    for ratio in (0.01, 1.0, 20.0):
        whole = curves.laplace(ORDERS, ratio)
        parts = sum(curves.laplace(ORDERS, share * ratio) for share in (0.5, 0.3, 0.2))
        assert np.all(parts <= whole * (1.0 + 1e-12))
        assert np.all(whole <= curves.pure(ORDERS, ratio) * (1.0 + 1e-9))


def test_a_pure_and_a_zero_concentrated_mechanism_cost_what_they_say():
    assert account([of("pure", epsilon=0.4)], 1e-12).proven_epsilon == pytest.approx(0.4)
    rho = 0.01
    gaussian = account([Charge.of("gaussian", {"sensitivity": math.sqrt(2 * rho), "sigma": 1.0})], DELTA)
    assert account([of("zcdp", rho=rho)], DELTA).proven_epsilon == pytest.approx(gaussian.proven_epsilon, rel=1e-9)


def test_a_threshold_test_costs_what_its_noise_was_drawn_for():
    first, second = split(0.6, 5)
    numbers = {"sensitivity": 0.02, "threshold_scale": 0.02 / first, "query_scale": 2 * 5 * 0.02 / second, "cap": 5}
    test = Charge.of("threshold-test", numbers, "test", bound="least")
    assert account([test], 1e-12).proven_epsilon == pytest.approx(0.6)
    bare = Charge.of("threshold-test", numbers | {"query_scale": 0.0}, "test", bound="least")
    assert account([bare], DELTA).proven_epsilon is None


def test_no_paper_claims_what_anybody_may_use():
    """A method by noisy gradients used to print DP-ADMM's claim."""
    for name, numbers in (
        ("gaussian", {"sensitivity": 1.0, "sigma": 3.0}),
        ("laplace", {"sensitivity": 1.0, "scale": 3.0}),
        ("pure", {"epsilon": 1.0}),
        ("zcdp", {"rho": 0.1}),
        ("subsampled-gaussian", {"rate": 0.1, "sensitivity": 1.0, "sigma": 3.0}),
        ("threshold-test", {"sensitivity": 1.0, "threshold_scale": 3.0, "query_scale": 9.0, "cap": 2}),
    ):
        spent = account([Charge.of(name, numbers)], DELTA)
        assert spent.claimed_epsilon is None
        assert spent.proven_epsilon is not None
        assert spent.declared_epsilon is None


def test_what_is_declared_is_told_and_never_proven():
    declared, proven = of("declared_pure", epsilon=0.3), of("gaussian", sensitivity=0.2, sigma=1.0)
    spent = account([declared, proven], DELTA)
    same = account([of("pure", epsilon=0.3), proven], DELTA)
    assert (spent.proven_epsilon, spent.claimed_epsilon) == (None, None)
    assert spent.declared_epsilon == same.proven_epsilon
    assert "declared, not proven" in spent.basis
    ledger = Ledger(DELTA, budget=10.0)
    assert not ledger.afford(declared)
    assert ledger.account().proven_epsilon == 0.0


def test_declared_charges_beside_a_bare_one_give_nothing_finite():
    assert account([of("declared_zcdp", rho=0.1), BARE], DELTA).declared_epsilon == math.inf


def test_a_declared_curve_is_read_between_its_orders_from_above():
    rho, at = 0.02, (1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0, 64.0)
    curve = Charge.of("declared-renyi", {f"order-{a:g}": a * rho for a in at})
    spent = account([curve] * 3, DELTA)
    exact = account([of("declared_zcdp", rho=rho)] * 3, DELTA).declared_epsilon
    assert spent.proven_epsilon is None
    assert spent.declared_epsilon is not None
    assert exact is not None
    assert exact <= spent.declared_epsilon <= 1.05 * exact
    between = curves.between(ORDERS, {a: a * rho for a in at})
    inside = ORDERS <= 64.0
    assert np.all(between[inside] >= (ORDERS * rho)[inside] * (1 - 1e-12))
    assert np.all(np.isinf(between[~inside]))
    # Nothing declared is no curve at all.
    assert account([Charge.of("declared-renyi", {})], DELTA).declared_epsilon == math.inf


@pytest.mark.parametrize("key", ["order-1", "order-", "order-x", "order-inf", "order-nan", "degree-2"])
def test_an_order_that_is_none_is_refused(key):
    with pytest.raises(BudgetError, match="has no parameter"):
        Charge.of("declared-renyi", {key: 0.1})


def test_a_network_declares_the_worst_of_its_agents():
    declares = account([of("declared_pure", epsilon=0.3)], DELTA)
    proves, dear = (account([of("pure", epsilon=e)], 1e-12) for e in (0.1, 0.9))
    bare = account([BARE], DELTA)
    assert network([declares, proves]).declared_epsilon == declares.declared_epsilon
    assert network([declares, dear]).declared_epsilon == dear.proven_epsilon
    assert network([declares, bare]).declared_epsilon == math.inf
    assert network([proves, dear]).declared_epsilon is None


def test_a_charge_that_nobody_can_price_cannot_be_made():
    """Beside the door that checks: an unknown mechanism used to get as far as the log."""
    for broken in (("sleight-of-hand", ()), ("gaussian", (("sigma", 1.0),)), ("recycled", (("sigma", 1.0),))):
        with pytest.raises(BudgetError):
            Charge(*broken)
    with pytest.raises(BudgetError, match="at least one use"):
        Charge("recycled", (), times=0)
    assert Charge("recycled", ()) == RECYCLED


def test_only_what_begins_with_declared_is_declared():
    assert {name for name, each in MECHANISMS.items() if each.declared} == {
        name for name in MECHANISMS if name.startswith("declared-")
    }


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("gaussian", {"sensitivity": 0.0, "sigma": 1.0}),
        ("laplace", {"sensitivity": 0.0, "scale": 1.0}),
        ("pure", {"epsilon": 0.0}),
        ("zcdp", {"rho": 0.0}),
        ("subsampled-gaussian", {"rate": 0.0, "sensitivity": 1.0, "sigma": 1.0}),
        ("threshold-test", {"sensitivity": 1.0, "threshold_scale": 1.0, "query_scale": 1.0, "cap": 0.0}),
    ],
)
def test_what_costs_nothing_is_called_recycled(name, numbers):
    """Any of these used to pay for a release of anything: ε = 0, proven."""
    with pytest.raises(BudgetError, match="= 0, but what depends on no row is charged as recycled"):
        of(name, **numbers)


def test_a_query_and_a_release_at_the_same_price_are_two():
    """Only a test that decides what is released is paid for in advance; else half of this went uncounted."""
    once = of("zcdp", rho=0.1)
    both = [replace(once, kind="test"), once]
    assert account(both, DELTA) == account([once] * 2, DELTA)
    gate = Charge.of(
        "threshold-test", {"sensitivity": 1.0, "threshold_scale": 9.0, "query_scale": 9.0, "cap": 1.0}, "test"
    )
    assert account([gate, *both], DELTA) == account([gate, once], DELTA)
