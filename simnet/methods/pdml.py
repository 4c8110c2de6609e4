"""PDML: Wang, Ishii, Du, Cheng, Chen, "Privacy-Preserving Distributed Machine Learning via Local Randomization and ADMM
Perturbation" (IEEE Transactions on Signal Processing, 2020).

Phase 1, at the users: labels are flipped by randomised response and sent with the row to a server. A user may choose
its own ε; then it sends that too, because the server's loss needs it.
Phase 2, among servers, equations (14) to (17) with γ = 2λ and β = η: consensus ADMM on the loss that the flips leave
unbiased, with two kinds of noise. A bounded vector η_i, |η_i| <= R, is drawn once and tilts the objective; what a
server sends, and goes on with itself, is its minimiser plus Gaussian noise whose variance decays:

    w_i ← argmin f̂_i(w) + (1/n) η_i·w + 2λ_i·w + η Σ_j |½(w̃_i + w̃_j) − w|²
    w̃_i = w_i + N(0, V² ρ^(t−1) I)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset
from simnet.learning.objective import LOGISTIC, LocalObjective, unbiased
from simnet.learning.row_objective import Objective
from simnet.learning.task import Task
from simnet.methods.admm import Decentralised
from simnet.methods.duals import Duals
from simnet.methods.method import AgentPlace, AgentSize, Calibration, Finding, Promise, Setting, Surroundings
from simnet.methods.peer import OUTSIDE, Peer, Proposal, Work, alone
from simnet.methods.scheduled import ScheduledPeer
from simnet.parts.fields import NonNegative, Number, Positive, PositiveOrSeveral
from simnet.privacy.budget import BARE_TOLERANCE, NoisePlan, Privacy
from simnet.privacy.ledger import Account, Charge
from simnet.privacy.mechanisms import Bound, problem_parameters
from simnet.privacy.noise import flip_labels, flip_probability, gaussian, in_ball
from simnet.privacy.noise_schedule import NoiseSchedule, RoundPlan, bare_schedule, calibrated
from simnet.privacy.objective_perturbation import default_tolerance
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate, added
from simnet.privacy.rounding import domain
from simnet.streams import Streams
from simnet.vectors import Square, Vector

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
    noise_amounts: ClassVar[tuple[str, ...]] = ("primal_scale", "agent_primal_scale", "label_epsilon")
    per_agent: ClassVar[tuple[str, ...]] = ("agent_primal_scale",)

    name: Literal["pdml"]
    label_epsilon: PositiveOrSeveral | None = Field(
        None,
        description="ε of randomised response on a label, at the user; a list: each user picks one of these, all "
        "equally likely (a number that is there twice, twice as likely); default: privacy.epsilon",
    )
    objective_bound: NonNegative = Field(1.0, description="R, bound of the noise in a server's objective, drawn once")
    primal_scale: Positive | None = Field(
        None,
        description="V, σ of the noise on a server's first model; default: from privacy.epsilon under `proven`, "
        "1 under `paper`, which has no number",
    )
    agent_primal_scale: tuple[Positive, ...] | None = Field(
        None, description="V_i of each server; ε is then what the worst one's comes to; default: primal_scale for all"
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

    def misfit_of_long_rows(self, privacy: Privacy) -> str | None:
        """Randomised response protects a label whatever its row is; nothing is proven of the row then."""
        if privacy.calibration != "proven":
            return None
        return (
            "data.scale: nothing is proven of models that are made of rows longer than 1; leave it out, or choose "
            "privacy.calibration = 'paper', which promises ε for the labels alone"
        )

    # Phase 1: users report their rows.

    @property
    def reports_from(self) -> Literal["users", "leaves"] | None:
        return "users"

    @property
    def beside_rows(self) -> int:
        """The ε that its user has chosen."""
        return int(isinstance(self.label_epsilon, tuple))

    def epsilons_of_labels(self, privacy: Privacy) -> tuple[float, ...]:
        """What users choose their ε of randomised response from: the method's own, or the scenario's."""
        chosen = privacy.epsilon if self.label_epsilon is None else self.label_epsilon
        return chosen if isinstance(chosen, tuple) else (chosen,)

    def flip_probability(self, privacy: Privacy) -> float:
        if privacy.calibration == "none":
            return 0.0
        if self.beside_rows:
            raise ScenarioError(
                "algorithm.label_epsilon: an audit holds one user's report against its ε; give one number, not a list"
            )
        return flip_probability(self.epsilons_of_labels(privacy)[0])

    def reported(self, agent: int, part: Dataset, privacy: Privacy, streams: Streams) -> Dataset:
        if privacy.calibration == "none":
            return part
        offered = np.array(self.epsilons_of_labels(privacy))
        # Whoever chooses looks at nothing: an ε that depends on the label would tell of it.
        chosen = streams.generator("label-epsilon", agent).integers(len(offered), size=part.rows)
        y = flip_labels(streams.generator("labels", agent), part.y, offered[chosen])
        return ReportedRows(part.name, part.X, y, part.labels, part.classes, offered[chosen])

    def training_objective(self, task: Task, part: Dataset, regulariser: float, privacy: Privacy) -> Objective:
        """The loss that the flips leave unbiased."""
        if privacy.calibration == "none":
            return super().training_objective(task, part, regulariser, privacy)
        assert isinstance(part, ReportedRows), "rows come to a server as reports"
        loss = unbiased(LOGISTIC, part.epsilons)
        return LocalObjective(part.X, part.y, loss, regulariser, self.weight)

    # Phase 2: the noise on the servers' models.

    @property
    def names_its_noise(self) -> bool:
        return self.primal_scale is not None or bool(self.agent_primal_scale)

    def calibrate(self, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> Calibration:
        """Each server's noise, V_i where they differ."""
        if not self.agent_primal_scale:
            return super().calibrate(privacy, sizes, rounds)
        own = [self.model_copy(update={"primal_scale": scale}) for scale in self.agent_primal_scale]
        plans = [server.plan(privacy, size, rounds) for server, size in zip(own, sizes, strict=True)]
        return Calibration(plans, self.regulariser, self.limit(privacy))

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        """A server's schedule; its opening pays for the labels, which are private against everybody."""
        if privacy.calibration == "none":
            return bare_schedule(rounds, self.tolerance)
        offered = self.epsilons_of_labels(privacy)
        opening, named = (label_charge(offered),), PAPER_SCALE if self.primal_scale is None else self.primal_scale
        if size.gradient_bound is None:
            plans = unbounded_rounds(named, self.primal_decay, rounds, self.tolerance)
            return NoiseSchedule("gaussian", tuple(plans), opening)
        problem = with_flipped_labels(
            self.local_problem(size, eta=self.eta, regulariser=self.regulariser), min(offered)
        )

        def at(scale: float) -> list[RoundPlan]:
            return decaying_rounds(problem, scale, self.primal_decay, rounds, self.tolerance, privacy.bound)

        if self.primal_scale is None and privacy.calibration == "proven":
            plans = calibrated(at, privacy.epsilon, privacy.delta, part="nothing")
        else:
            plans = at(named)
        bound = domain(problem, plans[0].tolerance, self.objective_bound)
        guarded = tuple(replace(each, domain=bound) for each in plans)
        return NoiseSchedule("gaussian", guarded, opening)

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, NoiseSchedule)
        bound = 0.0 if plan.silent else self.objective_bound
        tilt = in_ball(streams.generator("objective", place.agent), bound, objective.features) / place.agents
        duals = self.keep_duals(objective.features, place)
        return PdmlPeer(objective, place, plan, streams, duals, [self.eta] * place.rounds, tilt)

    def theory(self, setting: Setting) -> list[Finding]:
        """Proposition 1, and Theorem 1 with its corollary term by term, for models of norm at most 1."""
        return [
            *self._labels(setting.privacy),
            *self._convergence(setting),
            self._rows_and_labels(setting),
            self._noise_in_objective(setting),
            self._iterations(setting),
            self._noise_on_models(setting),
        ]

    def _labels(self, privacy: Privacy) -> list[Finding]:
        offered = () if privacy.calibration == "none" else self.epsilons_of_labels(privacy)
        if not offered:
            return []
        told = f"every label is {offered[0]:g}-locally private, whoever listens"
        if len(offered) > 1:
            told = (
                f"each label is as private as its own user chose: least {min(offered):g}, median {median(offered):g}, "
                f"largest {max(offered):g}; the run is charged the largest"
            )
        return [Finding("PDML Proposition 1: ε of a label", None, max(offered), told)]

    def _convergence(self, setting: Setting) -> list[Finding]:
        """Condition (25) at the κ̃ and ϱ of Lemmas 1 and 3, and what it means for ρ."""
        if not setting.adjacency.any():
            return []
        graph, agents = Graph.of(setting.adjacency), len(setting.sizes)
        bends = [size.smoothness for size in setting.sizes]
        bend = math.inf if None in bends else agents * (max(filter(None, bends)) + self.regulariser)
        phi, most = graph.phi(agents * self.regulariser, bend), graph.most_phi
        ratio, decay = graph.spread**2, self.primal_decay
        rate = ratio / (1.0 + phi)
        met = rate < 1.0
        needed = f"φ must exceed (σmax/σmin)² − 1 of L₊, which is {ratio - 1.0:.4g}; it is at most {phi:.3g}"
        told = f"C is any number between {rate:.4g} and 1"
        if not met:
            told = "there is no such C here, and no bound by Lemma 5; models converge all the same"
        return [
            Finding("PDML condition (25)", met, 1.0 / rate - 1.0, f"{needed} ({most:.3g} for any objective)"),
            Finding("PDML Lemma 5: C < 1", met, 1.0 - rate, told),
            Finding(
                "PDML Theorem 1: ρ < C",
                met and decay < 1.0,
                1.0 - decay,
                "the noise on the models must decay; if (25) holds, C can be taken above any ρ below 1",
            ),
        ]

    def _rows_and_labels(self, setting: Setting) -> Finding:
        privacy = setting.privacy
        labels = 0.0 if privacy.calibration == "none" else 1.0 / math.tanh(0.5 * min(self.epsilons_of_labels(privacy)))
        highest = float(LOGISTIC.value(np.array([-1.0]))[0])
        rows = [
            LOGISTIC.lipschitz / math.sqrt(size.rows)
            + 2.0 * highest * math.sqrt(2.0 * math.log(4.0 / FAILURE) / size.rows)
            for size in setting.sizes
        ]
        data = 4.0 * max(labels, 1.0) * float(np.mean(rows))
        told = (
            f"with probability {1 - FAILURE:g} they cost at most {data:.3g} in the loss of a model of norm 1, of which "
            f"flipped labels are a factor of {max(labels, 1.0):.3g}"
        )
        if any(size.gradient_bound is None for size in setting.sizes):
            data, told = math.inf, "rows may be of any length, so nothing bounds the loss of a model of norm 1"
        return Finding("PDML Theorem 1: rows and labels", None, data, told)

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

    def _iterations(self, setting: Setting) -> Finding:
        gap = averaged_gap(setting.adjacency, self.eta, setting.rounds, 1.0, [0.0] * len(setting.sizes))
        return Finding(
            "PDML Theorem 1: iterations",
            None,
            gap,
            f"averages of models over the rounds are at most {gap:.3g} above an optimum of norm 1 in the objective of "
            "all servers, without noise on the models",
        )

    def _noise_on_models(self, setting: Setting) -> Finding:
        plans = [plan for plan in setting.calibration.plans if isinstance(plan, NoiseSchedule)]
        energies = [setting.features * sum(each.scale**2 for each in plan.rounds) for plan in plans]
        gap = averaged_gap(setting.adjacency, self.eta, setting.rounds, 0.0, energies)
        constant = Graph.of(setting.adjacency).printed_constant if setting.adjacency.any() else 0.0
        printed = constant * self.eta * sum(energies) / setting.rounds
        return Finding(
            "PDML Theorem 1: noise on the models",
            None,
            gap,
            f"it adds at most {gap:.3g} to that on average; by the paper's constant of the graph, {constant:.3g} where "
            f"the degrees suffice, {printed:.3g}",
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


@dataclass(frozen=True)
class Graph:
    """The spectra that Lemma 5 and Theorem 1 ask for: of L₊ = D + A and L₋ = D − A, least means least nonzero."""

    most_plus: float
    least_plus: float
    most_minus: float
    least_minus: float

    @classmethod
    def of(cls, adjacency: Square) -> Graph:
        """Those of the links between servers; the dimension of a model does not matter."""
        degrees = np.diag(adjacency.sum(axis=0))
        values = [np.linalg.eigvalsh(degrees + sign * adjacency) for sign in (1.0, -1.0)]
        (least_plus, most_plus), (least_minus, most_minus) = (
            (float(found[found > 1e-9 * found[-1]][0]), float(found[-1])) for found in values
        )
        return cls(most_plus, least_plus, most_minus, least_minus)

    @property
    def spread(self) -> float:
        """σmax/σmin of L₊."""
        return self.most_plus / self.least_plus

    def phi(self, curvature: float, bend: float) -> float:
        """φ of Lemma 5 at κ̃ and ϱ, as λ1 → ∞, with σ²min(Q) = σmin(L₋)/2: no λ1 gives more.

        (25) is (1−b)(1+φ)σ²min(L₊) > σ²max(L₊): some b and λ1 meet it if and only if 1 + φ > (σmax/σmin)². C of (26)
        falls towards (σmax/σmin)²/(1+φ) as b and α go to 0.
        """
        if curvature == 0.0 or math.isinf(bend):
            return 0.0
        least, most = self.least_plus**2, self.most_plus**2
        return curvature * self.least_minus * least / (bend**2 * least + 2.0 * curvature * most)

    @property
    def most_phi(self) -> float:
        """No objective gives more, since ϱ >= 0."""
        return self.least_minus / (2.0 * self.spread**2)

    @property
    def printed_constant(self) -> float:
        """Theorem 1's constant of the graph, σ²max(L₊)/(2σmax(L₋)) + 2σ²max(Q)."""
        return self.most_plus**2 / (2.0 * self.most_minus) + self.most_minus


def averaged_gap(adjacency: Square, eta: float, rounds: int, optimum: float, energies: Sequence[float]) -> float:
    """How far the averages w̄_i = (1/T) Σ_t w_i(t) are above the optimum in the servers' perturbed objective, at most.

    E[J(w̄) − J(w*)] <= (η/T)(½ w*ᵀL₊w* + Σ_i N_i e_i), e_i = Σ_t E|θ_i(t)|² of server i's noise, `optimum` = |w*|.
    It is Theorem 1's middle term with N_i, the number of neighbours, in place of a larger constant of the graph.

    Ours. Let r(t) be the sum of Q w̃(s) over s <= t, 2Q² = L₋, so that the duals are 2ηQr. By (15) the gradient at
    w⁺ = w(t+1) is −η(2Qr⁺ − L₋θ⁺ + L₊(w⁺ − w̃)). J is convex and Qw* = 0, so J(w⁺) − J(w*) is at most η times
    −2⟨r⁺, Qw⁺⟩ + 2⟨Qθ⁺, Qw⁺⟩ + ½(|w̃ − w*|² − |w⁺ − w*|²), the latter in L₊. Noise has mean 0 and is independent of
    what came before: on average the first is |r|² − |r⁺|² − |Qw⁺|² + |Qθ⁺|², the second 0, and |w̃ − w*|² is
    |w − w*|² + |θ|². Rounds add up to the first and last, and Q² + ½L₊ = ½(L₋ + L₊) has the degrees on its diagonal.
    """
    degrees = adjacency.sum(axis=0)
    return eta / rounds * (float(degrees.sum()) * optimum**2 + float(degrees @ np.asarray(energies, dtype=np.float64)))


@dataclass(frozen=True, eq=False)
class ReportedRows(Dataset):
    """Rows as a server has them: with flipped labels, and the ε by which each was flipped."""

    epsilons: Vector = field(default_factory=lambda: np.empty(0))

    def take(self, indices: npt.NDArray[np.intp]) -> Dataset:
        return replace(self, X=self.X[indices], y=self.y[indices], epsilons=self.epsilons[indices])


def with_flipped_labels(problem: LocalProblem, label_epsilon: float) -> LocalProblem:
    """The local problem whose loss, made unbiased under flipped labels, has L(e^ε+1)/(e^ε−1) (Proposition 2).

    That falls with ε: of several, the least bounds every row's.
    """
    return replace(problem, lipschitz=problem.lipschitz / math.tanh(0.5 * label_epsilon))


def label_charge(offered: Sequence[float]) -> Charge:
    """Phase 1: a label is private for ever by the ε of its user; the features go to the agent's own server as they are.

    Every user is promised its own. Charged is the largest that one may choose, whether somebody has or not.
    """
    several = {"least_epsilon": min(offered), "median_epsilon": median(offered)} if len(offered) > 1 else {}
    return Charge.of("reported-label", {"label_epsilon": max(offered)} | several)


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


def unbounded_rounds(
    primal_scale: float, primal_decay: float, rounds: int, tolerance: float | None = None
) -> list[RoundPlan]:
    """Phase 2 on rows that may be of any length: the same noise, of which nothing can be said."""
    stop = BARE_TOLERANCE if tolerance is None else tolerance
    sigmas = [primal_scale * math.sqrt(primal_decay) ** t for t in range(rounds)]
    charges = [Charge.of("unbounded-primal", {"sigma": sigma}) for sigma in sigmas]
    return [
        RoundPlan(scale=sigma, tolerance=stop, output_sigma=0.0, charge=charge)
        for sigma, charge in zip(sigmas, charges, strict=True)
    ]


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
        self.classifier: Vector = self.theta
        """w_i(t), the last minimiser before noise: what the paper evaluates and averages. It stays at the server."""

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        noise = gaussian(self.rng, plan.scale, self.objective.features)
        linear = self.linear()
        if self.outside(linear):
            return OUTSIDE
        solution = yield from self.minimiser(linear + self.tilt)
        self.classifier = solution.theta
        release = self.schedule.on_grid(plan, solution.theta + noise)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (plan.charge,))

    def noise_drawn(self, t: int, released: Vector) -> Candidate | None:
        plan = self.schedule.rounds[t - 1]
        self.tolerance = plan.tolerance
        clean = alone(self.minimiser(self.linear() + self.tilt)).theta
        error = 2.0 * plan.tolerance / self.subproblem(self.eta).curvature
        return added(released - clean, self.schedule.noise, plan.scale, error)
