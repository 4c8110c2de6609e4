"""DP-ADMM and DP-AccADMM for a graph-guided fused lasso.

Xu, Shang, Liu, Liu, Shen, Gong, "Differentially Private ADMM Algorithms for Machine Learning" (IEEE TIFS 2021),
Algorithms 2 and 3 on equation (11):

    min (1/n) Σ l(x) + λ1 |y|_1    subject to Ax − y = 0,    A = [W; I]

    y ← soft threshold of Ax + u at λ1/ρ
    x ← x − (η/γ)[∇f(x) + P + ρAᵀ(Ax − y + u)]        P ~ N(0, σ² I), γ >= ηρ|AᵀA| + 1
    u ← u + Ax − y

The accelerated form takes each step from x̂ = x + (θ_t − 1)/θ_{t+1}·(x − x before), and û likewise. The dual starts at
0: the paper's start from a gradient without noise is paid for by no theorem.

The solver is central. Here it is the hub of a star. A *trusted* hub has all the rows, and its leaves listen. An
*untrusted* one sees noisy gradients only: in each round a leaf sends (∇f_i + P_i) at the model that it knows, the hub
weighs them by their rows, steps, and sends the new model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field

from simnet.learning.dataset import Dataset, Matrix, joined
from simnet.learning.feature_graph import fused
from simnet.learning.row_objective import Objective
from simnet.methods.fused_lasso import FusedLasso, LassoSteps
from simnet.methods.method import AgentSize, Calibration, Finding, Method, Promise, Setting, Surroundings
from simnet.methods.peer import LARGEST, OUTSIDE, Hub, Known, Peer, Proposal, Told, within
from simnet.methods.theorems import Utility
from simnet.parts.fields import NonNegative, Positive, Share
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import BARE, RECYCLED, Account, Charge
from simnet.privacy.mechanisms import HUB, Bound
from simnet.privacy.noise import gaussian
from simnet.privacy.noise_schedule import NoiseSchedule, RoundPlan, bare_schedule, calibrated
from simnet.privacy.recovered import Candidate, added, reachable
from simnet.privacy.rounding import lengthened, longest_point
from simnet.streams import Streams
from simnet.vectors import Parts, Vector


class DpAdmm(Method):
    """DP-ADMM: a hub solves a graph-guided fused lasso by ADMM with noisy gradients; its leaves hold the rows."""

    needs: ClassVar[frozenset[str]] = frozenset({"margins"})
    central: ClassVar[bool] = True
    accelerated: ClassVar[bool] = False
    colour: ClassVar[str] = "#7F7F7F"
    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma",)

    name: Literal["dp-admm"]
    eta: Positive = Field(10.0, description="η, the step size; a step is η/γ long")
    penalty: Positive = Field(1.0, description="ρ, the penalty on Ax − y")
    gamma: Positive | None = Field(None, description="γ of the proximal term; default: its least value, ηρ|AᵀA| + 1")
    sparsity: NonNegative = Field(1e-5, description="λ1, the weight of |Ax|_1")
    graph: Literal["public", "none"] = Field(
        "public",
        description="A = [W; I]: W joins features that are conditionally dependent in public rows, see graph_share; "
        "`none`: A = I, the plain lasso",
    )
    graph_share: Share = Field(
        0.2,
        description="share of the rows outside the training set whose features count as public; they give the graph "
        "and are not tested on",
    )
    graph_penalty: Share = Field(0.2, description="weight of the graphical lasso that finds W, on correlations")
    hub: Literal["trusted", "untrusted"] = Field(
        "trusted",
        description="`trusted`: leaves upload their rows once and the hub adds the noise; `untrusted`: every leaf "
        "sends a noisy gradient per round",
    )
    sigma: Positive | None = Field(
        None, description="σ of the noise on a gradient; ε is then what it comes to; default: from privacy.epsilon"
    )
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")

    @property
    def trusts_hub(self) -> bool:
        return self.hub == "trusted"

    def misfit(self, around: Surroundings) -> str | None:
        if around.topology != "star":
            return f"topology.kind: {self.name} computes at the hub of a star, not on a {around.topology} graph"
        return None

    def misfit_of_live(self) -> str | None:
        if not self.trusts_hub:
            return None
        return "algorithm.hub = 'trusted': the leaves' upload of rows is only simulated; an untrusted hub can be live"

    # Rows: what counts as public, and what a trusted hub is sent.

    @property
    def public_share(self) -> float | None:
        return None if self.graph == "none" else self.graph_share

    def preparation(self, features: int) -> tuple[float, float]:
        """Some hundred eigenvalue problems of the graphical lasso, on half a dozen matrices."""
        return (0.0, 0.0) if self.graph == "none" else (48.0 * features**2, 2e-7 * features**3)

    @property
    def reports_from(self) -> Literal["users", "leaves"] | None:
        return "leaves" if self.trusts_hub else None

    def gathered(self, own: Sequence[Dataset], arrived: Sequence[Dataset]) -> list[Dataset]:
        """The hub computes with all rows that arrived, its own included."""
        return [joined(arrived), *own[1:]]

    # The same noise on every gradient, for all rows at a trusted hub, or for each agent's own.

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        if privacy.calibration == "none":
            return bare_schedule(rounds, None)
        # |∇l| <= L for rows of norm at most 1.
        steepest, smoothness = size.constants
        reach = longest_point(size.rows, size.features, steepest, smoothness)

        def at(sigma: float) -> list[RoundPlan]:
            return [noisy_gradient(size.rows, steepest, sigma, privacy.bound, reach)] * rounds

        if self.sigma is not None:
            plans = at(self.sigma)
        elif privacy.calibration == "paper":
            plans = at(paper_sigma(privacy.epsilon, privacy.delta, rounds, size.rows, steepest))
        else:
            plans = calibrated(at, privacy.epsilon, privacy.delta, part="nothing")
        return NoiseSchedule("gaussian", tuple(plans))

    def message_lengths(self, features: int) -> tuple[int, ...]:
        return (features, features) if self.accelerated else (features,)

    def calibrate(self, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> Calibration:
        """A trusted hub's noise is for all rows, and its leaves pay for their upload alone."""
        if not self.trusts_hub:
            return super().calibrate(privacy, sizes, rounds)
        opening = BARE if privacy.calibration == "none" else Charge.of("trusted-upload", {})
        plans: list[NoisePlan | None] = [Entrusted("gaussian", (), (opening,))] * len(sizes)
        plans[HUB] = self.plan(privacy, sizes[HUB], rounds)
        return Calibration(plans, limit=self.limit(privacy))

    # Peers.

    def peers(
        self,
        calibration: Calibration,
        objectives: Sequence[Objective],
        sizes: Sequence[AgentSize],
        rounds: int,
        streams: Streams,
        public: Matrix | None = None,
        neighbours: Sequence[Sequence[int]] = (),
    ) -> list[Peer]:
        total = sum(size.rows for size in sizes)
        shares = {agent: size.rows / total for agent, size in enumerate(sizes)}
        own = 1.0 if self.trusts_hub else shares.pop(HUB)
        solver = LassoSteps(self._problem(objectives[HUB].features, public), accelerated=self.accelerated)
        found: list[Peer] = []
        for agent, (objective, plan) in enumerate(zip(objectives, calibration.plans, strict=True)):
            assert isinstance(plan, NoiseSchedule)
            rng = streams.generator("noise", agent)
            if agent == HUB:
                found.append(HubPeer(solver, objective, own, {} if self.trusts_hub else shares, plan, rng))
            else:
                found.append(Listener(objective.features) if self.trusts_hub else LeafPeer(objective, plan, rng))
        return found

    def _problem(self, features: int, public: Matrix | None) -> FusedLasso:
        A = scipy.sparse.csr_array(scipy.sparse.eye_array(features))
        if self.graph == "public":
            assert public is not None
            A = scipy.sparse.csr_array(scipy.sparse.vstack([fused(public, self.graph_penalty), A]))
        gamma = self._least_gamma(A) if self.gamma is None else self.gamma
        return FusedLasso(A, self.sparsity, self.penalty, self.eta, gamma)

    def _least_gamma(self, A: scipy.sparse.csr_array) -> float:
        return self.eta * self.penalty * float(np.linalg.norm((A.T @ A).toarray(), 2)) + 1.0

    # What it says about itself.

    def problem_facts(self, sizes: Sequence[AgentSize], regulariser: float) -> Facts:
        return {"η": self.eta, "ρ": self.penalty, "λ1": self.sparsity, "hub": self.hub}

    def theory(self, setting: Setting) -> list[Finding]:
        _, steepest = setting.sizes[HUB].constants
        problem = self._problem(setting.features, setting.public)
        least = self._least_gamma(problem.A)
        found = [
            Finding(
                "DP-ADMM: η <= 1/L_f",
                self.eta * steepest <= 1.0,
                1.0 / steepest - self.eta,
                f"L_f is at most c1 = {steepest:g}; sufficient, and too careful where rows are short",
            ),
            Finding(
                "DP-ADMM: γ >= ηρ|AᵀA| + 1",
                problem.gamma >= least,
                problem.gamma - least,
                f"γ is {problem.gamma:.4g}, the right side {least:.4g}; the paper's experiments have γ = 1",
            ),
            Finding(
                "DP-ADMM Assumption 2: A has full row rank",
                False,
                0.0,
                "A = [W; I] has more rows than columns, in the paper's own experiments as well",
            ),
        ]
        return [*found, *self._utility(problem, setting)]

    def _utility(self, problem: FusedLasso, setting: Setting) -> list[Finding]:
        """Theorem 2, whose optimum is taken to have norm 1."""
        total = sum(size.rows for size in setting.sizes)
        own = [
            (plan.rounds[0].scale, 1.0 if self.trusts_hub else size.rows / total)
            for plan, size in zip(setting.calibration.plans, setting.sizes, strict=True)
            if isinstance(plan, NoiseSchedule) and plan.rounds
        ]
        sigma = math.hypot(*(share * scale for scale, share in own))
        found = Utility.of(
            A=problem.A.toarray(),
            eta=self.eta,
            penalty=self.penalty,
            gamma=problem.gamma,
            sparsity=self.sparsity,
            sigma=sigma,
            rounds=setting.rounds,
        )
        told = (
            f"the averages of {found.rounds} rounds' x and y have E R <= {found.bound:.3g}, of which {found.noise:.3g} "
            "is noise, where both conditions hold and |x*| = 1; the last x, which is what is sent, has no bound"
        )
        findings = [Finding("DP-ADMM Theorem 2: utility", None, found.bound, told)]
        if sigma and not self.names_its_noise:
            best = found.best_rounds
            told = (
                f"rounds at the same ε give the least bound, {found.best_bound:.3g}, and {best * total:.3g} gradients"
            )
            findings.append(Finding("DP-ADMM Theorem 2: best number of rounds", None, best, told))
        return findings

    # What an auditor asks.

    @property
    def sends_models_only(self) -> bool:
        return False

    def holder(self, owner: int) -> int:
        return HUB if self.trusts_hub else owner

    def promise(self, spent: Account, kept_by: str, *, owner: int, reports_heard: bool) -> Promise:
        """A trusted hub promises nothing to a leaf whose upload is heard."""
        if self.trusts_hub and reports_heard and owner != HUB:
            return Promise(None, None, kept_by)
        return super().promise(spent, kept_by, owner=owner, reports_heard=reports_heard)

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        if self.trusts_hub or victim == HUB:
            return "only an untrusted hub can drive a victim, which must be one of its leaves"
        return None

    def driver(self, honest: Peer, victim: int, degree: int, places: Sequence[Vector]) -> Peer:
        """The leaf of a star takes its gradient wherever the hub says: an adversarial hub says so."""
        assert isinstance(honest, HubPeer), "the neighbour of a leaf is the hub"
        return HubDriver(honest, places)


