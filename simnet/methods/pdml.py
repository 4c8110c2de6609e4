"""PDML: Wang, Ishii, Du, Cheng, Chen, "Privacy-Preserving Distributed Machine Learning via Local Randomization and ADMM
Perturbation" (IEEE Transactions on Signal Processing, 2020).

Phase 1, at the users: labels are flipped by randomised response and sent with the row to a server.
Phase 2, among servers, equations (14) to (17) with γ = 2λ and β = η: consensus ADMM on the loss that the flips leave
unbiased, with two kinds of noise. A bounded vector η_i, |η_i| <= R, is drawn once and tilts the objective; what a
server sends, and goes on with itself, is its minimiser plus Gaussian noise whose variance decays:

    w_i ← argmin f̂_i(w) + (1/n) η_i·w + 2λ_i·w + η Σ_j |½(w̃_i + w̃_j) − w|²
    w̃_i = w_i + N(0, V² ρ^(t−1) I)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from simnet.learning.dataset import Dataset
from simnet.learning.objective import LOGISTIC, LocalObjective, unbiased
from simnet.learning.row_objective import Objective
from simnet.learning.task import Task
from simnet.methods.admm import Decentralised
from simnet.methods.duals import Duals
from simnet.methods.method import AgentPlace, AgentSize, Finding, Promise, Setting, Surroundings
from simnet.methods.peer import OUTSIDE, Peer, Proposal, Work, alone
from simnet.methods.scheduled import ScheduledPeer
from simnet.parts.fields import NonNegative, Number, Positive
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import Account, Charge
from simnet.privacy.mechanisms import Bound, problem_parameters
from simnet.privacy.noise import flip_labels, flip_probability, gaussian, in_ball
from simnet.privacy.noise_schedule import NoiseSchedule, RoundPlan, bare_schedule, calibrated
from simnet.privacy.objective_perturbation import default_tolerance
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate, added
from simnet.privacy.rounding import domain
from simnet.streams import Streams
from simnet.vectors import Vector

PAPER_SCALE = 1.0
"""V_i under the paper's calibration: the paper has neither a formula nor a number for it."""
FAILURE = 0.05
"""δ of Theorem 1, with which its bound may fail."""

Decay = Annotated[float, BeforeValidator(Number("a number above 0 and at most 1", 0, 1, open_low=True, least=1e-6))]


