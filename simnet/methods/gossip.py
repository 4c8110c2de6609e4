"""Private averaging by gossip: every agent perturbs its own model once, and the network averages what it hears.

    y_i(0) = x_i + ν_i          x_i ≈ argmin f_i, once;  ν_i ~ N(0, σ² I), and pairs of neighbours may add what cancels
    y(t)   = W_t y(t−1)         W_t is fixed by who heard whom

Everything that travels is a linear function of y(0), so what one agent learns of another can be computed exactly from
the log (`simnet.privacy.observers`). Three ways to average:

`plain`      y_i ← y_i + w Σ_j (y_j − y_i) over those who were heard of anew, w = 1/(1 + V_max) (Xiao and Boyd, "Fast
             linear iterations for distributed averaging", 2004). A lost message takes its mass with it: the mean moves.
`relayed`    the same, with fresh noise N(0, r² I) on every message: distance protects.
`push-sum`   running sums (Hadjicostis, Vaidya and Domínguez-García, "Robust distributed average consensus via exchange
             of running sums", 2016): agent i divides value and weight into V_i + 1 shares and sends the sums of all
             shares so far; who missed some takes the difference. No mass is ever lost, so noise that cancels in the sum
             cancels at any loss.

Pairwise noise: neighbours i < j share a secret s_ij ~ N(0, σ_c² I); i adds it and j takes it off. ν has the covariance
σ² I + σ_c² Laplacian. The ledger charges σ alone, which holds whatever the secrets do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from simnet.learning.dataset import Matrix
from simnet.learning.row_objective import Objective
from simnet.learning.solver import Problem, Solution, Solver
from simnet.methods.method import AgentSize, Calibration, Finding, Method, Setting, Surroundings
from simnet.methods.peer import Known, Peer, Proposal, Told, Work
from simnet.parts.fields import NonNegative, Positive
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import BARE, RECYCLED, Charge
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.noise import gaussian
from simnet.privacy.noise_schedule import NoiseSchedule, RoundPlan, bare_schedule, calibrated
from simnet.privacy.objective_perturbation import default_tolerance
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate, added
from simnet.privacy.rounding import domain
from simnet.streams import Streams
from simnet.vectors import Parts, Vector


class Gossip(Method):
    """Private averaging: each agent perturbs its own model once, and gossip averages the models."""

    colour: ClassVar[str] = "#44AA99"
    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma",)
    linear_gaussian: ClassVar[bool] = True

    needs: ClassVar[frozenset[str]] = frozenset({"margins"})

    name: Literal["gossip"]
    averaging: Literal["plain", "relayed", "push-sum"] = Field(
        "push-sum", description="how models are averaged; only `push-sum` keeps the mean when messages are lost"
    )
    regulariser: Positive = Field(1e-2, description="the weight of ½|θ|² in one agent's objective")
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which the local solve may stop; default: chosen by the calibration"
    )
    sigma: Positive | None = Field(
        None,
        description="σ of the noise on an agent's model; ε is then what it comes to; default: from privacy.epsilon",
    )
    pair_sigma: NonNegative = Field(0.0, description="σ of the noise that two neighbours add and take off")
    relay_sigma: Positive | None = Field(None, description="`relayed`: σ of the noise on every message")

    @model_validator(mode="after")
    def _relays_have_noise(self) -> Gossip:
        if (self.averaging == "relayed") != (self.relay_sigma is not None):
            raise ValueError("relay_sigma: goes with averaging = 'relayed', and is needed there")
        return self

    def message_lengths(self, features: int) -> tuple[int, ...]:
        return (features, 1) if self.averaging == "push-sum" else (features,)

    def misfit(self, around: Surroundings) -> str | None:
        if around.entrywise_codec:
            return "network.codec: it sends some entries only, and averaging needs whole models"
        return None

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        if privacy.calibration == "paper":
            return "privacy.calibration: no paper calibrates this method; choose proven"
        return super().misfit_of_privacy(privacy)

    def misfit_of_live(self) -> str | None:
        if self.pair_sigma:
            return "algorithm.pair_sigma: live agents share no secrets yet; leave it at 0"
        return None

    def problem_of(self, size: AgentSize) -> LocalProblem:
        """What privacy needs to know of an agent's one local problem."""
        lipschitz, smoothness = size.constants
        return LocalProblem.of(
            size.rows,
            0,
            0.0,
            self.regulariser,
            lipschitz=lipschitz,
            smoothness=smoothness,
            features=size.features,
        )

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        problem = self.problem_of(size)
        stop = default_tolerance(problem) if self.tolerance is None else self.tolerance
        if privacy.calibration == "none":
            return bare_schedule(1, stop)

        longest = domain(problem, stop)

        def at(sigma: float) -> list[RoundPlan]:
            numbers = problem_parameters(problem) | {"sigma": sigma, "tolerance": stop}
            charge = Charge.of("primal-gaussian", numbers, bound=privacy.bound)
            return [RoundPlan(scale=sigma, tolerance=stop, output_sigma=0.0, charge=charge, domain=longest)]

        if self.sigma is not None:
            return NoiseSchedule("gaussian", tuple(at(self.sigma)))
        return NoiseSchedule("gaussian", tuple(calibrated(at, privacy.epsilon, privacy.delta, part="nothing")))

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
        weight = 1.0 / (1 + max(size.degree for size in sizes))
        found: list[Peer] = []
        for agent, (objective, plan) in enumerate(zip(objectives, calibration.plans, strict=True)):
            assert isinstance(plan, NoiseSchedule)
            cancelling = self.cancelling(agent, neighbours, streams, objective.features)
            model = _Model(objective, plan, cancelling, streams.generator("noise", agent))
            if self.averaging == "push-sum":
                found.append(PushSumPeer(model, sizes[agent].degree))
            else:
                found.append(GossipPeer(model, weight, self.relay_sigma or 0.0))
        return found

    def cancelling(self, agent: int, neighbours: Sequence[Sequence[int]], streams: Streams, features: int) -> Vector:
        """What the agent adds, and its neighbours together take off."""
        total: Vector = np.zeros(features)
        for peer in neighbours[agent] if self.pair_sigma else ():
            pair = (min(agent, peer), max(agent, peer))
            secret = gaussian(streams.generator("noise", f"{pair[0]}-{pair[1]}"), self.pair_sigma, features)
            total += secret if agent == pair[0] else -secret
        return total

    def theory(self, setting: Setting) -> list[Finding]:
        """How fast a network that loses nothing comes to the mean: the second largest eigenvalue of the mixing."""
        A = np.asarray(setting.adjacency, dtype=np.float64)
        degrees, one = A.sum(axis=0), np.eye(len(A))
        mixing = (
            (one + A) / (degrees + 1)
            if self.averaging == "push-sum"
            else one + (A - np.diag(degrees)) / (1 + degrees.max())
        )
        factor = float(np.sort(np.abs(np.linalg.eigvals(mixing)))[-2]) if len(A) > 1 else 0.0
        return [
            Finding(
                "gossip: all agents reach the mean",
                factor < 1.0 - 1e-9,
                1.0 - factor,
                f"without loss, the distance to the mean falls by a factor of {factor:.4g} per round in the long run",
            )
        ]

    def problem_facts(self, sizes: Sequence[AgentSize], regulariser: float) -> Facts:
        return {"regulariser": regulariser, "averaging": self.averaging}

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        return "an agent solves its problem before it hears anybody, so no neighbour can drive it"


