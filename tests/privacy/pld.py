"""Privacy loss distributions of plain mechanisms: an answer that does not pass through Rényi orders.

dp-accounting's PLDs are exact up to a pessimistic discretisation. They know nothing of objective perturbation, so the
ledger cannot use them; they check curves and trade-offs where both apply.
"""

from __future__ import annotations


def gaussian_epsilon(sensitivity: float, sigma: float, times: int, delta: float) -> float:
    """ε at δ of `times` Gaussian mechanisms."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_gaussian_mechanism(sigma / sensitivity, use_connect_dots=True)
    return float(one.self_compose(times).get_epsilon_for_delta(delta))


def laplace_epsilon(sensitivity: float, scale: float, times: int, delta: float) -> float:
    """ε at δ of `times` Laplace mechanisms."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_laplace_mechanism(scale / sensitivity, use_connect_dots=True)
    return float(one.self_compose(times).get_epsilon_for_delta(delta))


def randomised_response_epsilon(label_epsilon: float, times: int, delta: float) -> float:
    """ε at δ of `times` binary randomised responses that keep the truth with probability e^ε/(1+e^ε)."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    from simnet.privacy.noise import flip_probability

    # dp-accounting's noise parameter is the chance of a uniformly random answer: twice the chance of a wrong one.
    one = pld.from_randomized_response(2.0 * flip_probability(label_epsilon), 2)
    return float(one.self_compose(times).get_epsilon_for_delta(delta))


def response_beside_gaussian(label_epsilon: float, mean: float, delta: float) -> float:
    """ε at δ of a binary randomised response beside a Gaussian mechanism of sensitivity/σ = `mean`."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    from simnet.privacy.noise import flip_probability

    response = pld.from_randomized_response(2.0 * flip_probability(label_epsilon), 2)
    gaussian = pld.from_gaussian_mechanism(1.0 / mean, use_connect_dots=True)
    return float(response.compose(gaussian).get_epsilon_for_delta(delta))


def sampled_epsilon(rate: float, ratio: float, times: int, delta: float) -> float:
    """ε at δ of `times` pairs (1−q)N(0, 1) + qN(±ν, 1), seen through cells so narrow that hardly anything is lost.

    What is seen through cells is a function of the truth, so this is no more than it.
    """
    import numpy as np
    from dp_accounting.pld import privacy_loss_distribution as pld
    from scipy.stats import norm

    edges = np.linspace(-9.0 - ratio, 9.0 + ratio, 4001)

    def cells(mean: float) -> dict[int, float]:
        mass = np.diff((1.0 - rate) * norm.cdf(edges) + rate * norm.cdf(edges - mean))
        return {place: float(value) for place, value in enumerate(mass) if value > 0.0}

    up, down = ({k: np.log(v) for k, v in cells(mean).items()} for mean in (ratio, -ratio))
    one = pld.from_two_probability_mass_functions(
        up, down, pessimistic_estimate=False, value_discretization_interval=1e-4, symmetric=True
    )
    return float(one.self_compose(times).get_epsilon_for_delta(delta))
