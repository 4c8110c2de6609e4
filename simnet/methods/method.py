"""What a method is to a scenario: its [algorithm] section, and everything that only the method itself knows.

A user's method must say little: its fields, the noise of one agent (`plan`), and one agent's mathematics (`peer`). All
the rest has a default.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from simnet.errors import BudgetError, ScenarioError
from simnet.learning.dataset import Dataset, Matrix
from simnet.learning.objective import LOSSES
from simnet.learning.row_objective import Objective
from simnet.learning.task import NEEDED, Task
from simnet.learning.task_parts import TASKS, default_task
from simnet.methods.peer import Peer
from simnet.parts.part import Part
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import BARE, Account, Charge, Ledger
from simnet.streams import Streams
from simnet.vectors import Square, Vector

if TYPE_CHECKING:
    from simnet.learning.column_solver import Allot
    from simnet.learning.stacked_objectives import StackedObjectives
    from simnet.methods.columns import ColumnPeers

_MOST_DECADES = 100
"""How far something may grow or shrink over a run: squares and quotients of it stay finite numbers."""


@dataclass(frozen=True)
class AgentSize:
    """What is public about an agent: its rows, its neighbours, the length of a model, and what bounds the task has."""

    rows: int
    degree: int
    features: int = 1
    gradient_bound: float | None = None
    """On the norm of one row's gradient; None if there is none: a method clips then (`Objective.clipped_gradient`)."""
    smoothness: float | None = None
    """On the curvature of one row's loss; None if there is none."""

    @property
    def constants(self) -> tuple[float, float]:
        """L and c1 of a loss of the margin."""
        if self.gradient_bound is None or self.smoothness is None:
            raise BudgetError(
                "the task states no bounds on a row's gradient and its curvature, and the plan needs them"
            )
        return self.gradient_bound, self.smoothness


@dataclass(frozen=True)
class AgentPlace:
    """Where a peer stands: its number, its size, how many agents there are, for how many rounds, and its neighbours."""

    agent: int
    size: AgentSize
    agents: int
    rounds: int
    degrees: Mapping[int, int] = field(default_factory=dict)
    """Its neighbours, and how many neighbours each of them has."""

    @property
    def weights(self) -> dict[int, float]:
        """Metropolis weights, 1/(1 + max(V_i, V_j)) for each neighbour j: what is left of 1 is the agent's own."""
        return {peer: 1.0 / (1 + max(self.size.degree, degree)) for peer, degree in self.degrees.items()}


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

    @property
    def declared(self) -> str | None:
        """A mechanism that some agent is charged for and that its method only declares."""
        return next((charge.mechanism for charge in self._charges() if charge.declared), None)

    @property
    def of_short_rows(self) -> str | None:
        """A mechanism that some agent is charged for and that has no price where rows may be longer than 1."""
        return next((charge.mechanism for charge in self._charges() if charge.of_short_rows), None)

    def _charges(self) -> Iterator[Charge]:
        plans = {id(plan): plan for plan in self.plans if plan is not None}
        return (charge for plan in plans.values() for charge in plan.charges)

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
    public: Matrix | None = None
    """The features of the method's `public_share`."""


@dataclass(frozen=True)
class Finding:
    """A precondition or a bound of a theorem; `holds` is None for a number that is neither right nor wrong."""

    name: str
    holds: bool | None
    margin: float
    sentence: str


@dataclass(frozen=True)
class Promise:
    """ε by the method's paper, ε by proof (None: no finite one), and which of them the scenario goes by.

    Where the author of a method declares something, that is the promise.
    """

    claimed: float | None
    proven: float | None
    kept_by: str
    declared: float | None = None

    @property
    def epsilon(self) -> float:
        """The ε promised; infinite if nothing is."""
        found = {"claimed": self.claimed, "declared": self.declared}.get(self.kept_by, self.proven)
        return math.inf if found is None else found


def _degrees(neighbours: Sequence[int], sizes: Sequence[AgentSize]) -> dict[int, int]:
    return {peer: sizes[peer].degree for peer in neighbours}


