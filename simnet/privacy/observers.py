"""ε against one observer: what an agent, a coalition or an eavesdropper learns where messages are linear in noise.

**Theorem O.** Agents hold x_i, add noise once, y(0) = x + ν with ν ~ N(0, Σ) in each coordinate, and everything that
travels is a linear function r·y(0), perhaps with independent Gaussian noise of its own (a relay's), whose coefficients
are public and do not depend on the data. Σ = diag σ² + σ_c² times the Laplacian of the graph of pairs that share a
secret. Let O be the observers (none: an eavesdropper on all links), H all others, R the rows that O saw, columns H, Q
their coefficients of relay noises that O did not draw itself, and Σ_H = diag σ² + σ_c² times the Laplacian of the graph
*induced on H*: O knows the secrets that it shares. If replacing a row of agent i moves x_i by at most Δ_i, the
trade-off between the two worlds is exactly that of N(0, 1) against N(μ, 1) in the worst case, with

    μ² = Δ_i² (R e_i)ᵀ C⁻¹ (R e_i),        C = R Σ_H Rᵀ + r² Q Qᵀ        (rows chosen independent)

docs/proofs.md has the proof.

Coefficients fall by a factor per round, so the rank of R in floating point is no proof: rows that seem dependent may
not be, and μ would come out too small. Everything here is exact: integers and rationals, by FLINT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from simnet.privacy import trade_offs
from simnet.privacy.trade_offs import TradeOff

Row = Sequence[int]
"""The coefficients of a message, times any number: agents first, then relay noises."""


@dataclass(frozen=True)
class InitialNoise:
    """The noise on all models, as exact numbers: `variances` σ_i², `pair_variance` σ_c², `pairs` who shares a secret.

    `relay_variance` is r², that of the noise on a relayed message.
    """

    variances: Sequence[Fraction]
    pair_variance: Fraction = Fraction(0)
    pairs: Sequence[tuple[int, int]] = ()
    relay_variance: Fraction = Fraction(0)

    @property
    def agents(self) -> int:
        return len(self.variances)


def exposures(rows: Sequence[Row], noise: InitialNoise, observers: Sequence[int]) -> dict[int, Fraction]:
    """(R e_i)ᵀ C⁻¹ (R e_i) for each agent outside the coalition: μ² for a model that moves by at most 1."""
    import flint  # here: it is large, and few runs ask for it

    hidden = [agent for agent in range(noise.agents) if agent not in set(observers)]
    relays = sorted({place for row in rows for place in range(noise.agents, len(row)) if row[place]})
    table = [[int(row[place]) for place in (*hidden, *relays)] for row in rows]
    seen = [row for row in table if any(row)]
    if not seen:
        return dict.fromkeys(hidden, Fraction(0))
    whole = flint.fmpz_mat(_independent(flint, seen))
    spread = flint.fmpq_mat(_covariance(flint, noise, hidden, len(relays)))
    matrix = flint.fmpq_mat(whole)
    of_agents = flint.fmpq_mat(
        [[matrix[row, column] for column in range(len(hidden))] for row in range(matrix.nrows())]
    )
    solved = (matrix * spread * matrix.transpose()).solve(of_agents)
    return {
        agent: sum((_fraction(of_agents[row, at] * solved[row, at]) for row in range(matrix.nrows())), Fraction(0))
        for at, agent in enumerate(hidden)
    }


def best_test(
    rows: Sequence[Sequence[Fraction]], noise: InitialNoise, observers: Sequence[int], agent: int, rounding: Fraction
) -> list[float]:
    """w = (C + `rounding` I)⁻¹ R e_i: the weights of messages in the best test about agent i.

    Once all that O knows is taken off its messages, w·view is the likelihood ratio of the theorem, up to a factor.
    `rounding` is the variance that floating point adds to every message. Without it the weights of nearly dependent
    rows grow without limit, and the test would look at rounding errors.
    """
    import flint

    hidden = [each for each in range(noise.agents) if each not in set(observers)]
    relays = sorted({place for row in rows for place in range(noise.agents, len(row)) if row[place]})
    matrix = flint.fmpq_mat([[_rational(flint, row[place]) for place in (*hidden, *relays)] for row in rows])
    spread = matrix * flint.fmpq_mat(_covariance(flint, noise, hidden, len(relays))) * matrix.transpose()
    for place in range(len(rows)):
        spread[place, place] += _rational(flint, rounding)
    moved = flint.fmpq_mat([[_rational(flint, row[agent])] for row in rows])
    found = spread.solve(moved)
    return [float(_fraction(found[place, 0])) for place in range(len(rows))]


def summed_exposures(rows: Sequence[Row], noise: InitialNoise, observers: Sequence[int]) -> dict[int, Fraction]:
    """What Muffliato's code computes instead of `exposures`: it may be too little where messages share their noise.

    It adds r_i²/(r Σ rᵀ) for every message r, as if the noise of each were drawn anew (code released with Cyffers,
    Even, Bellet and Massoulié, "Muffliato", 2022). Nobody should go by it: the audit shows why.
    """
    import flint

    agents = range(noise.agents)
    width = max((len(row) for row in rows), default=noise.agents)
    spread = flint.fmpq_mat(_covariance(flint, noise, agents, width - noise.agents))
    found = dict.fromkeys((agent for agent in agents if agent not in set(observers)), Fraction(0))
    for row in rows:
        one = flint.fmpq_mat([[int(value) for value in row]])
        variance = _fraction((one * spread * one.transpose())[0, 0])
        for agent in found:
            found[agent] += int(row[agent]) ** 2 / variance
    return found


def _independent(flint: Any, rows: list[list[int]]) -> list[list[int]]:
    """As many of the rows as are linearly independent, exactly."""
    turned = flint.fmpz_mat([list(column) for column in zip(*rows, strict=True)])
    reduced, _, rank = turned.rref()
    chosen, at = [], 0
    for place in range(rank):
        while reduced[place, at] == 0:
            at += 1
        chosen.append(rows[at])
        at += 1
    return chosen


def _covariance(flint: Any, noise: InitialNoise, hidden: Sequence[int], relays: int) -> list[list[Any]]:
    """Σ_H and the relays' variances, as one matrix."""
    place = {agent: at for at, agent in enumerate(hidden)}
    size = len(hidden) + relays
    found = [[Fraction(0)] * size for _ in range(size)]
    for agent, at in place.items():
        found[at][at] = noise.variances[agent]
    for a, b in noise.pairs if noise.pair_variance else ():
        if a in place and b in place:
            one, other = place[a], place[b]
            found[one][one] += noise.pair_variance
            found[other][other] += noise.pair_variance
            found[one][other] -= noise.pair_variance
            found[other][one] -= noise.pair_variance
    for at in range(len(hidden), size):
        found[at][at] = noise.relay_variance
    return [[_rational(flint, value) for value in row] for row in found]


def epsilon_of_shift(mu: float, delta: float) -> float:
    """The ε at δ of N(0, 1) against N(μ, 1)."""
    return trade_offs.epsilon(TradeOff(square=mu * mu), delta)


def _rational(flint: Any, value: Fraction) -> Any:
    return flint.fmpq(value.numerator, value.denominator)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))
