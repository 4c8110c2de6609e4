"""Accelerated gradient descent with Gaussian noise on the gradients, steps averaged by neighbours, columns scaled.

    g_i = ∇ mean l(y θ·x) at y_i, + N(0, σ² I)
    q_i = y_i − α (g_i + λ y_i), sent to all neighbours
    n_i = Σ_j w_ij q_j                       w_ij Metropolis weights, over the newest that is known of each neighbour
    y_i = n_i + t/(t+3) (n_i − θ_i);  θ_i = n_i

Nesterov's step between two averages (Jakovetić, Xavier and Moura, "Fast distributed gradient methods", 2014) makes few
rounds enough. All noise is Gaussian: T rounds cost exactly μ² = T (2c/(mσ))², whatever the graph is, and no curvature
is paid for, so agents with few rows do better with it than with noise in an objective.

Under loss a neighbour's newest known q stands in for the lost one, and the agent's own one until any has come: the
weights always sum to 1. The mean over agents is then not kept exactly; what is missing is a neighbour's last step, and
the next gradient is taken where the agent is, so that nothing adds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from simnet.extend import (
    AgentPlace,
    AgentSize,
    Candidate,
    Field,
    Finding,
    Known,
    Method,
    NoisePlan,
    NonNegative,
    Objective,
    Parts,
    Peer,
    Positive,
    Privacy,
    PrivatePeer,
    Proposal,
    ReadyPlan,
    Scaled,
    Setting,
    Streams,
    Surroundings,
    Told,
    Vector,
    gaussian_plan,
    longest_point,
    mean_sensitivity,
)

LIMIT = 1e4
"""How long a model may be."""


class AveragedSteps(Method):
    """The same on rows as they are."""

    needs: ClassVar[frozenset[str]] = frozenset({"margins"})
    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma",)

    step: Positive = Field(20.0, description="α, the step size; found on Adult")
    regulariser: NonNegative = Field(1e-5, description="λ, the weight of ½|θ|²")
    sigma: Positive | None = Field(None, description="σ of the noise; ε is then what it comes to; default: from ε")

    def misfit(self, around: Surroundings) -> str | None:
        if around.entrywise_codec:
            return "network.codec: it sends some entries only, and averaging needs whole models"
        return super().misfit(around)

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan:
        lipschitz, smoothness = size.constants
        limit = min(LIMIT, longest_point(size.rows, size.features, lipschitz, smoothness))
        return gaussian_plan(privacy, rounds, mean_sensitivity(size.rows, lipschitz), sigma=self.sigma, limit=limit)

    def theory(self, setting: Setting) -> list[Finding]:
        """How fast a network that loses nothing averages, and which steps are safe whatever the rows are."""
        A = np.asarray(setting.adjacency, dtype=np.float64)
        degrees = A.sum(axis=0)
        mixing = A / (1.0 + np.maximum.outer(degrees, degrees))
        mixing += np.diag(1.0 - mixing.sum(axis=0))
        factor = float(np.sort(np.abs(np.linalg.eigvalsh(mixing)))[-2]) if len(A) > 1 else 0.0
        told = f"without loss, an average brings steps nearer to their mean by a factor of {factor:.4g}"
        found = [Finding("all agents come together", factor < 1.0 - 1e-9, 1.0 - factor, told)]
        bends = [size.smoothness for size in setting.sizes if size.smoothness is not None]
        if bends:
            safe = 1.0 / (max(bends) + self.regulariser)
            told = f"up to {safe:.4g} it is safe if all rows are alike; a longer one counts on rows that differ"
            found.append(Finding("the step of Nesterov's theorem", None, safe - self.step, told))
        return found

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, ReadyPlan)
        lipschitz, _ = place.size.constants
        return NoisyNesterovPeer(
            self, plan, objective, place.weights, lipschitz, streams.generator("noise", place.agent)
        )


class NoisyNesterov(Scaled, AveragedSteps):
    """Accelerated descent on scaled columns: noise on gradients, steps averaged by neighbours."""

    colour: ClassVar[str] = "#332288"
    planned: ClassVar[bool] = True

    name: Literal["noisy-nesterov"]


class NoisyNesterovPeer(PrivatePeer):
    """One agent of it."""

    def __init__(
        self,
        method: AveragedSteps,
        plan: ReadyPlan,
        objective: Objective,
        weights: dict[int, float],
        bound: float,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(objective.start, plan, rng)
        self.step, self.regulariser = method.step, method.regulariser
        self.objective, self.weights, self.bound = objective, weights, bound
        self.ahead = self.theta
        """y, where the next gradient is taken."""

    def gradient(self) -> Vector:
        """What the rows give, and nothing else."""
        return self.objective.clipped_gradient(self.ahead, self.bound)

    def stepped(self, noisy: Vector) -> Vector:
        return self.ahead - self.step * (noisy + self.regulariser * self.ahead)

    def propose(self, t: int) -> Proposal:
        noisy = self.plan.perturb(t, self.gradient(), self.rng)
        return Proposal((self.stepped(noisy),), gradients=1, charges=self.charges(t))

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        own = self.ahead if sent is None else sent[0]
        news = [(self.weights[value.peer], value.parts[0]) for value in known if value.round > 0]
        mixed = own + sum((weight * (told - own) for weight, told in news), start=np.zeros_like(own))
        ahead = mixed + t / (t + 3) * (mixed - self.theta)
        # Farther out the rounding of a gradient would count; honest models stay far below.
        self.ahead = ahead / max(1.0, float(np.linalg.norm(ahead)) / self.plan.limit)
        self.theta = mixed

    def own_model(self, t: int, sent: Parts | None, known: Sequence[Known]) -> Told | None:
        """The average of steps that were released."""
        return None if sent is None else Told(t, self.theta)

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate:
        noisy = (self.stepped(np.zeros_like(released)) - released) / self.step
        return self.plan.noise_in(t, self.gradient(), noisy)
