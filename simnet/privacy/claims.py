"""What each paper says a use of its mechanism costs: the *claimed* prices, errata and all.

They are computed from the noise that was really drawn, by reading the papers' theorems backwards. None means that no
paper prices this use. Prices add up as zero-concentrated differential privacy, as the PP-ADMM paper uses it: Bun and
Steinke, "Concentrated differential privacy" (TCC 2016), quoted as Lemmas 1 to 4 of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Parameters = Mapping[str, float]

DELTA1 = 1e-4
"""δ_i1 of PP-ADMM's experiments."""


@dataclass(frozen=True)
class Claim:
    """The price of one use: `pure` ε and zCDP's `rho` add up over uses; `label` is an ε for the label alone."""

    pure: float = 0.0
    rho: float = 0.0
    label: float = 0.0


def nothing(_: Parameters) -> Claim:
    """The paper charges nothing for this use."""
    return Claim()


def unpriced(_: Parameters) -> None:
    """No paper has this mechanism."""


def perturbed_minimiser(p: Parameters) -> Claim | None:
    """PP-ADMM, Theorem 1: ρ1 of the ε_i1 that σ1 and λ̂ allow, and ρ2 of σ2 at sensitivity β/μ.

    ε_i3 = 2L√(2 ln(1.25/δ_i1))/(mσ1), ε_i1 = ε_i3 + 2.8 c1/(m λ̂/N), and ρ1 + 2√(ρ1 ln 1/δ_i1) = ε_i1 as in the
    paper's experiments. Without a regulariser, or with a loss weight, the theorem says nothing.
    """
    regulariser = p.get("regulariser", 0.0)
    if regulariser == 0.0 or p["weight"] != 1.0 or p["sigma"] == 0.0:
        return None
    delta1 = p.get("delta1", DELTA1)
    epsilon3 = 2.0 * p["lipschitz"] * math.sqrt(2.0 * math.log(1.25 / delta1)) / (p["rows"] * p["sigma"])
    epsilon1 = epsilon3 + 2.8 * p["smoothness"] / (p["rows"] * regulariser)
    rho2 = gaussian_rho(p["tolerance"] / p["curvature"], p["output_sigma"])
    return Claim(rho=rho_of(epsilon1, delta1) + rho2)


def sparse_vector(p: Parameters) -> Claim:
    """IPP-ADMM, Lemma 7: (ε1+ε2)²/2 with the scales cS/ε1 and 2cS/ε2, the threshold's noise redrawn.

    S is 2C as Lemma 6 prints it, or 2C/m, which is what its proof shows once the mean is written out.
    """
    return _tests(p, draws=p["cap"])


def single_threshold(p: Parameters) -> Claim:
    """The same with the threshold's noise drawn once: S/ε1, by the theorem that the lemma cites (Lyu, Su and Li)."""
    return _tests(p, draws=1.0)


def _tests(p: Parameters, draws: float) -> Claim:
    if p["threshold_scale"] == 0.0 or p["query_scale"] == 0.0:
        return Claim(rho=math.inf)
    sensitivity = 2.0 * p["clip"] / (1.0 if p["printed"] else p["rows"])
    epsilon1 = draws * sensitivity / p["threshold_scale"]
    epsilon2 = 2.0 * p["cap"] * sensitivity / p["query_scale"]
    return Claim(rho=pure_rho(epsilon1 + epsilon2))


def penalty_gamma(p: Parameters) -> Claim:
    """M-ADMM, Theorem 4.1 (and DVP): C(1.4 c1 + α)/(ηVm), where `noise_weight` is 2ηV."""
    if p["noise_weight"] == 0.0:
        return Claim(pure=math.inf)
    return Claim(pure=2.0 * p["weight"] * (1.4 * p["smoothness"] + p["rate"]) / (p["noise_weight"] * p["rows"]))


def linear_gamma(p: Parameters) -> Claim:
    """R-ADMM, Theorem IV.1: (2C/m)(1.4 c1/(ρ/N + 2ηV) + α)."""
    return Claim(pure=2.0 * p["weight"] / p["rows"] * (1.4 * p["smoothness"] / p["curvature"] + p["rate"]))


def primal_gamma(p: Parameters) -> Claim:
    """Primal variable perturbation of an exact minimiser: α·2CL/(mμ)."""
    return Claim(pure=p["rate"] * 2.0 * p["weight"] * p["lipschitz"] / (p["rows"] * p["curvature"]))


def reported_label(p: Parameters) -> Claim:
    """PDML, Proposition 1: the label is ε-locally private."""
    return Claim(label=p["label_epsilon"])


def noisy_gradient(p: Parameters) -> Claim:
    """DP-ADMM, proof of Theorem 1: the Gaussian mechanism with sensitivity c/n."""
    return Claim(rho=gaussian_rho(p["gradient_bound"] / p["rows"], p["sigma"]))


def bare_model(_: Parameters) -> Claim:
    """A model without noise: no privacy."""
    return Claim(pure=math.inf)


def printed_rho(epsilon: float, delta: float) -> float:
    """The paper's ρ = ε²/(4 ln 1/δ) (Lemma 3), which spends more than ε: `epsilon_of` of it is ε + ρ."""
    return epsilon * epsilon / (4.0 * math.log(1.0 / delta))


def epsilon_of(rho: float, delta: float) -> float:
    """ε = ρ + 2√(ρ ln 1/δ): what ρ-zCDP means at δ (Lemma 4)."""
    return rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


def rho_of(epsilon: float, delta: float) -> float:
    """The ρ with ρ + 2√(ρ ln 1/δ) = ε exactly: √ρ = √(ln 1/δ + ε) − √(ln 1/δ)."""
    log = math.log(1.0 / delta)
    # The difference of the two roots, written without cancellation.
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2


def pure_rho(epsilon: float) -> float:
    """ε-DP is ε²/2-zCDP (Lemma 3)."""
    return 0.5 * epsilon * epsilon


def pure_epsilon(rho: float) -> float:
    """The pure ε that Lemma 3 prices at ρ."""
    return math.sqrt(2.0 * rho)


def gaussian_rho(sensitivity: float, sigma: float) -> float:
    """Noise N(0, σ²) on a query of that sensitivity is Δ²/(2σ²)-zCDP (Lemma 1)."""
    if sensitivity == 0.0:
        return 0.0
    return 0.5 * (sensitivity / sigma) ** 2 if sigma > 0.0 else math.inf