class _Model:
    """An agent's own model with its noise, made once."""

    def __init__(self, objective: Objective, plan: NoiseSchedule, cancelling: Vector, rng: np.random.Generator) -> None:
        self.objective = objective
        self.plan = plan
        self.cancelling = cancelling
        self.rng = rng
        self._solver = Solver(objective)

    @property
    def charge(self) -> Charge:
        return self.plan.rounds[0].charge

    @property
    def problem(self) -> Problem:
        zero: Vector = np.zeros(self.objective.features)
        return Problem(self._solver, zero, 0.0, zero, self.plan.rounds[0].stop)

    def noise(self) -> Vector:
        return gaussian(self.rng, self.plan.rounds[0].scale, self.objective.features) + self.cancelling


class GossipPeer(Peer):
    """`plain` and `relayed` averaging for one agent."""

    def __init__(self, model: _Model, weight: float, relay_sigma: float) -> None:
        super().__init__(model.objective.features)
        self.model = model
        self._weight = weight
        self._relay_sigma = relay_sigma
        self._heard: dict[int, int] = {}
        self._proposes = False
        """False for an auditor's peer, which learns the model from the first message."""

    def propose(self, t: int) -> Proposal | Work:
        return self._begin() if t == 1 else Proposal((self._sent(),), 0, 0.0, (self._later(),))

    def _begin(self) -> Work:
        self._proposes = True
        solution: Solution = yield self.model.problem
        # From here on nothing but what lies on the grid is used: neighbours' numbers never meet the data.
        self._start(self.model.plan.on_grid(self.model.plan.rounds[0], solution.theta + self.model.noise()))
        return Proposal((self._sent(),), solution.gradients, solution.gradient_norm, (self.model.charge,))

    def _sent(self) -> Vector:
        return self._message() + gaussian(self.model.rng, self._relay_sigma, len(self.theta))

    def _later(self) -> Charge:
        """Messages after the first are functions of what the network has released."""
        return BARE if self.model.charge is BARE else RECYCLED

    def draws_again(self, releases: int) -> tuple[Vector, list[Vector]]:
        first = self.model.plan.on_grid(self.model.plan.rounds[0], self.clean + self.model.noise())
        return first, [gaussian(self.model.rng, self._relay_sigma, len(self.theta)) for _ in range(releases)]

    @property
    def clean(self) -> Vector:
        return self.model.problem.answer().theta

    def _start(self, model: Vector) -> None:
        self.theta = model

    def _message(self) -> Vector:
        return self.theta

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self._follow(t, sent)
        news = [value.parts[0] for value in known if self._is_news(value)]
        if news:
            self.theta = self.theta + self._weight * (np.sum(news, axis=0) - len(news) * self.theta)

    def own_model(self, t: int, sent: Parts | None, known: Sequence[Known]) -> Told | None:
        """The average so far: it is made of models that got their noise, its own among them, and of nothing else."""
        return None if sent is None else Told(t, self.theta)

    def _follow(self, t: int, sent: Parts | None) -> None:
        """Do without a proposal what one does."""
        if self._proposes or sent is None:
            return
        if t == 1:
            self._adopt(sent[0])
        else:
            self._message()

    def _adopt(self, first: Vector) -> None:
        self.theta = first

    def _is_news(self, value: Known) -> bool:
        """Whether this value of a neighbour was not used before."""
        new = value.round > self._heard.get(value.peer, 0)
        if new:
            self._heard[value.peer] = value.round
        return new

    @property
    def rng(self) -> np.random.Generator:
        """Where its noise comes from."""
        return self.model.rng

    @rng.setter
    def rng(self, source: np.random.Generator) -> None:
        self.model.rng = source

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        """The noise on the model, with that of its first message; secrets of pairs protect nothing and may be told."""
        if t > 1:
            return None
        plan, clean = self.model.plan.rounds[0], self.clean + self.model.cancelling
        error = 2.0 * plan.tolerance / self.model.objective.regulariser
        return added(released * self._scale - clean, "gaussian", math.hypot(plan.scale, self._relay_sigma), error)

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.model.charge if t == 1 else self._later(),)

    def recycled(self, t: int) -> Vector | None:
        return None if t == 1 or self._relay_sigma else self._next()

    def _next(self) -> Vector:
        """What `_message` would give."""
        return self.theta

    @property
    def _scale(self) -> float:
        """How many times smaller than the model its first message is."""
        return 1.0


