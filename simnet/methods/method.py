"""What a method is to a scenario: its [algorithm] section, and everything that only the method itself knows.

A user's method must say little: its fields, the noise of one agent (`plan`), and one agent's mathematics (`peer`). All
the rest has a default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset, Matrix
from simnet.learning.objective import LOSSES, LocalObjective
from simnet.methods.peer import Peer
from simnet.parts.part import Part
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import BARE, Account, Ledger
from simnet.streams import Streams
from simnet.vectors import Square, Vector

_MOST_DECADES = 100
"""How far something may grow or shrink over a run: squares and quotients of it stay finite numbers."""


@dataclass(frozen=True)
class AgentSize:
    """What is public about an agent: how many rows it holds, how many neighbours it has, and how long a row is."""

    rows: int
    degree: int
    features: int = 1


@dataclass(frozen=True)
class AgentPlace:
    """Where a peer stands: its number, its size, how many agents there are, and for how many rounds."""

    agent: int
    size: AgentSize
    agents: int
    rounds: int


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a method may ask about the rest of a scenario: the kind of graph, the medium, the codec, the faults."""

    topology: str
    medium: str
    entrywise_codec: bool
    """Whether a message may hold some entries of a vector and not others."""
    states_get_lost: bool
    """Whether a crash takes an agent's state with it."""


@dataclass(frozen=True)
class Calibration:
    """The plan of each agent, None where nothing is perturbed, and the regulariser that goes with them.

    `limit` is the ε beyond which a ledger refuses: that of the scenario where noise was chosen to meet it by proof. The
    papers' calibrations overspend by themselves, and noise that the scenario names costs what it costs.
    """

    plans: Sequence[NoisePlan | None]
    regulariser: float = 0.0
    limit: float = math.inf

    @property
    def noisy(self) -> bool:
        """Whether anything is perturbed."""
        return any(
            charge.mechanism != BARE.mechanism for plan in self.plans if plan is not None for charge in plan.charges
        )

    def ledger(self, delta: float) -> Ledger:
        """An empty ledger."""
        return Ledger(delta, self.limit)


@dataclass(frozen=True)
class Setting:
    """What is public about a run before it begins: all that theorems may ask for."""

    privacy: Privacy
    rounds: int
    sizes: Sequence[AgentSize]
    calibration: Calibration
    adjacency: Square
    features: int


@dataclass(frozen=True)
class Finding:
    """A precondition or a bound of a theorem; `holds` is None for a number that is neither right nor wrong."""

    name: str
    holds: bool | None
    margin: float
    sentence: str


@dataclass(frozen=True)
class Promise:
    """ε by the method's paper, ε by proof (None: no finite one), and the one of the two that the scenario goes by."""

    claimed: float | None
    proven: float | None
    kept_by: str

    @property
    def epsilon(self) -> float:
        """The ε promised; infinite if nothing is."""
        found = self.claimed if self.kept_by == "claimed" else self.proven
        return math.inf if found is None else found