class Pdml(Decentralised):
    """PDML: users report flipped labels to servers, which train together under two kinds of noise."""

    needs: ClassVar[frozenset[str]] = frozenset({"margins", "unbiased"})
    colour: ClassVar[str] = "#8C6BB1"
    flips_labels: ClassVar[bool] = True
    noise_amounts: ClassVar[tuple[str, ...]] = ("primal_scale", "label_epsilon")

    name: Literal["pdml"]
    label_epsilon: Positive | None = Field(
        None, description="ε of randomised response on a label, at the user; default: privacy.epsilon"
    )
    objective_bound: NonNegative = Field(1.0, description="R, bound of the noise in a server's objective, drawn once")
    primal_scale: Positive | None = Field(
        None,
        description="V_i, σ of the noise on a server's first model; default: from privacy.epsilon under `proven`, "
        "1 under `paper`, which has no number",
    )
    primal_decay: Decay = Field(0.8, description="ρ: the variance of that noise is V_i² ρ^(t−1)")
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which a local solve may stop; default: chosen by the calibration"
    )

    def misfit(self, around: Surroundings) -> str | None:
        if reason := super().misfit(around):
            return reason
        return None if self.loss == "logistic" else "algorithm.loss: pdml's unbiased loss is convex for logistic only"

    def misfit_of_live(self) -> str | None:
        return "algorithm.name = 'pdml': its users report over lines that are only simulated, there are no live users"

    # Phase 1: users report their rows.

    @property
    def reports_from(self) -> Literal["users", "leaves"] | None:
        return "users"

    def epsilon_of_labels(self, privacy: Privacy) -> float:
        """ε of randomised response: the method's own, or the scenario's."""
        return privacy.epsilon if self.label_epsilon is None else self.label_epsilon

    def flip_probability(self, privacy: Privacy) -> float:
        return 0.0 if privacy.calibration == "none" else flip_probability(self.epsilon_of_labels(privacy))

    def reported(self, agent: int, part: Dataset, privacy: Privacy, streams: Streams) -> Dataset:
        if privacy.calibration == "none":
            return part
        return replace(part, y=flip_labels(streams.generator("labels", agent), part.y, self.epsilon_of_labels(privacy)))

    def training_objective(self, task: Task, part: Dataset, regulariser: float, privacy: Privacy) -> Objective:
        """The loss that the flips leave unbiased."""
        if privacy.calibration == "none":
            return super().training_objective(task, part, regulariser, privacy)
        loss = unbiased(LOGISTIC, self.epsilon_of_labels(privacy))
        return LocalObjective(part.X, part.y, loss, regulariser, self.weight)

    # Phase 2: the noise on the servers' models.

    @property
    def names_its_noise(self) -> bool:
        return self.primal_scale is not None

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        """A server's schedule; its opening pays for the labels, which are private against everybody."""
        if privacy.calibration == "none":
            return bare_schedule(rounds, self.tolerance)
        label_epsilon = self.epsilon_of_labels(privacy)
        problem = with_flipped_labels(
            self.local_problem(size, eta=self.eta, regulariser=self.regulariser), label_epsilon
        )

        def at(scale: float) -> list[RoundPlan]:
            return decaying_rounds(problem, scale, self.primal_decay, rounds, self.tolerance, privacy.bound)

        if self.primal_scale is None and privacy.calibration == "proven":
            plans = calibrated(at, privacy.epsilon, privacy.delta, part="nothing")
        else:
            plans = at(PAPER_SCALE if self.primal_scale is None else self.primal_scale)
        bound = domain(problem, plans[0].tolerance, self.objective_bound)
        guarded = tuple(replace(each, domain=bound) for each in plans)
        return NoiseSchedule("gaussian", guarded, (label_charge(label_epsilon),))

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, NoiseSchedule)
        bound = 0.0 if plan.silent else self.objective_bound
        tilt = in_ball(streams.generator("objective", place.agent), bound, objective.features) / place.agents
        duals = self.keep_duals(objective.features, place)
        return PdmlPeer(objective, place, plan, streams, duals, [self.eta] * place.rounds, tilt)

    def theory(self, setting: Setting) -> list[Finding]:
        """Theorem 1 and Corollary 1, term by term, for models of norm at most 1."""
        return [
            Finding(
                "PDML Theorem 1: ρ < 1",
                self.primal_decay < 1.0,
                1.0 - self.primal_decay,
                "the noise on the models must decay, and its variance faster than the method converges (ρ < C)",
            ),
            self._rows_and_labels(setting),
            self._noise_in_objective(setting),
            self._noise_on_models(setting),
        ]

    def _rows_and_labels(self, setting: Setting) -> Finding:
        privacy = setting.privacy
        labels = 0.0 if privacy.calibration == "none" else 1.0 / math.tanh(0.5 * self.epsilon_of_labels(privacy))
        highest = float(LOGISTIC.value(np.array([-1.0]))[0])
        rows = [
            LOGISTIC.lipschitz / math.sqrt(size.rows)
            + 2.0 * highest * math.sqrt(2.0 * math.log(4.0 / FAILURE) / size.rows)
            for size in setting.sizes
        ]
        data = 4.0 * max(labels, 1.0) * float(np.mean(rows))
        return Finding(
            "PDML Theorem 1: rows and labels",
            None,
            data,
            f"with probability {1 - FAILURE:g} they cost at most {data:.3g} in the loss of a model of norm 1, of which "
            f"flipped labels are a factor of {max(labels, 1.0):.3g}",
        )

    def _noise_in_objective(self, setting: Setting) -> Finding:
        bound = 0.0 if setting.privacy.calibration == "none" else self.objective_bound
        curvature = len(setting.sizes) * self.regulariser
        tilt = bound**2 / curvature if curvature else (math.inf if bound else 0.0)
        return Finding(
            "PDML Theorem 1: noise in the objective",
            None,
            tilt,
            f"it costs at most R²/κ = {tilt:.3g} in the objective of all servers",
        )

    def _noise_on_models(self, setting: Setting) -> Finding:
        scales = [plan.rounds[0].scale for plan in setting.calibration.plans if isinstance(plan, NoiseSchedule)]
        decay = self.primal_decay
        noise = sum(setting.features * scale**2 for scale in scales) / setting.rounds
        noise = noise / (1.0 - decay) if decay < 1.0 else (math.inf if noise else 0.0)
        return Finding(
            "PDML Theorem 1: noise on the models",
            None,
            noise,
            f"its term is a constant of the graph times η Σ d V²/((1−ρ)T), where the sum over (1−ρ)T is {noise:.3g}",
        )

    # What an auditor may hold against it.

    def promise(self, spent: Account, kept_by: str, *, owner: int, reports_heard: bool) -> Promise:
        """A label is promised its local ε whoever listens, the row a proven ε against all who do not hear reports."""
        if reports_heard:
            return Promise(spent.label_epsilon, spent.label_epsilon, kept_by)
        return Promise(None, spent.proven_epsilon, "proven")

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        if not reports_heard:
            return None
        return (
            "who hears pdml's reports sees the features, and only the labels are protected; audit.evidence = 'rounds' "
            "listens to the servers alone"
        )


