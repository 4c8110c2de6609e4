"""Decentralised ADMM: the iteration that most methods share, and the method that adds nothing to it.

As written in Ding, Wang, Liang, Bi, Pan, "Towards Plausible Differentially Private ADMM Based Distributed Machine
Learning" (CIKM 2020), equations (3) and (4):

    θ_i ← argmin f_i(θ) + 2λ_i·θ + η Σ_j |½(θ_i + θ_j) − θ|²
    λ_i ← λ_i + (η/2) Σ_j (θ_i − θ_j)

The penalty expands to ½·2ηV|θ|² − η Σ_j (θ_i + θ_j)·θ plus a constant, so a local problem is the objective with a
linear and a quadratic term, and its curvature is at least μ = λ̂/N + 2ηV. How λ_i is kept, and with it the linear term,
is the business of `simnet.methods.duals`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from simnet.learning.column_solver import Allot
from simnet.learning.objective import Subproblem
from simnet.learning.row_objective import Objective
from simnet.learning.solver import Problem, Solution, Solver
from simnet.learning.stacked_objectives import StackedObjectives
from simnet.methods.columns import AdmmColumns, ColumnPeers
from simnet.methods.duals import Duals, EdgeDuals, HealingDuals, NodeDuals, Steps, constant
from simnet.methods.method import AgentPlace, AgentSize, Calibration, Method, Surroundings
from simnet.methods.peer import Known, Peer, Proposal, Solving, Work, alone, in_objective
from simnet.parts.fields import Count, NonNegative, Positive
from simnet.privacy.budget import Facts, NoisePlan, Privacy, span
from simnet.privacy.ledger import BARE, RECYCLED, Charge
from simnet.privacy.objective_perturbation import PerturbationPlan
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate, without_noise
from simnet.streams import Streams
from simnet.vectors import Parts, Vector


class Decentralised(Method):
    """What every decentralised ADMM has."""

    needs: ClassVar[frozenset[str]] = frozenset({"margins"})
    begins_again: ClassVar[bool] = True

    eta: Positive = Field(0.01, description="η, the penalty")
    regulariser: NonNegative = Field(1e-4, description="λ̂/N, the weight of ½|θ|² in one agent's objective")
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")
    duals: Literal["node", "healing", "edge"] = Field(
        "node",
        description="how duals are kept: `node` as in the papers; `healing` or `edge`, which survive loss",
    )
    heal_every: Count = Field(1, description="`healing`: one message in this many carries what repairs the duals")

    def misfit(self, around: Surroundings) -> str | None:
        if self.duals == "edge" and around.medium == "shared":
            return "network.medium: edge duals send every neighbour a message of its own, which is unicast"
        if self.duals == "edge" and (reason := self.not_by_edges()):
            return f"algorithm.duals: {reason}; choose node or healing"
        if self.duals == "healing" and around.entrywise_codec and self.heal_every > 1:
            return "algorithm.heal_every: with a codec such as top-k each entry travels with its sum, so it is 1"
        return None

    @property
    def in_columns(self) -> bool:
        return super().in_columns and self.duals == "node"

    def not_by_edges(self) -> str | None:
        """Why edge duals cannot be kept; they are one splitting with one η, without resting rounds or a dual step."""
        return None

    def local_problem(self, size: AgentSize, *, eta: float, regulariser: float) -> LocalProblem:
        """What privacy needs to know of an agent's local problem."""
        lipschitz, smoothness = size.constants
        return LocalProblem.of(
            size.rows,
            size.degree,
            eta,
            regulariser,
            lipschitz=lipschitz,
            smoothness=smoothness,
            weight=self.weight,
            features=size.features,
        )

    def keep_duals(self, features: int, place: AgentPlace, step: Steps | None = None) -> Duals:
        """One agent's duals, kept as the scenario says; `step` is the dual step of each round, by default η."""
        steps, degree = step or constant(self.eta), place.size.degree
        if self.duals == "healing":
            return HealingDuals(features, degree, steps, self.heal_every, rounds=place.rounds)
        if self.duals == "edge":
            return EdgeDuals(features, degree, self.eta)
        return NodeDuals(features, degree, steps)

    def message_lengths(self, features: int) -> tuple[int, ...]:
        return (features, features, 1) if self.duals == "healing" else (features,)

    @property
    def late_news(self) -> str | None:
        if self.duals == "edge":
            return None
        return f'{self.duals} duals may diverge; a longer period, a smaller eta or duals = "edge" would do'

    def problem_facts(self, sizes: Sequence[AgentSize], regulariser: float) -> Facts:
        curvatures = [regulariser + 2 * self.eta * size.degree for size in sizes]
        facts: Facts = {
            "η": self.eta,
            "regulariser λ̂/N": regulariser,
            "curvature μ = λ̂/N + 2ηV": span(curvatures),
        }
        if (steepest := sizes[0].smoothness) is not None:
            facts["worst condition"] = (min(curvatures) + steepest) / min(curvatures)
        if regulariser > self.regulariser:
            facts["forced by the paper"] = f"λ̂/N was {self.regulariser:g}; the calibration needs {regulariser:.4g}"
        return facts

    @property
    def sends_models_only(self) -> bool:
        return self.duals == "node"

    @property
    def hides_models(self) -> str | None:
        return "a message of edge duals holds no model" if self.duals == "edge" else None

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        return None

    def driver(self, honest: Peer, victim: int, degree: int, places: Sequence[Vector]) -> Peer:
        assert isinstance(honest, AdmmPeer), "all peers of a decentralised ADMM are"
        goals = [degree * place for place in places]
        place = AgentPlace(0, AgentSize(honest.objective.rows, honest.degree), 0, 0)
        duals = self.keep_duals(honest.objective.features, place)
        first = honest.price(1) or (BARE,)
        return Driver(
            honest.objective,
            degree=honest.degree,
            eta=self.eta,
            duals=duals,
            victim=victim,
            goals=goals,
            first=first,
        )


