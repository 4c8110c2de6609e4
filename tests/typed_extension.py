"""A method, a latency and a task as a user with a type checker writes them: mypy reads this file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from simnet.extend import (
    AgentPlace,
    AgentSize,
    Candidate,
    Dataset,
    Field,
    Known,
    Latency,
    Method,
    NoisePlan,
    Objective,
    Parts,
    Positive,
    PositiveSeconds,
    Privacy,
    PrivatePeer,
    Proposal,
    ReadyPlan,
    Seconds,
    Streams,
    Task,
    Vector,
    gaussian_plan,
    mean_sensitivity,
)


class TypedDescent(Method):
    """Descent by noisy gradients, with types."""

    step: Positive = Field(1.0, description="length of a step")

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> ReadyPlan:
        return gaussian_plan(privacy, rounds, mean_sensitivity(size.rows, 1.0))

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> TypedPeer:
        assert isinstance(plan, ReadyPlan), "it is what `plan` gives"
        return TypedPeer(self.step, plan, objective, place.weights, streams.generator("noise", place.agent))


class TypedPeer(PrivatePeer):
    """One agent of it."""

    def __init__(
        self,
        step: float,
        plan: ReadyPlan,
        objective: Objective,
        weights: dict[int, float],
        rng: np.random.Generator,
    ) -> None:
        super().__init__(objective.start, plan, rng)
        self.step, self.objective, self.weights = step, objective, weights

    def gradient(self) -> Vector:
        return self.objective.clipped_gradient(self.theta, 1.0)

    def propose(self, t: int) -> Proposal:
        noisy = self.plan.perturb(t, self.gradient(), self.rng)
        return Proposal((self.theta - self.step * noisy,), gradients=1, charges=self.charges(t))

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        own = self.theta if sent is None else sent[0]
        apart = [self.weights[value.peer] * (value.parts[0] - own) for value in known]
        self.theta = own + np.sum(apart, axis=0)

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate:
        return self.plan.noise_in(t, self.gradient(), (self.theta - released) / self.step)


class TypedLatency(Latency):
    """A least delay and an exponential one on top."""

    least: Seconds = Field(0.01, description="no delay is shorter")
    mean: PositiveSeconds = Field(0.02, description="mean of what comes on top")

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        return self.least + rng.exponential(self.mean, n)


class TypedTask(Task):
    """A number, by the logarithm of cosh: outliers count linearly."""

    labels: ClassVar = "number"
    error: ClassVar[str] = "mean absolute error"

    def objective(self, rows: Dataset, regulariser: float, weight: float) -> LogCosh:
        return LogCosh(rows, rows.features, regulariser, weight)

    def errors(self, models: Vector, test: Dataset) -> Vector:
        missed: Vector = np.abs(test.X @ models.T - test.y[:, None])
        return np.asarray(missed.mean(axis=0))


class LogCosh(Objective):
    """log cosh(θ·x − y) per row."""

    def missed(self, theta: Vector) -> Vector:
        return np.asarray(self.data.X @ theta - self.data.y)

    def row_losses(self, theta: Vector) -> Vector:
        missed = self.missed(theta)
        return np.asarray(np.logaddexp(missed, -missed) - np.log(2.0))

    def row_gradients(self, theta: Vector) -> Vector:
        rows = self.data.X if isinstance(self.data.X, np.ndarray) else self.data.X.toarray()
        return np.tanh(self.missed(theta))[:, None] * rows