class PushSumPeer(GossipPeer):
    """`push-sum` for one agent: running sums of the shares of its value and of its weight."""

    def __init__(self, model: _Model, degree: int) -> None:
        super().__init__(model, 0.0, 0.0)
        self._shares = degree + 1
        self._value: Vector = np.zeros_like(self.theta)
        self._mass = 1.0
        self._sum: Vector = np.zeros_like(self.theta)
        self._mass_sum = 0.0
        self._sums_of: dict[int, tuple[Vector, float]] = {}
        self._models_of: dict[int, Vector] = {}

    def initial(self) -> Parts:
        return (np.zeros_like(self.theta), np.zeros(1))

    def _start(self, model: Vector) -> None:
        self._value = self.theta = model

    def _message(self) -> Vector:
        self._value = self._value / self._shares
        self._sum = self._sum + self._value
        return self._sum

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        self._mass = self._mass / self._shares
        self._mass_sum = self._mass_sum + self._mass
        return (np.array([self._mass_sum]),)

    def _adopt(self, first: Vector) -> None:
        self._value = self._sum = first

    def _next(self) -> Vector:
        return self._sum + self._value / self._shares

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self._follow(t, sent)
        for value in known:
            if self._is_news(value):
                total, mass = value.parts[0], float(value.parts[1][0])
                before = self._sums_of.get(value.peer, (np.zeros_like(total), 0.0))
                more, heavier = total - before[0], mass - before[1]
                self._value, self._mass = self._value + more, self._mass + heavier
                self._sums_of[value.peer] = (total, mass)
                if heavier > 0.0:
                    self._models_of[value.peer] = more / heavier
        self.theta = self._value / self._mass

    def model_heard(self, value: Known) -> Vector | None:
        """What the shares since the last message that was heard are worth: a neighbour's average of those rounds."""
        return self._models_of.get(value.peer)

    @property
    def _scale(self) -> float:
        return float(self._shares)
