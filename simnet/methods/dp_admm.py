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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from simnet.learning.objective import LocalObjective
from simnet.methods.method import Method, Surroundings
from simnet.methods.peer import Known, Parts, Proposal
from simnet.parts.fields import NonNegative, Positive, Share
from simnet.privacy.noise import gaussian
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.vectors import Vector


class DpAdmm(Method):
    """DP-ADMM: a hub solves a graph-guided fused lasso by ADMM with noisy gradients; its leaves hold the rows."""

    central: ClassVar = True
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
        "sends a noisy gradient a round",
    )
    sigma: Positive | None = Field(
        None, description="σ of the noise on a gradient; ε is then what it comes to; default: from privacy.epsilon"
    )
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")

    def misfit(self, around: Surroundings) -> str | None:
        if around.topology != "star":
            return f"topology.kind: {self.name} computes at the hub of a star, not on a {around.topology} graph"
        if around.states_get_lost:
            return f"fault: {self.name} cannot begin again without its state; keep it"
        return None

    def misfit_of_live(self) -> str | None:
        if self.hub == "untrusted":
            return None
        return "algorithm.hub = 'trusted': the leaves' upload of rows is only simulated; an untrusted hub can be live"


class DpAccAdmm(DpAdmm):
    """DP-AccADMM: DP-ADMM with Nesterov's steps on the model and the dual."""

    name: Literal["dp-acc-admm"]  # type: ignore[assignment]


HUB = 0
"""The hub of a star."""


@dataclass(frozen=True, eq=False)
class FusedLasso:
    """A and the constants of the iteration; `gamma` is at least ηρ|AᵀA| + 1."""

    A: sp.csr_array
    sparsity: float
    penalty: float
    eta: float
    gamma: float

    @classmethod
    def of(cls, A: sp.csr_array, *, sparsity: float, penalty: float, eta: float, gamma: float | None) -> FusedLasso:
        """With the least γ that the paper allows, unless one is given."""
        least = eta * penalty * float(np.linalg.norm((A.T @ A).toarray(), 2)) + 1.0
        return cls(A, sparsity, penalty, eta, least if gamma is None else gamma)


class Solver:
    """The iterates: x and u, and with acceleration the points ahead of them that steps start from."""

    def __init__(self, problem: FusedLasso, *, accelerated: bool) -> None:
        self.problem = problem
        self.accelerated = accelerated
        links, features = problem.A.shape
        self.x: Vector = np.zeros(features)
        self.start: Vector = self.x
        self._u: Vector = np.zeros(links)
        self._u_start: Vector = self._u
        self._y: Vector = self._u
        self._theta = 1.0

    def step(self, gradient: Vector) -> Vector:
        """The next x, given a (noisy) gradient at `start`."""
        p = self.problem
        image = p.A @ self.start + self._u_start
        self._y = np.sign(image) * np.maximum(np.abs(image) - p.sparsity / p.penalty, 0.0)
        return self.start - p.eta / p.gamma * (gradient + p.penalty * (p.A.T @ (image - self._y)))

    def ahead(self, x: Vector) -> Vector:
        """Where the step after x starts."""
        return x + self._momentum() * (x - self.x)

    def adopt(self, x: Vector, start: Vector) -> None:
        """Go on from x, as it was sent, and from the start of the next step."""
        u = self._u_start + self.problem.A @ x - self._y
        self._u_start = u + self._momentum() * (u - self._u)
        self.x, self._u, self.start = x, u, start
        self._theta = self._next_theta()

    def _momentum(self) -> float:
        return (self._theta - 1.0) / self._next_theta() if self.accelerated else 0.0

    def _next_theta(self) -> float:
        return (1.0 + math.sqrt(1.0 + 4.0 * self._theta**2)) / 2.0


class StarPeer:
    """What hub and leaves have in common: a model of their own making or of the hub's, and no dual to show."""

    def __init__(self, features: int) -> None:
        self.theta: Vector = np.zeros(features)
        self.dual: Vector = np.zeros(features)

    def initial(self) -> Parts:
        return (np.zeros_like(self.theta),)

    def settled(self, *, accepted: bool) -> None:
        """Every step costs the same, so a ledger that refuses one refuses all that follow: nothing of it leaves."""

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return ()

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        return None


class HubPeer(StarPeer):
    """The solver. `share` is the share of all rows that `objective` holds, `shares` those of the leaves' gradients."""

    def __init__(
        self,
        solver: Solver,
        objective: LocalObjective,
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

    @property
    def waits(self) -> bool:
        """Whether a step needs the leaves' gradients."""
        return bool(self.shares)

    def gather(self, known: Sequence[Known]) -> None:
        """The leaves' last known gradients, weighed."""
        self._received = np.sum([self.shares[value.peer] * value.parts[0] for value in known], axis=0)

    def propose(self, t: int) -> Proposal:
        plan = self.schedule.rounds[t - 1]
        own = self.objective.loss_gradient(self.solver.start)
        own = own + gaussian(self.rng, plan.scale, self.objective.features)
        return Proposal((self.solver.step(self.share * own + self._received),), 1, 0.0, (plan.charge,))

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return (self.solver.ahead(model),) if self.waits and self.solver.accelerated else ()

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if sent is not None:
            self.solver.adopt(sent[0], sent[1] if len(sent) > 1 else self.solver.ahead(sent[0]))
            self.theta = sent[0]


class Listener(StarPeer):
    """A leaf of a trusted hub: its rows are there already."""

    def propose(self, t: int) -> Proposal:
        return Proposal(None, 0, 0.0, skipped="listening")

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.theta = known[0].parts[0]


class LeafPeer(StarPeer):
    """A leaf of an untrusted hub: it sends its own gradient, noise added, at the point that the hub steps from."""

    def __init__(self, objective: LocalObjective, schedule: NoiseSchedule, rng: np.random.Generator) -> None:
        super().__init__(objective.features)
        self.objective = objective
        self.schedule = schedule
        self.rng = rng
        self.point: Vector = self.theta

    def propose(self, t: int) -> Proposal:
        plan = self.schedule.rounds[t - 1]
        noise = gaussian(self.rng, plan.scale, self.objective.features)
        return Proposal((self.objective.loss_gradient(self.point) + noise,), 1, 0.0, (plan.charge,))

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.theta, self.point = known[0].parts[0], known[0].parts[-1]
