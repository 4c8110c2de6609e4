"""Every act that costs privacy, by name and numbers, so that an event log can carry it and anybody can price it again.

`MECHANISMS` is the whole list. A charge for a release made of two steps (noise in the objective, noise on the
approximate minimiser) is one mechanism, because one release is one charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simnet.errors import BudgetError
from simnet.privacy import claims, generic
from simnet.privacy.claims import Claim, Parameters
from simnet.privacy.curves import Curve
from simnet.privacy.problem import LocalProblem
from simnet.privacy.steps import GaussianStep, NakedStep, ObjectiveStep, PureStep, Step
from simnet.privacy.trade_offs import TradeOff

Bound = Literal["least", "moments", "transport"]
"""Which proofs price a charge (`privacy.bound`). A charge says it by a parameter: `least` = 1 takes the least of all
that is proven, `transport` = 1 the Rényi curves with the transport bound, none of both those with the moments bound.
A log keeps its price for ever, whatever is proven later."""
_LEAST = frozenset({"least"})


@dataclass(frozen=True)
class Mechanism:
    """A row of the table: `steps` says what one use does with the data, `claim` is the price by its own paper."""

    theorem: str
    required: frozenset[str]
    steps: Callable[[Parameters], tuple[Step, ...]]
    claim: Callable[[Parameters], Claim | None]
    optional: frozenset[str] = _LEAST
    declared: bool = False
    """Whether `steps` are what the author of a method says, with a proof that is not here: they give no proven ε."""
    of_rows: bool = False
    """Whether it pays for rows that travel before the first round, and for no release."""
    probabilities: frozenset[str] = frozenset()
    """Parameters that are at most 1."""
    positive: frozenset[str] = frozenset()
    """Parameters that are above 0: what costs nothing is recycled, and says so."""
    gate: bool = False
    """Whether it pays for a test that may be asked any number of times, and decides what is released."""
    series: str = ""
    """Parameters of any number whose names begin so and end in a number above 1."""

    @property
    def of_short_rows(self) -> bool:
        """Whether its price rests on the slope of a loss, and so on rows of norm at most 1."""
        return not self.required.isdisjoint(("lipschitz", "gradient_bound"))

    def takes(self, key: str) -> bool:
        """Whether a parameter has that name."""
        if key in self.required | self.optional:
            return True
        return bool(self.series) and key.startswith(self.series) and generic.order_of(key) > 1.0

    def curve(self, orders: Curve, parameters: Parameters) -> Curve:
        """What one use costs at each order."""
        return sum((step.curve(orders) for step in self.steps(parameters)), start=np.zeros_like(orders))

    def trade_off(self, parameters: Parameters) -> TradeOff | None:
        """What one use costs as a Gaussian trade-off; None if it was charged by Rényi curves alone (privacy.bound)."""
        steps = self.steps(parameters)
        if steps and not parameters.get("least"):
            return None
        found = TradeOff()
        for step in steps:
            one = step.trade_off()
            if one is None:
                return None
            found += one
        return found


HUB = 0
"""Who computes with entrusted rows: the hub of a star."""


def mechanism(name: str, parameters: Parameters) -> Mechanism:
    """The mechanism of that name, once its parameters are known to be complete and sensible."""
    found = MECHANISMS.get(name)
    if found is None:
        raise BudgetError(f"{name!r} is not a mechanism; known are {', '.join(sorted(MECHANISMS))}")
    if missing := found.required - parameters.keys():
        raise BudgetError(f"{name} needs {', '.join(sorted(missing))}")
    if unknown := [key for key in parameters if not found.takes(key)]:
        raise BudgetError(f"{name} has no parameter {', '.join(sorted(unknown))}")
    for key, value in parameters.items():
        if not (math.isfinite(value) and value >= 0.0):
            raise BudgetError(f"{name}: {key} = {value}, but it must be finite and not negative")
        if key in found.positive and value == 0.0:
            raise BudgetError(f"{name}: {key} = 0, but what depends on no row is charged as recycled")
        if key in found.probabilities and value > 1.0:
            raise BudgetError(f"{name}: {key} = {value}, but a probability is at most 1")
    return found


def problem_parameters(problem: LocalProblem) -> dict[str, float]:
    """The numbers of a local problem under the names that mechanisms use."""
    return {name: float(getattr(problem, name)) for name in sorted(_PROBLEM)}


def _problem(p: Parameters) -> LocalProblem:
    return LocalProblem(int(p["rows"]), p["curvature"], p["lipschitz"], p["smoothness"], p["weight"])


def _objective(p: Parameters) -> tuple[Step, ...]:
    if p["sigma"] == 0.0:
        return _naked(p)
    problem = _problem(p)
    moments = not (p.get("transport") or p.get("least"))
    return (ObjectiveStep(problem.gradient_shift / p["sigma"], problem.kappa, moments),)


def _output(p: Parameters) -> tuple[Step, ...]:
    """Noise N(0, σ² I) on an approximate minimiser, given the exact one, which moves by at most 2β/μ.

    docs/proofs.md, theorem 2.
    """
    return (GaussianStep(2.0 * p["tolerance"] / p["curvature"], p["output_sigma"]),)


def _perturbed_minimiser(p: Parameters) -> tuple[Step, ...]:
    return _objective(p) + _output(p)


def _sparse_vector(p: Parameters) -> tuple[Step, ...]:
    """The sparse vector technique with its threshold drawn once: pure with ε1 + ε2 (Lyu, Su, Li 2017).

    Releases happen between its answers; that the prices still add is concurrent composition (Lyu 2022; Vadhan and Zhang
    2023). It needs every query to be a function of the data and of what was published before; the exact perturbed
    minimisers that were charged count as published, so a solver may start from where a charged solve ended.

    A threshold that is drawn anew makes all comparisons count, with ε = Δ/max(scales) each: an answer is a function of
    q + Lap(query) − Lap(threshold), either noise alone makes q private, and no sparse vector theorem applies.
    """
    shift = _problem(p).query_shift(p["clip"], p["tolerance"], model_is_released=bool(p["shared_noise"]))
    if p["regularised"]:
        # The regulariser of the tested model is part of the query, and nothing bounds it.
        return _naked(p)
    if p["redraw"]:
        scale = max(p["threshold_scale"], p["query_scale"])
        return _naked(p) if scale == 0.0 else (PureStep(shift / scale, int(p["tests"])),)
    if p["threshold_scale"] == 0.0 or p["query_scale"] == 0.0:
        return _naked(p)
    return (PureStep(shift / p["threshold_scale"] + 2.0 * p["cap"] * shift / p["query_scale"]),)


def _gamma_objective(p: Parameters) -> tuple[Step, ...]:
    """Objective perturbation by a vector of density ∝ exp(−α|n|): pure, with ε = αΔ + log(1+κ).

    docs/proofs.md, theorem 4. If n enters
    the objective as w n·θ, then Δ = 2CL/(m w): w = 2ηV for DVP and M-ADMM, w = 1 for R-ADMM.
    """
    if p["noise_weight"] == 0.0:
        return _naked(p)
    problem = _problem(p)
    shift = problem.gradient_shift / p["noise_weight"]
    return (PureStep(p["rate"] * shift + math.log1p(problem.kappa)), *_output(p))


def _primal_gamma(p: Parameters) -> tuple[Step, ...]:
    """A vector of density ∝ exp(−α|n|) on a minimiser that moves by at most `shift`: pure with ε = α·shift (PVP)."""
    return (PureStep(p["rate"] * _problem(p).minimiser_shift(p["tolerance"])),)


def _primal_gaussian(p: Parameters) -> tuple[Step, ...]:
    """Noise N(0, σ² I) on a minimiser that moves by at most `shift` (PVP with Gaussian noise, PDML).

    Minimisers of two μ-strongly convex objectives whose gradients differ by at most 2CL/m are at most (2CL/m)/μ apart,
    points certified to β at most 2β/μ farther. PDML's noise decays, σ_t² = V²ρ^(t−1), so that the squared ν of its T
    models sum to (Δ/V)² Σ_t ρ^−(t−1), which grows geometrically; its loss made unbiased under flipped labels has the
    slope L(e^ε+1)/(e^ε−1).
    """
    return (GaussianStep(primal_shift(p), p["sigma"]),)


def primal_shift(p: Parameters) -> float:
    """How far one replaced row moves the minimiser of a charge for noise on it."""
    return _problem(p).minimiser_shift(p["tolerance"])


def _noisy_gradient(p: Parameters) -> tuple[Step, ...]:
    """Noise N(0, σ² I) on the mean of n gradients of norm at most c (DP-ADMM).

    Replacing a row moves the mean by at most 2c/n; the paper's c/n is for removing one. The gradient may be taken at
    any point that was chosen from what was published before.
    """
    return (GaussianStep(2.0 * p["gradient_bound"] / p["rows"], p["sigma"]),)


def _naked(_: Parameters) -> tuple[Step, ...]:
    return (NakedStep(),)


def _free(_: Parameters) -> tuple[Step, ...]:
    return ()


_PROBLEM = frozenset({"rows", "curvature", "lipschitz", "smoothness", "weight"})
_MINIMISER = _PROBLEM | {"sigma", "tolerance", "output_sigma"}
_GAMMA = _PROBLEM | {"rate", "noise_weight", "tolerance", "output_sigma"}
_TEST = _PROBLEM | {"clip", "tolerance", "threshold_scale", "query_scale", "cap", "tests"}
_TEST_KIND = frozenset({"shared_noise", "regularised", "redraw", "printed"})

MECHANISMS: dict[str, Mechanism] = {
    # A release of PP-ADMM and IPP-ADMM. Also the Gaussian variants of DVP, M-ADMM and R-ADMM.
    "perturbed-minimiser": Mechanism(
        "Gaussian objective perturbation with curvature and noise on the approximate minimiser",
        _MINIMISER,
        _perturbed_minimiser,
        claims.perturbed_minimiser,
        _LEAST | {"regulariser", "delta1", "transport"},
    ),
    # IPP-ADMM's test on the minimiser of the data, or with shared_noise on the perturbed minimiser. The first claims as
    # the paper does, whose threshold is redrawn. Older logs have it for a threshold drawn once as well, at this claim.
    "sparse-vector": Mechanism(
        "sparse vector technique", _TEST | _TEST_KIND, _sparse_vector, claims.sparse_vector, gate=True
    ),
    "single-threshold": Mechanism(
        "sparse vector technique", _TEST | _TEST_KIND, _sparse_vector, claims.single_threshold, gate=True
    ),
    # IPP-ADMM with shared noise: the perturbed minimiser of every round counts, released or not; IPP-ADMM's
    # Theorem 5 prices it with the release instead.
    "tested-objective": Mechanism(
        "Gaussian objective perturbation with curvature in every tested round",
        _PROBLEM | {"sigma"},
        _objective,
        claims.nothing,
        _LEAST | {"transport"},
    ),
    "selected-output": Mechanism(
        "noise on the approximate minimiser",
        _MINIMISER,
        _output,
        claims.perturbed_minimiser,
        _LEAST | {"regulariser", "delta1"},
    ),
    # Noise inside the penalty (DVP, M-ADMM): noise_weight 2ηV.
    "penalty-gamma": Mechanism(
        "objective perturbation by gamma-type noise and noise on the approximate minimiser",
        _GAMMA,
        _gamma_objective,
        claims.penalty_gamma,
    ),
    # Noise as a linear term (R-ADMM's odd rounds): noise_weight 1.
    "linear-gamma": Mechanism(
        "objective perturbation by gamma-type noise and noise on the approximate minimiser",
        _GAMMA,
        _gamma_objective,
        claims.linear_gamma,
    ),
    # Primal variable perturbation, and its Gaussian variant.
    "primal-gamma": Mechanism(
        "gamma-type noise on the minimiser", _PROBLEM | {"rate", "tolerance"}, _primal_gamma, claims.primal_gamma
    ),
    "primal-gaussian": Mechanism(
        "Gaussian noise on the minimiser", _PROBLEM | {"sigma", "tolerance"}, _primal_gaussian, claims.unpriced
    ),
    # PDML: the report of phase 1, and each model of phase 2. Where users choose their own ε, `label_epsilon` is the
    # largest that one may choose, and the other two are for people.
    "reported-label": Mechanism(
        "randomised response, for labels against everybody",
        frozenset({"label_epsilon"}),
        _free,
        claims.reported_label,
        frozenset({"least_epsilon", "median_epsilon"}),
        of_rows=True,
    ),
    "reported-primal": Mechanism(
        "Gaussian noise on the minimiser, for rows against all who do not see the reports",
        _PROBLEM | {"sigma", "tolerance"},
        _primal_gaussian,
        claims.nothing,
    ),
    # The same of rows that may be of any length: no bound on how far one of them moves the minimiser, so no finite ε.
    "unbounded-primal": Mechanism(
        "Gaussian noise on a minimiser of rows of any length, which proves nothing for them",
        frozenset({"sigma"}),
        _naked,
        claims.nothing,
    ),
    # DP-ADMM and DP-AccADMM.
    "noisy-gradient": Mechanism(
        "Gaussian noise on the gradient",
        frozenset({"rows", "gradient_bound", "sigma"}),
        _noisy_gradient,
        claims.noisy_gradient,
    ),
    # Whatever is computed from releases alone (R-ADMM's even rounds).
    "recycled": Mechanism("post-processing of what was released", frozenset(), _free, claims.nothing),
    # The leaves of a trusted hub (DP-ADMM).
    "trusted-upload": Mechanism(
        "trust: rows in clear at the hub and on the way to it", frozenset(), _free, claims.nothing, of_rows=True
    ),
    # For anybody's method. No paper prices them: a claim belongs to the method that makes it.
    "gaussian": Mechanism(
        "Gaussian noise",
        frozenset({"sensitivity", "sigma"}),
        generic.gaussian,
        claims.unpriced,
        positive=frozenset({"sensitivity"}),
    ),
    "laplace": Mechanism(
        "Laplace noise",
        frozenset({"sensitivity", "scale"}),
        generic.laplace,
        claims.unpriced,
        positive=frozenset({"sensitivity"}),
    ),
    "pure": Mechanism(
        "a mechanism of pure ε",
        frozenset({"epsilon"}),
        generic.pure,
        claims.unpriced,
        positive=frozenset({"epsilon"}),
    ),
    "zcdp": Mechanism(
        "a zero-concentrated mechanism",
        frozenset({"rho"}),
        generic.zcdp,
        claims.unpriced,
        positive=frozenset({"rho"}),
    ),
    "subsampled-gaussian": Mechanism(
        "Gaussian noise on a sum over a Poisson sample",
        frozenset({"rate", "sensitivity", "sigma"}),
        generic.subsampled_gaussian,
        claims.unpriced,
        probabilities=frozenset({"rate"}),
        positive=frozenset({"rate", "sensitivity"}),
    ),
    "threshold-test": Mechanism(
        "sparse vector technique",
        frozenset({"sensitivity", "threshold_scale", "query_scale", "cap"}),
        generic.threshold_test,
        claims.unpriced,
        positive=frozenset({"sensitivity", "cap"}),
        gate=True,
    ),
    "objective-perturbation": Mechanism(
        "Gaussian objective perturbation with curvature and noise on the approximate minimiser",
        _MINIMISER,
        _perturbed_minimiser,
        claims.unpriced,
        _LEAST | {"regulariser", "transport"},
    ),
    # What the author of a method declares, as numbers, so that a log can be priced without the author's code.
    "declared-pure": Mechanism(
        "declared, not proven: pure ε", frozenset({"epsilon"}), generic.pure, claims.unpriced, declared=True
    ),
    "declared-zcdp": Mechanism(
        "declared, not proven: ρ", frozenset({"rho"}), generic.zcdp, claims.unpriced, declared=True
    ),
    "declared-renyi": Mechanism(
        "declared, not proven: a Rényi curve",
        frozenset(),
        generic.renyi,
        claims.unpriced,
        declared=True,
        series=generic.ORDER,
    ),
    # A model as it is (ADMM).
    "bare-model": Mechanism("no noise, no privacy", frozenset(), _naked, claims.bare_model, gate=True),
}