def with_flipped_labels(problem: LocalProblem, label_epsilon: float) -> LocalProblem:
    """The local problem whose loss, made unbiased under flipped labels, has L(e^ε+1)/(e^ε−1) (Proposition 2)."""
    return replace(problem, lipschitz=problem.lipschitz / math.tanh(0.5 * label_epsilon))


def label_charge(label_epsilon: float) -> Charge:
    """Phase 1: the label is ε-locally private for ever; the features go to the agent's own server as they are."""
    return Charge.of("reported-label", {"label_epsilon": label_epsilon})


def decaying_rounds(
    problem: LocalProblem,
    primal_scale: float,
    primal_decay: float,
    rounds: int,
    tolerance: float | None = None,
    bound: Bound = "least",
) -> list[RoundPlan]:
    """Phase 2: N(0, V² ρ^(t−1) I) on the minimiser; its loss grows geometrically in t.

    `problem` is that of `with_flipped_labels`. The bounded noise in the objective is independent of the data and
    guarantees nothing.
    """
    beta = default_tolerance(problem) if tolerance is None else tolerance
    found = []
    for t in range(rounds):
        sigma = primal_scale * math.sqrt(primal_decay) ** t
        numbers = problem_parameters(problem) | {"sigma": sigma, "tolerance": beta}
        charge = Charge.of("reported-primal", numbers, bound=bound)
        found.append(RoundPlan(scale=sigma, tolerance=beta, output_sigma=0.0, charge=charge))
    return found


class PdmlPeer(ScheduledPeer):
    """A server in phase 2; `tilt` is (1/n) η_i, drawn once. It protects nothing, and an auditor may be told it.

    equation (14)  `solution = yield from self.minimiser(linear + self.tilt)`
    equation (15)  `solution = yield from self.minimiser(linear + self.tilt)`
    equation (16)  `release = self.schedule.on_grid(plan, solution.theta + noise)`
    equation (17)  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
    """

    def __init__(
        self,
        objective: Objective,
        place: AgentPlace,
        plan: NoisePlan | None,
        streams: Streams,
        duals: Duals,
        penalties: Sequence[float],
        tilt: Vector,
    ) -> None:
        super().__init__(objective, place, plan, streams, duals, penalties)
        self.tilt = tilt

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        noise = gaussian(self.rng, plan.scale, self.objective.features)
        linear = self.linear()
        if self.outside(linear):
            return OUTSIDE
        solution = yield from self.minimiser(linear + self.tilt)
        release = self.schedule.on_grid(plan, solution.theta + noise)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (plan.charge,))

    def noise_drawn(self, t: int, released: Vector) -> Candidate | None:
        plan = self.schedule.rounds[t - 1]
        self.tolerance = plan.tolerance
        clean = alone(self.minimiser(self.linear() + self.tilt)).theta
        error = 2.0 * plan.tolerance / self.subproblem(self.eta).curvature
        return added(released - clean, self.schedule.noise, plan.scale, error)