class Method(Part):
    """One way of learning together."""

    needs: ClassVar[frozenset[str]] = frozenset({"gradient"})
    """What it needs of a task, of the words of `task.NEEDED`; a scenario whose task has less is refused."""
    central: ClassVar[bool] = False
    """Whether it computes at the hub of a star."""
    planned: ClassVar[bool] = False
    """Whether `simnet plan` tries it without being asked."""
    colour: ClassVar[str] = "#7F7F7F"
    """Its colour on a light page."""
    noise_amounts: ClassVar[tuple[str, ...]] = ()
    """The fields by which a scenario names an amount of noise instead of a budget."""
    growths: ClassVar[tuple[str, ...]] = ()
    """The fields, or lists of them, by which something changes by a factor in every round."""
    has_test: ClassVar[bool] = False
    """Whether a test decides which rounds release something."""
    control: ClassVar[str] = ""
    """What it is without its skips, as a scenario names it: `simnet compare` stops that at the same bytes and time."""
    recycles: ClassVar[bool] = False
    """Whether some rounds release what is computed from earlier releases alone."""
    flips_labels: ClassVar[bool] = False
    """Whether rows are reported with flipped labels."""
    begins_again: ClassVar[bool] = False
    """Whether its peers can lose their state in a crash: each then has `forget`, `recall` and `retell` (`Mortal`)."""
    bundles: ClassVar[bool] = False
    """Whether a message may hold fewer and shorter vectors than `message_lengths` says: its peers look at each."""
    survives_loss: ClassVar[bool] = True
    """Whether it goes on where a message is lost; one that sends differences does not."""
    floods: ClassVar[bool] = False
    """Whether its peers learn what agents beyond their neighbours have released (`Peer.known_models`)."""
    public_silences: ClassVar[tuple[str, ...]] = ()
    """Its own reasons to skip a round that are functions of what was released."""
    private_silences: ClassVar[tuple[str, ...]] = ()
    """Those that depend on the data: no charge pays for what they tell, so noise would protect nothing."""
    linear_gaussian: ClassVar[bool] = False
    """Whether all messages are linear in models that got Gaussian noise once: then ε can be told for each observer."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The word by which a scenario chooses it."""

    @property
    def silences(self) -> dict[str, bool]:
        """Its own reasons to skip a round, and whether each depends on the data."""
        return dict.fromkeys(self.public_silences, False) | dict.fromkeys(self.private_silences, True)

    # What it needs of the rest of the scenario.

    def misfit(self, around: Surroundings) -> str | None:
        """Why it cannot work in these surroundings, as `field: why not`; None if it can."""
        return None

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        """Why it cannot be calibrated as asked, as `field: why not`; None if it can."""
        if privacy.calibration == "none":
            for field in self._noise_named():
                return f"algorithm.{field}: with privacy.calibration = 'none' there is no noise"
        return None

    def misfit_of_long_rows(self, privacy: Privacy) -> str | None:
        """Why it cannot learn from rows that may be longer than 1, as `field: why not`; None if it can.

        Then `AgentSize` has no bounds, and whatever it is charged for must not rest on any.
        """
        return f"data.scale: the ε and the steps of {self.name} are for rows of norm at most 1; leave it out, or 'rows'"

    def misfit_of_task(self, task: Task | None) -> str | None:
        """Why it cannot learn this, as `field: why not`; without a task it learns a linear classifier with its loss."""
        loss = getattr(self, "loss", "logistic")
        if task is None:
            known = " or ".join(LOSSES)
            return None if loss in LOSSES else f"algorithm.loss: without a task it is {known}; name a task instead"
        if "loss" in self.model_fields_set and loss != task.word:
            return f"algorithm.loss: the task is {task.word}, which has a loss of its own; leave algorithm.loss out"
        for need in NEEDED:
            if need in self.needs - task.offers:
                would = " or ".join(word for word in TASKS if self.needs <= default_task(word).offers)
                return f"task: {self.name} needs {NEEDED[need]}, and {task.word} has none; {would} would do"
        return None

    @property
    def hides_models(self) -> str | None:
        """Why a message does not tell its sender's model (`Peer.model_heard`); None if it does."""
        return None

    def refuse_growth(self, rounds: int) -> None:
        """ScenarioError if something grows or shrinks beyond what arithmetic can hold."""
        for name in self.growths:
            value = getattr(self, name)
            for growth in value if isinstance(value, tuple) else () if value is None else (value,):
                decades = rounds * math.log10(growth)
                if abs(decades) > _MOST_DECADES:
                    raise ScenarioError(
                        f"algorithm.{name} = {growth:g}: over {rounds:,} rounds that is a factor of 1e{decades:+.0f}, "
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
        """The noise of all agents; where nobody has any, there is no budget to keep."""
        found = {size: self.plan(privacy, size, rounds) for size in dict.fromkeys(sizes)}
        limit = math.inf if all(plan is None for plan in found.values()) else self.limit(privacy)
        return Calibration([found[size] for size in sizes], getattr(self, "regulariser", 0.0), limit)

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
        return bool(self._noise_named())

    def _noise_named(self) -> list[str]:
        return [field for field in self.noise_amounts if getattr(self, field) not in (None, ())]

    # What every agent computes with.

    @property
    def weight(self) -> float:
        """C, the weight of the loss against the regulariser."""
        return 1.0

    def training_objective(self, task: Task, part: Dataset, regulariser: float, privacy: Privacy) -> Objective:
        """What an agent minimises over the rows that it computes with."""
        return task.made(part, regulariser, self.weight)

    @property
    def public_share(self) -> float | None:
        """The share of the test rows whose features it asks for as public; they are not tested on."""
        return None

    # Rows that travel before the first round.

    @property
    def beside_rows(self) -> int:
        """How many numbers travel with a user's row, beside its features and its label."""
        return 0

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

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        """One agent's mathematics."""
        raise NotImplementedError(f"{type(self).__name__} has neither `peer` nor `peers`")

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
        """The mathematics of all agents, in order.

        `public` are the features of its `public_share`, `neighbours` those of each agent.
        """
        agents = zip(calibration.plans, objectives, sizes, neighbours or [()] * len(sizes), strict=True)
        return [
            self.peer(plan, objective, AgentPlace(agent, size, len(sizes), rounds, _degrees(near, sizes)), streams)
            for agent, (plan, objective, size, near) in enumerate(agents)
        ]

    def columns(
        self,
        calibration: Calibration,
        objectives: StackedObjectives,
        sizes: Sequence[AgentSize],
        rounds: int,
        streams: Streams,
        allot: Allot,
    ) -> ColumnPeers:
        """The mathematics of all agents in columns, where it is `in_columns`."""
        raise NotImplementedError(f"{type(self).__name__} has no columns")

    @property
    def in_columns(self) -> bool:
        """Whether it has columns. They are not inherited: a class that changes its peers has none until it says so."""
        return "columns" in vars(type(self))

    def cancelling(self, agent: int, neighbours: Sequence[Sequence[int]], streams: Streams, features: int) -> Vector:
        """What an agent adds to its model and its neighbours together take off: secrets that pairs share."""
        raise NotImplementedError(f"{type(self).__name__} is not `linear_gaussian`")

    # What it says about itself.

    def theory(self, setting: Setting) -> list[Finding]:
        """What its theorems ask for, and by how much the setting meets it."""
        return []

    def problem_facts(self, sizes: Sequence[AgentSize], regulariser: float) -> Facts:
        """The local problem, for people; a method that says nothing of it shows its fields."""
        values = {name: getattr(self, name) for name in type(self).model_fields if name not in ("name", "loss")}
        return {name: value for name, value in values.items() if isinstance(value, (int, float, str))}

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
        declared = spent.declared_epsilon
        kept_by = kept_by if declared is None else "declared"
        claimed = spent.claimed_epsilon if self.bound is None else None
        return Promise(claimed, spent.proven_epsilon, kept_by, declared)

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        """Why no neighbour can drive a victim's model where it likes; None if one can."""
        return f"{self.name} does not say how a neighbour could drive its victim"

    def driver(self, honest: Peer, victim: int, degree: int, places: Sequence[Vector]) -> Peer:
        """The peer that drives a victim with so many neighbours to these places in turn, in place of an honest one."""
        raise ScenarioError(f"audit.canary: {self.not_driven(victim, reports_heard=False)}")
