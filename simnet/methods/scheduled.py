"""What the methods share whose penalty and noise follow a schedule, round by round.

The noise comes from the budget, by proof or by the method's own theorem, or from what the scenario names; then ε is
what it comes to. Without privacy (`calibration = "none"`) every round is bare.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from simnet.errors import BudgetError
from simnet.learning.row_objective import Objective
from simnet.methods.admm import AdmmPeer, Decentralised
from simnet.methods.duals import Duals, Steps
from simnet.methods.method import AgentPlace, AgentSize, Calibration, Finding
from simnet.methods.peer import Known
from simnet.parts.fields import Growth, Positive, Share
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import Basis, Charge
from simnet.privacy.mechanisms import Bound
from simnet.privacy.noise_schedule import DataRound, NoiseSchedule, RoundPlan, bare_schedule, calibrated, guarded
from simnet.privacy.objective_perturbation import OUTPUT_SHARE
from simnet.privacy.recovered import Candidate, added, without_noise
from simnet.streams import Streams
from simnet.vectors import Vector

_OUTPUT_SHARE = {"gaussian": OUTPUT_SHARE, "gamma": 1e-4}
"""Gamma-type noise costs a pure ε, beside which even a little Gaussian noise is dear at a small δ; and it is so wide
that it hides a hundred times as much noise on the output."""


class Scheduled(Decentralised):
    """What the methods have whose noise has the density exp(−α|n|), by a schedule."""

    noise_amounts: ClassVar[tuple[str, ...]] = ("noise_rate", "agent_noise_rate", "sigma")
    growths: ClassVar[tuple[str, ...]] = ("noise_growth", "agent_noise_growth")
    per_agent: ClassVar[tuple[str, ...]] = ("agent_noise_rate", "agent_noise_growth")
    data_every: ClassVar[int] = 1
    """How many rounds lie between two that touch the data."""
    perturbs_objective: ClassVar[bool] = True
    """Whether the noise stands in the objective; otherwise it is added to the minimiser."""
    unavoidable: ClassVar[str] = "the curvature part, log(1+κ) per round with gamma-type noise,"
    """What no noise can reduce."""

    noise: Literal["gamma", "gaussian"] = Field(
        "gamma", description="density ∝ exp(−α|n|) as in the papers, or Gaussian noise by the proven bound"
    )
    noise_rate: Positive | None = Field(
        None, description="α of the first round; ε is then what it comes to; default: from privacy.epsilon"
    )
    sigma: Positive | None = Field(
        None,
        description="σ of Gaussian noise in the first round; ε is then what it comes to; default: from privacy.epsilon",
    )
    noise_growth: Growth = Field(1.0, description="q2: α(t) = α q2^(t−1), or σ(t) = σ/q2^(t−1)")
    agent_noise_rate: tuple[Positive, ...] | None = Field(
        None, description="α_i(1) of each agent; ε is then what the worst agent's comes to; default: noise_rate for all"
    )
    agent_noise_growth: tuple[Growth, ...] | None = Field(
        None, description="q2 of each agent; default: noise_growth for all"
    )
    loss_weight: Positive = Field(1.0, description="C, the weight of the loss against the regulariser")
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which a local solve may stop; default: chosen by the calibration"
    )
    output_share: Share | None = Field(
        None,
        description="share of a release's loss that the noise on its approximate minimiser may cost; default: 1e-4 "
        "beside gamma-type noise, 0.01 beside Gaussian",
    )

    @model_validator(mode="after")
    def _one_amount_of_noise(self) -> Scheduled:
        for field in ("noise_rate", "agent_noise_rate"):
            if getattr(self, field) and self.noise == "gaussian":
                raise ValueError(f"{field}: Gaussian noise has a sigma")
        if self.sigma is not None and self.noise == "gamma":
            raise ValueError("sigma: gamma-type noise has a noise_rate")
        return self

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        if privacy.calibration == "paper" and self.noise == "gaussian":
            return "algorithm.noise: no paper has a price for Gaussian noise here; privacy.calibration = 'proven' has"
        return super().misfit_of_privacy(privacy)

    @property
    def weight(self) -> float:
        return self.loss_weight

    def calibrate(self, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> Calibration:
        """Every agent's schedule; agents whose rounds and noise are alike share one."""
        found: dict[tuple[float | None, tuple[DataRound, ...]], NoiseSchedule] = {}
        chosen = []
        for agent, size in enumerate(sizes):
            etas = self.penalties(agent, rounds)[:: self.data_every]
            if privacy.calibration == "paper":
                self.check_theorem(agent, size, etas)
            growth = self.agent_noise_growth[agent] if self.agent_noise_growth else self.noise_growth
            used = tuple(self._data_round(size, eta, growth**k) for k, eta in enumerate(etas))
            alike = self._named(agent), used
            if alike not in found:
                found[alike] = self._schedule(privacy, *alike)
            chosen.append(found[alike])
        return Calibration(chosen, self.regulariser, self.limit(privacy))

    def _named(self, agent: int) -> float | None:
        """The scale that the scenario names for an agent, 1/α_i or σ of the first round; None if a budget decides."""
        rate = self.agent_noise_rate[agent] if self.agent_noise_rate else self.noise_rate
        return self.sigma if rate is None else 1.0 / rate

    def _data_round(self, size: AgentSize, eta: float, growth: float) -> DataRound:
        """What privacy needs to know of a round that touches the data; its α has grown by a factor since the first."""
        problem = self.local_problem(size, eta=eta, regulariser=self.regulariser)
        return DataRound(problem, self.noise_weight(eta, size.degree), growth)

    def _schedule(self, privacy: Privacy, named: float | None, rounds: tuple[DataRound, ...]) -> NoiseSchedule:
        if privacy.calibration == "none":
            return bare_schedule(len(rounds), self.tolerance)

        def at(scale: float) -> list[RoundPlan]:
            return self.perturbed_rounds(rounds, scale, privacy.bound)

        basis: Basis = "claimed" if privacy.calibration == "paper" else "proven"
        plans = (
            calibrated(at, privacy.epsilon, privacy.delta, basis=basis, part=self.unavoidable)
            if named is None
            else at(named)
        )
        return NoiseSchedule(self.noise, guarded(plans, rounds, self.noise if self.perturbs_objective else None))

    @property
    def share_of_output(self) -> float:
        """Share of a release's loss that the noise on its approximate minimiser may cost."""
        return _OUTPUT_SHARE[self.noise] if self.output_share is None else self.output_share

    @abstractmethod
    def perturbed_rounds(self, rounds: Sequence[DataRound], scale: float, bound: Bound) -> list[RoundPlan]:
        """The noise and the charges at a scale, 1/α or σ of the first round."""

    def noise_weight(self, eta: float, degree: int) -> float:
        """w, if the noise enters the objective as w n·θ."""
        return 1.0

    def penalties(self, agent: int, rounds: int) -> list[float]:
        """η_i(t), round by round."""
        return [self.eta] * rounds

    def dual_steps(self, agent: int) -> Steps:
        """The dual step of each round."""
        return lambda t: self.eta

    def check_theorem(self, agent: int, size: AgentSize, etas: Sequence[float]) -> None:
        """What the paper's privacy theorem needs, for its 1.4 c1 to cover the Jacobian.

        `etas` are the penalties of the rounds that touch the data; a BudgetError says what does not hold.
        """
        self.check_rows(size, min(etas))

    def check_rows(self, size: AgentSize, eta: float) -> None:
        """2c1 < (m/C)(λ̂/N + 2ηV)."""
        problem = self.local_problem(size, eta=eta, regulariser=self.regulariser)
        enough = problem.rows / problem.weight * problem.curvature
        if not 2.0 * problem.smoothness < enough:
            raise BudgetError(
                f"too few rows for {self.name}'s theorem: 2 c1 = {2.0 * problem.smoothness:g} must be below "
                f"(m/C)(λ̂/N + 2ηV) = {enough:.3g}"
            )

    def steepest(self, size: AgentSize) -> float:
        """M, the Lipschitz constant of an agent's gradient: rows have norm at most 1."""
        return self.loss_weight * size.constants[1] + self.regulariser

    def jacobian_finding(self, sizes: Sequence[AgentSize], etas: Sequence[float]) -> Finding:
        """What `check_rows` asks for, `etas` the least θ_i or η of each agent."""
        bend = 2.0 * sizes[0].constants[1]
        sides = [
            size.rows / self.loss_weight * (self.regulariser + 2.0 * eta * size.degree)
            for size, eta in zip(sizes, etas, strict=True)
        ]
        return Finding(
            "privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)",
            bend < min(sides),
            min(sides) - bend,
            f"the right side is {min(sides):.4g} at the worst agent, the left {bend:g}",
        )


