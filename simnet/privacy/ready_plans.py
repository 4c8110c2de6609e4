"""Plans that any method can use as they stand: noise that meets the budget by proof, charges, grid, audit.

A method asks for one in `Method.plan` and its peer does three things with it:

    released = self.plan.perturb(t, clean, self.rng)          noise, on the grid of the noise
    Proposal((released,), 1, 0.0, (self.plan.charge(t),))     what it costs
    self.plan.noise_in(t, clean, released)                    what an auditor finds again

`clean` is what the rows give, and nothing else: whatever is public (neighbours' models, steps, duals) is added to what
`perturb` returns. What the plan must be told is how far `clean` moves when one row is *replaced*. It pays for 2⁻²⁰
more, which has room for rounding as long as vectors from neighbours are no longer than `limit`; a peer's `limits` keep
longer ones out.

With `privacy.calibration = "none"` a plan adds nothing and charges bare releases. `paper` is refused: no paper has a
price for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from simnet.errors import BudgetError
from simnet.privacy.budget import Facts, NoisePlan, Privacy, span
from simnet.privacy.ledger import BARE, Charge
from simnet.privacy.noise_schedule import DRAWS, NoiseSchedule, RoundPlan, calibrated
from simnet.privacy.objective_perturbation import PerturbationPlan, Target, bare
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate, added, without_noise
from simnet.privacy.rounding import GRADIENT_SLACK, lengthened
from simnet.privacy.sparse_vector import SparseVector, split
from simnet.privacy.standard_noise import standard_gaussian
from simnet.vectors import Vector

LIMIT = 1e4
"""How long a vector from a neighbour may be where nobody says less.

For the gradient of a smooth loss that has room for some 10⁶ numbers (rows times features) at an agent; `longest_point`
of `simnet.privacy.rounding` says what is right for a given size."""
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ReadyPlan(NoiseSchedule):
    """Noise on a vector in every round.

    `gate`, if there is one, lets at most its `cap` releases pass. `rate` below 1: the vector is a sum over a Poisson
    sample of the rows, drawn anew in every round and never told.
    """

    limit: float = LIMIT
    gate: ThresholdTest | None = None
    rate: float = 1.0

    @property
    def charges(self) -> tuple[Charge, ...]:
        return super().charges if self.gate is None else (*self.opening, *[self.charge(1)] * self.gate.cap)

    def charge(self, t: int) -> Charge:
        """What a release of round t costs."""
        return self.rounds[t - 1].charge

    def perturb(self, t: int, clean: Vector, rng: np.random.Generator) -> Vector:
        """What round t releases: `clean` with noise, on the noise's grid."""
        plan = self.rounds[t - 1]
        return self.on_grid(plan, clean + DRAWS[self.noise](rng, plan.scale, len(clean)))

    def noise_in(self, t: int, clean: Vector, released: Vector) -> Candidate:
        """The noise that must have made a release, if `clean` is what the rows give."""
        return added(released - clean, self.noise, self.rounds[t - 1].scale)

    def sample(self, rng: np.random.Generator, rows: int) -> Indices:
        """The rows of a round; `rng` is that of the noise, because the sample is as secret."""
        if self.rate == 1.0:
            return np.arange(rows)
        return np.flatnonzero(rng.random(rows) < self.rate)

    def noise_among(self, t: int, contributions: Vector, released: Vector) -> Candidate:
        """The noise of a release, given what each row would add (one per line), but not which of them did.

        The sample is noise, too: with covariance q(1−q) Σ vvᵀ, and nearly Gaussian where no row is longer than σ.
        """
        sigma, spread = self.rounds[t - 1].scale, self.rate * (1.0 - self.rate)
        noise = released - self.rate * contributions.sum(axis=0)
        if sigma == 0.0:
            return without_noise(noise)
        values, vectors = np.linalg.eigh(spread * contributions.T @ contributions)
        blur = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        standard = standard_gaussian(noise, sigma, blur)
        log_det = float(np.log(sigma**2 + np.maximum(values, 0.0)).sum())
        grid = added(noise, "gaussian", sigma).slack
        return Candidate(noise, -0.5 * (float(standard @ standard) + log_det), standard, grid)

    def amounts(self) -> Facts:
        sampled: Facts = {} if self.rate == 1.0 else {"share of the rows in a round": self.rate}
        return sampled | super().amounts() | {"B, domain": self.limit}


