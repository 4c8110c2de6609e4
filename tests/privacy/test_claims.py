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


NUMBERS = {
    "weight": 1.5,
    "smoothness": 0.25,
    "rate": 3.0,
    "rows": 80.0,
    "curvature": 0.7,
    "lipschitz": 0.9,
    "noise_weight": 5.0,
    "clip": 2.0,
    "cap": 4.0,
    "threshold_scale": 6.0,
    "query_scale": 11.0,
    "gradient_bound": 1.25,
    "sigma": 0.6,
    "label_epsilon": 0.8,
}


@pytest.mark.parametrize("printed", [0.0, 1.0])
def test_a_sparse_vector_whose_scales_are_the_papers_costs_the_papers_epsilons(printed: float) -> None:
    """Lemma 6 draws the threshold's noise with cS/ε1 and the query's with 2cS/ε2; Lemma 7 prices both together."""
    epsilon1, epsilon2, cap, rows, clip = 0.3, 0.5, 4.0, 80.0, 2.0
    sensitivity = 2 * clip if printed else 2 * clip / rows
    scales = {"threshold_scale": cap * sensitivity / epsilon1, "query_scale": 2 * cap * sensitivity / epsilon2}
    claim = claims.sparse_vector({"clip": clip, "cap": cap, "rows": rows, "printed": printed} | scales)
    assert claim == claims.Claim(rho=pytest.approx((epsilon1 + epsilon2) ** 2 / 2))


def test_every_theorem_read_backwards_gives_the_epsilon_that_it_began_with() -> None:
    p = NUMBERS
    # ε = C(1.4 c1 + α)/(ηVm), with 2ηV for the noise's weight.
    eta_v = p["noise_weight"] / 2
    m_admm = p["weight"] * (1.4 * p["smoothness"] + p["rate"]) / (eta_v * p["rows"])
    assert claims.penalty_gamma(p) == claims.Claim(pure=pytest.approx(m_admm))
    r_admm = 2 * p["weight"] * (1.4 * p["smoothness"] / p["curvature"] + p["rate"]) / p["rows"]
    assert claims.linear_gamma(p) == claims.Claim(pure=pytest.approx(r_admm))
    # A minimiser moves by at most 2CL/(mμ), and gamma-type noise of rate α pays α for each unit.
    moved = 2 * p["weight"] * p["lipschitz"] / (p["rows"] * p["curvature"])
    assert claims.primal_gamma(p) == claims.Claim(pure=pytest.approx(p["rate"] * moved))
    assert claims.noisy_gradient(p).rho == pytest.approx((p["gradient_bound"] / p["rows"]) ** 2 / (2 * p["sigma"] ** 2))
    assert claims.reported_label(p) == claims.Claim(label=p["label_epsilon"])


def test_a_perturbed_minimiser_costs_what_theorem_one_says_or_it_says_nothing() -> None:
    delta1, epsilon3, epsilon1, output = 1e-3, 0.4, 0.9, 0.05
    p = {"lipschitz": 0.9, "rows": 80.0, "smoothness": 0.25, "weight": 1.0, "delta1": delta1}
    p["sigma"] = 2 * p["lipschitz"] * math.sqrt(2 * math.log(1.25 / delta1)) / (p["rows"] * epsilon3)
    p["regulariser"] = 2.8 * p["smoothness"] / (p["rows"] * (epsilon1 - epsilon3))
    p |= {"tolerance": 0.02, "curvature": 0.1, "output_sigma": output}
    exact = claims.rho_of(epsilon1, delta1) + (0.02 / 0.1) ** 2 / (2 * output**2)
    assert claims.perturbed_minimiser(p) == claims.Claim(rho=pytest.approx(exact))
    for missing in ({"regulariser": 0.0}, {"weight": 1.5}, {"sigma": 0.0}):
        assert claims.perturbed_minimiser(p | missing) is None


def test_what_has_no_noise_has_no_price_that_anybody_could_pay() -> None:
    assert claims.sparse_vector(NUMBERS | {"printed": 0.0, "query_scale": 0.0}).rho == math.inf
    assert claims.sparse_vector(NUMBERS | {"printed": 0.0, "threshold_scale": 0.0}).rho == math.inf
    assert claims.penalty_gamma(NUMBERS | {"noise_weight": 0.0}).pure == math.inf
    assert claims.noisy_gradient(NUMBERS | {"sigma": 0.0}).rho == math.inf
    assert claims.bare_model({}).pure == math.inf
    assert claims.nothing({}) == claims.Claim(0.0, 0.0, 0.0)


def test_a_threshold_drawn_once_claims_less_and_older_logs_keep_what_they_claimed() -> None:
    """The price of a word in a log is for ever: drawn once, the threshold has a word of its own."""
    epsilon1, epsilon2, cap, rows, clip = 0.3, 0.5, 4.0, 80.0, 2.0
    shift = 2 * clip / rows
    p = {"clip": clip, "cap": cap, "rows": rows, "printed": 0.0, "redraw": 0.0}
    p |= {"threshold_scale": shift / epsilon1, "query_scale": 2 * cap * shift / epsilon2}
    assert claims.single_threshold(p) == claims.Claim(rho=pytest.approx((epsilon1 + epsilon2) ** 2 / 2))
    assert claims.sparse_vector(p) == claims.Claim(rho=pytest.approx((cap * epsilon1 + epsilon2) ** 2 / 2))
