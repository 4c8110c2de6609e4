"""What a method is to a scenario: its [algorithm] section, and everything that only the method itself knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pydantic import Field

from simnet.parts.fields import Count, NonNegative, Positive
from simnet.parts.part import Part
from simnet.privacy.budget import Privacy


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a method may ask about the rest of a scenario: the kind of graph, the medium, the codec, the faults."""

    topology: str
    medium: str
    entrywise_codec: bool
    """Whether a message may hold some entries of a vector and not others."""
    states_get_lost: bool
    """Whether a crash takes an agent's state with it."""


class Method(Part):
    """One way of learning together."""

    central: ClassVar[bool] = False
    """Whether it computes at the hub of a star."""
    noise_amounts: ClassVar[tuple[str, ...]] = ()
    """The fields by which a scenario names an amount of noise instead of a budget."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The word by which a scenario chooses it."""
            ...

        @property
        def loss(self) -> str:
            """The loss of one row."""
            ...

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

    def misfit_of_live(self) -> str | None:
        """Why its agents cannot be processes of their own, as `field: why not`; None if they can."""
        return None


class Setting(Protocol):
    """What a method needs to know of the scenario around it."""

    @property
    def algorithm(self) -> Method: ...
    @property
    def privacy(self) -> Privacy: ...
    @property
    def rounds(self) -> int: ...
    @property
    def seed(self) -> int: ...


class Decentralised(Method):
    """What every decentralised ADMM has."""

    eta: Positive = Field(0.01, description="η, the penalty")
    regulariser: NonNegative = Field(1e-4, description="λ̂/N, the weight of ½|θ|² in one agent's objective")
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")
    duals: Literal["node", "healing", "edge"] = Field(
        "node",
        description="how duals are kept: `node` as in the papers; `healing` or `edge`, which survive loss",
    )
    heal_every: Count = Field(1, description="`healing`: each so many-th message carries what repairs the duals")

    def misfit(self, around: Surroundings) -> str | None:
        if self.duals == "edge" and around.medium == "shared":
            return "network.medium: edge duals send every neighbour a message of its own, which is unicast"
        if self.duals == "edge" and (reason := self.not_by_edges()):
            return f"algorithm.duals: {reason}; choose node or healing"
        if self.duals == "healing" and around.entrywise_codec and self.heal_every > 1:
            return "algorithm.heal_every: with the codec top-k each entry travels with its sum, so it is 1"
        return None

    def not_by_edges(self) -> str | None:
        """Why edge duals cannot be kept; they are one splitting with one η, without resting rounds or a dual step."""
        return None