class DpAccAdmm(DpAdmm):
    """DP-AccADMM: DP-ADMM with Nesterov's steps on the model and the dual."""

    accelerated: ClassVar[bool] = True
    colour: ClassVar[str] = "#B8860B"

    name: Literal["dp-acc-admm"]  # type: ignore[assignment]

    def _utility(self, problem: FusedLasso, setting: Setting) -> list[Finding]:
        return [Finding("DP-AccADMM: convergence", False, 0.0, "the paper has no theorem for the accelerated form")]


class Entrusted(NoiseSchedule):
    """The plan of a leaf whose rows are at a trusted hub."""

    def facts(self, delta: float) -> Facts:
        return {"rows": "at the trusted hub, which adds the noise and pays for them"}


def noisy_gradient(
    rows: int, gradient_bound: float, sigma: float, bound: Bound = "least", reach: float = math.inf
) -> RoundPlan:
    """N(0, σ² I) on the mean gradient of `rows` rows, whose replace-one sensitivity is 2c/n.

    c has room for rounding, as long as the gradient is asked for at a point of norm at most `reach`.
    """
    numbers = {"rows": float(rows), "gradient_bound": lengthened(rows, gradient_bound), "sigma": sigma}
    charge = Charge.of("noisy-gradient", numbers, bound=bound)
    return RoundPlan(scale=sigma, tolerance=0.0, output_sigma=0.0, charge=charge, domain=reach)