class Method(Part):
    """One way of learning together."""

    central: ClassVar[bool] = False
    """Whether it computes at the hub of a star."""
    colour: ClassVar[str] = "#7F7F7F"
    """Its colour on a light page."""
    noise_amounts: ClassVar[tuple[str, ...]] = ()
    """The fields by which a scenario names an amount of noise instead of a budget."""
    growths: ClassVar[tuple[str, ...]] = ()
    """The fields, or lists of them, by which something changes by a factor in every round."""
    has_test: ClassVar[bool] = False
    """Whether a test decides which rounds release something."""
    recycles: ClassVar[bool] = False
    """Whether some rounds release what is computed from earlier releases alone."""
    flips_labels: ClassVar[bool] = False
    """Whether rows are reported with flipped labels."""
    linear_gaussian: ClassVar[bool] = False
    """Whether all messages are linear in models that got Gaussian noise once: then ε can be told for each observer."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The word by which a scenario chooses it."""

        @property
        def loss(self) -> str:
            """The loss of one row."""

    # What it needs of the rest of the scenario.

    def misfit(self, around: Surroundings) -> str | None:
        """Why it cannot work in these surroundings, as `field: why not`; None if it can."""
        return None

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        """Why it cannot be calibrated as asked, as `field: why not`; None if it can."""
        if privacy.calibration == "none":
            for field in self.noise_amounts:
                if getattr(self, field) is not None:
                    return f"algorithm.{field}: with privacy.calibration = 'none' there is no noise"
        return None

    def refuse_growth(self, rounds: int) -> None:
        """ScenarioError if something grows or shrinks beyond what arithmetic can hold."""
        for field in self.growths:
            value = getattr(self, field)
            for growth in value if isinstance(value, tuple) else (value,):
                decades = rounds * math.log10(growth)
                if abs(decades) > _MOST_DECADES:
                    raise ScenarioError(
                        f"algorithm.{field} = {growth:g}: over {rounds:,} rounds that is a factor of 1e{decades:+.0f}, "
                        f"and numbers have room for 1e±{_MOST_DECADES}; nearer to 1 would do"
                    )

    def misfit_of_live(self) -> str | None:
        """Why no live agent can run it, as `field: why not`; None if one can."""
        return None

    # Noise and charges, before anything runs.

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        """The noise of one agent; agents of the same size share it."""
        return None

    def calibrate(self, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> Calibration:
        """The noise of all agents."""
        found = {size: self.plan(privacy, size, rounds) for size in dict.fromkeys(sizes)}
        return Calibration([found[size] for size in sizes], limit=self.limit(privacy))

    def limit(self, privacy: Privacy) -> float:
        """The ε beyond which ledgers refuse."""
        return privacy.epsilon if privacy.calibration == "proven" and not self.names_its_noise else math.inf

    def most_releases(self, rounds: int) -> int:
        """How often an agent releases something at most."""
        return rounds

    def preparation(self, features: int) -> tuple[float, float]:
        """Bytes of memory and seconds of computing, about, for what is computed once from rows of this length."""
        return 0.0, 0.0

    def message_lengths(self, features: int) -> tuple[int, ...]:
        """The lengths of the vectors in its longest message: the model, and what goes with it."""
        return (features,)

    @property
    def late_news(self) -> str | None:
        """What becomes of it where all news is older than a round, and what would help; None if nothing does."""
        return None

    @property
    def names_its_noise(self) -> bool:
        """Whether the scenario names the noise, so that ε is what it comes to."""
        return any(getattr(self, field) is not None for field in self.noise_amounts)

    # What every agent computes with.

    @property
    def weight(self) -> float:
        """C, the weight of the loss against the regulariser."""
        return 1.0

    def objective(self, part: Dataset, regulariser: float) -> LocalObjective:
        """An agent's f_i on its own rows."""
        return LocalObjective(part.X, part.y, LOSSES[self.loss], regulariser, self.weight)

    def training_objective(self, part: Dataset, regulariser: float, privacy: Privacy) -> LocalObjective:
        """What an agent minimises over the rows that it computes with."""
        return self.objective(part, regulariser)

    @property
    def public_share(self) -> float | None:
        """The share of the test rows whose features it asks for as public; they are not tested on."""
        return None

    # Rows that travel before the first round.

    @property
    def reports_from(self) -> Literal["users", "leaves"] | None:
        """Who sends rows to whoever computes with them; None if rows stay where they are."""
        return None

    def reported(self, agent: int, part: Dataset, privacy: Privacy, streams: Streams) -> Dataset:
        """An agent's rows as they are sent."""
        return part

    def gathered(self, own: Sequence[Dataset], arrived: Sequence[Dataset]) -> list[Dataset]:
        """The rows that each agent computes with, given its own and those of them that arrived."""
        return list(arrived)

    # One peer per agent.

    def peer(self, plan: NoisePlan | None, objective: LocalObjective, place: AgentPlace, streams: Streams) -> Peer:
        """One agent's mathematics."""
        raise NotImplementedError(f"{type(self).__name__} has neither `peer` nor `peers`")

    def peers(
        self,
        calibration: Calibration,
        objectives: Sequence[LocalObjective],
        sizes: Sequence[AgentSize],
        rounds: int,
        streams: Streams,
        public: Matrix | None = None,
        neighbours: Sequence[Sequence[int]] = (),
    ) -> list[Peer]:
        """The mathematics of all agents, in order.

        `public` are the features of its `public_share`, `neighbours` those of each agent.
        """
        agents = zip(calibration.plans, objectives, sizes, strict=True)
        return [
            self.peer(plan, objective, AgentPlace(agent, size, len(sizes), rounds), streams)
            for agent, (plan, objective, size) in enumerate(agents)
        ]

    def cancelling(self, agent: int, neighbours: Sequence[Sequence[int]], streams: Streams, features: int) -> Vector:
        """What an agent adds to its model and its neighbours together take off: secrets that pairs share."""
        raise NotImplementedError(f"{type(self).__name__} is not `linear_gaussian`")

    # What it says about itself.

    def theory(self, setting: Setting) -> list[Finding]:
        """What its theorems ask for, and by how much the setting meets it."""
        return []

    def problem_facts(self, sizes: Sequence[AgentSize], regulariser: float) -> Facts:
        """The local problem, for people."""
        return {"loss": self.loss}

    # What an auditor asks.

    @property
    def sends_models_only(self) -> bool:
        """Whether a message holds a model and nothing else, so that the victim's steps alone need to be retraced."""
        return True

    def holder(self, owner: int) -> int:
        """Who computes with an agent's rows."""
        return owner

    def flip_probability(self, privacy: Privacy) -> float:
        """How often the label of a reported row is the wrong one."""
        return 0.0

    def promise(self, spent: Account, kept_by: str, *, owner: int, reports_heard: bool) -> Promise:
        """What the owner of a row is promised against somebody who may have heard the rows travel."""
        return Promise(spent.claimed_epsilon, spent.proven_epsilon, kept_by)

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        """Why no neighbour can drive a victim's model where it likes; None if one can."""
        return f"{self.name} does not say how a neighbour could drive its victim"

    def driver(self, honest: Peer, victim: int, degree: int, places: Sequence[Vector]) -> Peer:
        """The peer that drives a victim with so many neighbours to these places in turn, in place of an honest one."""
        raise ScenarioError(f"audit.canary: {self.not_driven(victim, reports_heard=False)}")