@dataclass(frozen=True)
class ShareOfBudget(NoisePlan):
    """A budget of zero-concentrated privacy, split over the rounds; the method itself makes round t ρ_t-private."""

    rhos: tuple[float, ...]
    bare: bool = False
    honest: tuple[float, ...] = ()
    """What is charged; empty where it is `rhos`."""
    opening: tuple[Charge, ...] = ()

    def rho(self, t: int) -> float:
        """How much round t may cost; infinite if there is no privacy."""
        return math.inf if self.bare else self.rhos[t - 1]

    def charge(self, t: int) -> Charge:
        """What a release of round t costs."""
        return BARE if self.bare else Charge.of("zcdp", {"rho": (self.honest or self.rhos)[t - 1]})

    @property
    def charges(self) -> tuple[Charge, ...]:
        return (*self.opening, *(self.charge(t) for t in range(1, len(self.rhos) + 1)))

    def amounts(self) -> Facts:
        return {"rounds that use the data": len(self.rhos), "ρ": "none" if self.bare else span(self.rhos)}

    def weakened(self, factor: float) -> Self:
        # ρ falls with the square of the noise.
        return replace(self, rhos=tuple(rho / factor**2 for rho in self.rhos), honest=self.honest or self.rhos)


@dataclass(frozen=True, kw_only=True)
class ThresholdTest:
    """A sparse vector test of queries that move by at most `sensitivity`: it says "above" at most `cap` times."""

    sensitivity: float
    threshold: float
    cap: int
    threshold_scale: float
    query_scale: float

    def begin(self, rng: np.random.Generator) -> SparseVector:
        """A test of which nothing has been asked yet."""
        return SparseVector(self.cap, self.threshold, self.threshold_scale, self.query_scale, False, rng)

    @property
    def charge(self) -> Charge:
        """What the whole test costs, whatever number of queries it is asked."""
        if self.query_scale == 0.0:
            return replace(BARE, kind="test")
        names = ("sensitivity", "threshold_scale", "query_scale", "cap")
        numbers = {name: float(getattr(self, name)) for name in names}
        return Charge.of("threshold-test", numbers, "test", bound="least")


def mean_sensitivity(rows: int, bound: float) -> float:
    """How far the mean of so many rows' vectors of norm at most `bound` moves, with room for the sum's rounding."""
    return 2.0 * lengthened(rows, bound) / rows


def gaussian_plan(
    privacy: Privacy,
    rounds: int,
    sensitivity: float,
    *,
    sigma: float | None = None,
    weights: Sequence[float] = (),
    limit: float = LIMIT,
    test: ThresholdTest | None = None,
) -> ReadyPlan:
    """The least Gaussian noise on a vector that moves by at most `sensitivity` (Euclidean norm) in each round.

    Args:
        sigma: noise that somebody names; ε is then what it comes to.
        weights: how much of the budget each round has, relative to the others; default: equal shares.
        limit: how long a vector from a neighbour may be.
        test: lets `test.cap` releases pass in all; they are paid in advance, in `opening`.
    """
    shares = _shares(weights, rounds)
    roomy = sensitivity * (1.0 + GRADIENT_SLACK)

    def at(scale: float) -> list[RoundPlan]:
        return [_round("gaussian", {"sensitivity": roomy, "sigma": scale * s}, scale * s, privacy) for s in shares]

    if test is None:
        return ReadyPlan("gaussian", _rounds(at, privacy, rounds, sigma), limit=limit)
    if len(set(shares)) > 1:
        raise BudgetError("weights: a test lets any rounds pass, so all of them have the same share")
    plans = _rounds(lambda scale: at(scale)[:1] * test.cap, privacy, test.cap, sigma, (test.charge,))
    advance = replace(plans[0].charge, kind="test", times=test.cap)
    return ReadyPlan("gaussian", plans[:1] * rounds, (test.charge, advance), limit, test)


def laplace_plan(
    privacy: Privacy, rounds: int, sensitivity: float, *, scale: float | None = None, limit: float = LIMIT
) -> ReadyPlan:
    """The least Laplace noise on a vector whose numbers move by at most `sensitivity` in all (L1 norm)."""
    roomy = sensitivity * (1.0 + GRADIENT_SLACK)

    def at(amount: float) -> list[RoundPlan]:
        return [_round("laplace", {"sensitivity": roomy, "scale": amount}, amount, privacy)] * rounds

    return ReadyPlan("laplace", _rounds(at, privacy, rounds, scale), limit=limit)