class OwnPenalties(Scheduled):
    """What the methods have whose penalty η_i(t) is each agent's own and may grow, beside a dual step θ of all."""

    growths: ClassVar[tuple[str, ...]] = (*Scheduled.growths, "penalty_growth", "agent_growth")
    per_agent: ClassVar[tuple[str, ...]] = (*Scheduled.per_agent, "agent_eta", "agent_growth")

    if TYPE_CHECKING:

        @property
        def penalty_growth(self) -> float:
            """q1."""

        @property
        def agent_eta(self) -> Sequence[float] | None:
            """η_i(1) of each agent, if they differ."""

        @property
        def agent_growth(self) -> Sequence[float] | None:
            """q1 of each agent, if they differ."""

    def growth(self, agent: int) -> float:
        """q1 of an agent."""
        return self.agent_growth[agent] if self.agent_growth else self.penalty_growth

    def penalties(self, agent: int, rounds: int) -> list[float]:
        """η_i(t) = η_i q1^(t−1)."""
        first = self.agent_eta[agent] if self.agent_eta else self.eta
        return [first * self.growth(agent) ** t for t in range(rounds)]


class ScheduledPeer(AdmmPeer):
    """ADMM whose penalty η_i(t) and noise follow a schedule, round by round."""

    def __init__(
        self,
        objective: Objective,
        place: AgentPlace,
        plan: NoisePlan | None,
        streams: Streams,
        duals: Duals,
        penalties: Sequence[float],
    ) -> None:
        assert isinstance(plan, NoiseSchedule)
        first = plan.rounds[0]
        super().__init__(
            objective,
            degree=place.size.degree,
            eta=penalties[0],
            tolerance=first.stop,
            duals=duals,
            domain=first.domain,
        )
        steepest = max(*penalties, *(duals.step(t) for t in range(1, place.rounds + 1)))
        self.limits = duals.limits(min(each.domain for each in plan.rounds), steepest)
        self.penalties = penalties
        self.schedule = plan
        self.rng = streams.generator("noise", place.agent)

    def begin(self, t: int, plan: RoundPlan) -> None:
        """Take the penalty, the tolerance and the domain of round t."""
        self.eta, self.tolerance, self.domain = self.penalties[t - 1], plan.stop, plan.domain

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        if self.schedule.silent:
            return without_noise(-self.subproblem(self.penalties[t - 1]).gradient(released))
        return self.noise_drawn(t, released)

    def noise_drawn(self, t: int, released: Vector) -> Candidate | None:
        """The noise that must have made a release, where some was drawn; None if it did not use the data.

        Here it is what was added to the minimiser, which each hypothesis computes for itself.
        """
        plan = self.schedule.rounds[t - 1]
        self.begin(t, plan)
        error = 2.0 * plan.tolerance / self.subproblem(self.eta).curvature
        return added(released - self.minimise().theta, self.schedule.noise, plan.scale, error)

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.schedule.rounds[t - 1].charge,)
