"""Zero-concentrated differential privacy as the PP-ADMM paper uses it: the accounting behind every *claimed* ε.

Bun and Steinke, "Concentrated differential privacy" (TCC 2016), quoted as Lemmas 1 to 4 of the paper.
"""

from __future__ import annotations

import math


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