class Admm(Decentralised):
    """Decentralised ADMM without privacy."""

    needs: ClassVar[frozenset[str]] = frozenset({"solve"})
    colour: ClassVar[str] = "#000000"

    name: Literal["admm"]
    tolerance: Positive = Field(1e-6, description="β, the gradient norm at which a local solve may stop")

    def misfit_of_long_rows(self, privacy: Privacy) -> str | None:
        return None

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        duals = self.keep_duals(objective.features, place)
        return AdmmPeer(objective, degree=place.size.degree, eta=self.eta, tolerance=self.tolerance, duals=duals)

    def columns(
        self,
        calibration: Calibration,
        objectives: StackedObjectives,
        sizes: Sequence[AgentSize],
        rounds: int,
        streams: Streams,
        allot: Allot,
    ) -> ColumnPeers:
        agents = len(objectives)
        tolerance, domain = (np.full(agents, each) for each in (self.tolerance, math.inf))
        return AdmmColumns(
            objectives, sizes, eta=self.eta, tolerance=tolerance, domain=domain, price=[BARE] * agents, allot=allot
        )


class AdmmPeer(Peer):
    """Equations (3) and (4) for one agent with `degree` neighbours.

    equation (3)  `solution = yield from self.minimiser(self.linear())`
    equation (3)  duals.NodeDuals: `return (self._dual + self._dual) - eta * models`
    equation (3)  `quadratic = 2 * self.eta * self.degree`
    equation (4)  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
    """

    def __init__(
        self,
        objective: Objective,
        *,
        degree: int,
        eta: float,
        tolerance: float,
        duals: Duals | None = None,
        domain: float = math.inf,
    ) -> None:
        super().__init__(objective.features)
        self.objective = objective
        self.eta = eta
        self.tolerance = tolerance
        self.degree = degree
        self.duals = duals or NodeDuals(objective.features, degree, constant(eta))
        self.domain = domain
        """How long the linear term may be for a solve to be safe: the plan's B."""
        self.limits = self.duals.limits(domain, eta)
        self._solver = Solver(objective)
        self._start: Vector = self.theta

    @property
    def dual(self) -> Vector:
        return self.duals.dual

    def propose(self, t: int) -> Proposal | Work:
        solution = yield from self.minimiser(self.linear())
        return Proposal((solution.theta,), solution.gradients, solution.gradient_norm, (BARE,))

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return self.duals.accompany(t, model, known)

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        return self.duals.letters(model, neighbours)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if sent is not None:
            self.theta = sent[0]
        self.duals.absorb(t, self.theta, sent, known)

    def forget(self) -> None:
        self.theta = self.duals.forget()
        self._start = np.zeros(self.objective.features)

    def recall(self, answers: Sequence[Known]) -> None:
        newest = max(answers, key=lambda answer: answer.round, default=None)
        if newest is not None and newest.round > 0:
            self.theta = self.duals.recall(newest)

    def retell(self, last: Known) -> Parts:
        return self.duals.retell(last)

    def accepts(self, round: int, parts: Parts) -> bool:
        return super().accepts(round, parts) and self.duals.timely(round, parts)

    def outside(self, linear: Vector) -> bool:
        """Whether a linear term is so long that rounding could hide the noise. It is public, and so is the answer."""
        return not linear.dot(linear) <= self.domain * self.domain

    def linear(self) -> Vector:
        """The linear term of this round's local problem, 2λ_i − η Σ_j (θ_i + θ_j)."""
        return self.duals.linear(self.theta, self.eta)

    def minimise(self) -> Solution:
        """The local problem's approximate minimiser."""
        return alone(self.minimiser(self.linear()))

    def minimiser(self, linear: Vector) -> Solving[Solution]:
        """That of the problem with another linear term, for somebody else to solve."""
        quadratic = 2 * self.eta * self.degree
        solution: Solution = yield Problem(self._solver, linear, quadratic, self._start, self.tolerance)
        self._start = solution.theta
        return solution

    def subproblem(self, eta: float) -> Subproblem:
        """The local problem of the round that follows what was absorbed."""
        return Subproblem(self.objective, self.duals.linear(self.theta, eta), 2 * eta * self.degree)

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        return without_noise(-self.subproblem(self.eta).gradient(released))

    def noise_in(self, plan: PerturbationPlan, linear: Vector, released: Vector) -> Candidate:
        """b1 of a release of this plan, from the problem with this linear term.

        The likelihood leaves out the small b2, which makes it a little worse.
        """
        problem = Subproblem(self.objective, linear, 2 * self.eta * self.degree)
        if plan.sigma1 == 0.0:
            return without_noise(-problem.gradient(released))
        return in_objective(problem, released, 1.0, "gaussian", plan.sigma1, plan.sigma2, plan.tolerance)

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (BARE,)