def paper_sigma(epsilon: float, delta: float, rounds: int, rows: int, gradient_bound: float = 1.0) -> float:
    """Theorem 1 with μ0 = ½: σ² = c²αT/(2n²εμ0), α = ln(1/δ)/((1−μ0)ε) + 1."""
    alpha = math.log(1.0 / delta) / (0.5 * epsilon) + 1.0
    return gradient_bound / rows * math.sqrt(alpha * rounds / epsilon)


class HubPeer(Hub):
    """The solver. `share` is the share of all rows that `objective` holds, `shares` those of the leaves' gradients."""

    def __init__(
        self,
        solver: LassoSteps,
        objective: Objective,
        share: float,
        shares: Mapping[int, float],
        schedule: NoiseSchedule,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(objective.features)
        self.solver = solver
        self.objective = objective
        self.share = share
        self.shares = shares
        self.schedule = schedule
        self.rng = rng
        self._received: Vector = np.zeros(objective.features)
        if schedule.rounds:
            # A step is at most η/γ times the gradient; over all rounds that stays below what the hub's own data allow.
            problem, reach = solver.problem, min(each.domain for each in schedule.rounds)
            self.limits = (min(LARGEST, reach * problem.gamma / (problem.eta * (len(schedule.rounds) + 1.0))),)

    @property
    def waits(self) -> bool:
        return bool(self.shares)

    def gather(self, known: Sequence[Known]) -> None:
        """The leaves' last known gradients, weighed."""
        self._received = np.sum([self.shares[value.peer] * value.parts[0] for value in known], axis=0)

    def propose(self, t: int) -> Proposal:
        plan = self.schedule.rounds[t - 1]
        noise = gaussian(self.rng, plan.scale, self.objective.features)
        if not within((self.solver.start,), (min(plan.domain, LARGEST),)):
            return OUTSIDE
        own = self.schedule.on_grid(plan, self.objective.loss_gradient(self.solver.start) + noise)
        return Proposal((self.solver.step(self.share * own + self._received),), 1, 0.0, (plan.charge,))

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return (self.solver.ahead(model),) if self.waits and self.solver.accelerated else ()

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if sent is not None:
            self.solver.adopt(sent[0], sent[1] if len(sent) > 1 else self.solver.ahead(sent[0]))
            self.theta = sent[0]

    def model_heard(self, value: Known) -> Vector | None:
        """Leaves send gradients."""
        return None

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        """What the hub added to its own gradient, from the step that it took and the leaves' gradients."""
        problem = self.solver.problem
        step = (self.solver.step(np.zeros_like(released)) - released) * (problem.gamma / problem.eta)
        for value in known if self.waits else ():
            step = step - self.shares[value.peer] * value.parts[0]
        noise = step / self.share - self.objective.loss_gradient(self.solver.start)
        return added(noise, "gaussian", self.schedule.rounds[t - 1].scale)

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.schedule.rounds[t - 1].charge,)


