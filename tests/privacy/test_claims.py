from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.privacy import claims

deltas = st.floats(1e-12, 0.5)


@given(st.floats(1e-6, 100.0), deltas)
def test_the_exact_rho_spends_epsilon_and_no_more(epsilon: float, delta: float) -> None:
    assert claims.epsilon_of(claims.rho_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


@given(st.floats(1e-6, 100.0), deltas)
def test_the_printed_rho_overspends_by_itself(epsilon: float, delta: float) -> None:
    rho = claims.printed_rho(epsilon, delta)
    assert claims.epsilon_of(rho, delta) == pytest.approx(epsilon + rho, rel=1e-9)


def test_the_papers_ten_is_twelve_point_seven() -> None:
    """Erratum 8."""
    assert claims.epsilon_of(claims.printed_rho(10.0, 1e-4), 1e-4) == pytest.approx(12.7, abs=0.02)


def test_pure_and_gaussian_losses_have_their_rho() -> None:
    assert claims.pure_rho(0.6) == pytest.approx(0.18)
    assert claims.pure_epsilon(claims.pure_rho(0.6)) == pytest.approx(0.6)
    assert claims.gaussian_rho(2.0, 4.0) == pytest.approx(0.125)
    assert claims.gaussian_rho(0.0, 0.0) == 0.0
    assert claims.gaussian_rho(1.0, 0.0) == math.inf