class Driver(AdmmPeer):
    """An adversarial neighbour: it learns nothing and sends what keeps the problem of `victim` at its goals, in turn.

    The linear term of the victim's local problem that belongs to one link is 2λ − η(θ_i + θ_j), with λ the link's share
    of the dual. With θ_j(t) = λ(t−1)/η + g it is −2ηg after every round, whatever the victim released: the victim then
    solves min f(θ) + ηV|θ − g/V|² + b·θ, the same problem in every round. So a goal of V times the wanted place pulls
    the minimiser there, as far as its other neighbours let it. A neighbour knows all that it needs for that.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        degree: int,
        eta: float,
        duals: Duals,
        victim: int,
        goals: Sequence[Vector],
        first: tuple[Charge, ...],
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, tolerance=1.0, duals=duals)
        self._victim = victim
        self._goals = goals
        self._first = first
        self._share: Vector = np.zeros(objective.features)

    def propose(self, t: int) -> Proposal:
        # It owns no rows that matter. It pays for its first message as an honest agent would; what it sends later is a
        # function of what was released.
        charges = self._first if t == 1 else (RECYCLED,)
        return Proposal((self._share / self.eta + self._goals[t % len(self._goals)],), 0, 0.0, charges)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        super().absorb(t, sent, known)
        for value in known:
            if value.peer == self._victim:
                self._share = self._share + self.eta / 2 * (value.parts[0] - self.theta)