def sampled_plan(
    privacy: Privacy, rounds: int, bound: float, rate: float, *, sigma: float | None = None, limit: float = LIMIT
) -> ReadyPlan:
    """The least Gaussian noise on a sum over a Poisson sample, in which no row's vector is longer than `bound`.

    A sum that is divided by m, the number of all rows, has a bound of c/m. The divisor must be public: m is, the size
    of the sample is not.
    """
    if not 0.0 < rate <= 1.0:
        raise BudgetError(f"rate = {rate}: a share of the rows is above 0 and at most 1")
    roomy = bound * (1.0 + GRADIENT_SLACK)

    def at(scale: float) -> list[RoundPlan]:
        numbers = {"rate": rate, "sensitivity": roomy, "sigma": scale}
        return [_round("subsampled-gaussian", numbers, scale, privacy)] * rounds

    return ReadyPlan("gaussian", _rounds(at, privacy, rounds, sigma), limit=limit, rate=rate)


def zcdp_plan(privacy: Privacy, rounds: int, weights: Sequence[float] = ()) -> ShareOfBudget:
    """The largest ρ_t of each round, in the proportions of `weights`, that together meet the budget."""
    _refuse_paper(privacy)
    shares = [1.0 / s**2 for s in _shares(weights, rounds)]
    if privacy.calibration == "none":
        return ShareOfBudget(tuple(shares), bare=True)

    def at(scale: float) -> list[RoundPlan]:
        return [_round("zcdp", {"rho": share / scale**2}, share / scale**2, privacy) for share in shares]

    found = calibrated(at, privacy.epsilon, privacy.delta, part="nothing")
    return ShareOfBudget(tuple(plan.scale for plan in found))


def objective_plan(
    privacy: Privacy, rounds: int, problem: LocalProblem, tolerance: float | None = None
) -> PerturbationPlan:
    """The least noise for objective perturbation: `draw`, solve to `stop`, `finished`, `release`; see its `domain`."""
    _refuse_paper(privacy)
    if privacy.calibration == "none":
        return replace(bare(rounds, tolerance), curvature=problem.curvature)
    target = Target(
        problem,
        privacy.epsilon,
        privacy.delta,
        tolerance=tolerance,
        bound=privacy.bound,
        mechanism="objective-perturbation",
    )
    return target.plan(rounds, rounds)


def threshold_test(
    privacy: Privacy, sensitivity: float, threshold: float, cap: int, share: float = 0.2
) -> ThresholdTest:
    """A test that costs that share of ε, split as Lyu, Su and Li advise; without privacy it has no noise."""
    _refuse_paper(privacy)
    roomy = sensitivity * (1.0 + GRADIENT_SLACK)
    if privacy.calibration == "none":
        return ThresholdTest(sensitivity=roomy, threshold=threshold, cap=cap, threshold_scale=0.0, query_scale=0.0)
    first, second = split(share * privacy.epsilon, cap)
    return ThresholdTest(
        sensitivity=roomy,
        threshold=threshold,
        cap=cap,
        threshold_scale=roomy / first,
        query_scale=2.0 * cap * roomy / second,
    )


def _rounds(
    at: Callable[[float], list[RoundPlan]],
    privacy: Privacy,
    rounds: int,
    named: float | None,
    beside: Sequence[Charge] = (),
) -> tuple[RoundPlan, ...]:
    """Rounds with the noise that is named, with the least that meets the budget, or with none."""
    _refuse_paper(privacy)
    if privacy.calibration == "none":
        return (RoundPlan(scale=0.0, tolerance=0.0, output_sigma=0.0, charge=BARE),) * rounds
    if named is not None:
        return tuple(at(named))
    part = "the test" if beside else "nothing"
    return tuple(calibrated(at, privacy.epsilon, privacy.delta, part=part, beside=beside))


def _round(mechanism: str, numbers: dict[str, float], scale: float, privacy: Privacy) -> RoundPlan:
    charge = Charge.of(mechanism, numbers, bound=privacy.bound)
    return RoundPlan(scale=scale, tolerance=0.0, output_sigma=0.0, charge=charge)


def _shares(weights: Sequence[float], rounds: int) -> list[float]:
    """By which factor the noise of each round differs from that of a round with an equal share."""
    given = list(weights) or [1.0] * rounds
    if len(given) != rounds or not min(given) > 0.0:
        raise BudgetError(f"weights: one number above 0 for each of the {rounds} rounds")
    mean = sum(given) / rounds
    return [math.sqrt(mean / weight) for weight in given]


def _refuse_paper(privacy: Privacy) -> None:
    if privacy.calibration == "paper":
        raise BudgetError(
            "no paper has a price for this method's noise; privacy.calibration = 'proven' meets ε by a proof"
        )