class _Leaf(Peer):
    """A leaf has the hub's model and none of its own."""

    def own_model(self, t: int, sent: Parts | None, known: Sequence[Known]) -> Told | None:
        return Told(known[0].round, known[0].parts[0])


class Listener(_Leaf):
    """A leaf of a trusted hub: its rows are there already."""

    def propose(self, t: int) -> Proposal:
        return Proposal(None, 0, 0.0, skipped="listening")

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.theta = known[0].parts[0]


class LeafPeer(_Leaf):
    """A leaf of an untrusted hub: it sends its own gradient, noise added, at the point that the hub steps from."""

    role: ClassVar[Literal["agent", "leaf", "hub"]] = "leaf"

    def __init__(self, objective: Objective, schedule: NoiseSchedule, rng: np.random.Generator) -> None:
        super().__init__(objective.features)
        self.objective = objective
        self.schedule = schedule
        self.rng = rng
        self.point: Vector = self.theta
        reach = min(LARGEST, *(each.domain for each in schedule.rounds))
        self.limits = (reach, reach)

    def propose(self, t: int) -> Proposal:
        plan = self.schedule.rounds[t - 1]
        noise = gaussian(self.rng, plan.scale, self.objective.features)
        if not within((self.point,), self.limits):  # put together from messages that told some entries each
            return OUTSIDE
        release = self.schedule.on_grid(plan, self.objective.loss_gradient(self.point) + noise)
        return Proposal((release,), 1, 0.0, (plan.charge,))

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.theta, self.point = known[0].parts[0], known[0].parts[-1]

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        """What a leaf added to its gradient."""
        clean = self.objective.loss_gradient(self.point)
        scale = self.schedule.rounds[t - 1].scale
        possible = scale == 0.0 or reachable(clean, released, scale)
        return added(released - clean, "gaussian", scale, possible=possible)

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.schedule.rounds[t - 1].charge,)


class HubDriver(HubPeer):
    """An adversarial hub that sends its goals in turn in place of a model, whatever its leaves tell it."""

    def __init__(self, honest: HubPeer, goals: Sequence[Vector]) -> None:
        super().__init__(honest.solver, honest.objective, honest.share, honest.shares, honest.schedule, honest.rng)
        self._goals = goals

    def propose(self, t: int) -> Proposal:
        charges = self.price(1) if t == 1 else None
        return Proposal((self._goals[t % len(self._goals)],), 0, 0.0, charges or (RECYCLED,))

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return ()

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if sent is not None:
            self.theta = sent[0]
