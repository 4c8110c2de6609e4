"""[[output]]: what counts as an agent's model, at the end of each of its rounds.

A private method perturbs what it releases. Whatever is made of releases afterwards costs no privacy, so an agent may
choose better than its last model: an average over its last releases, its neighbours' and everybody's that it has
learnt. A run evaluates any number of outputs side by side; messages, charges and noise are the same with each.

An output sees what an agent has released, heard and learnt (`Learnt`) and nothing else. So it is as private as the
messages. `last` is the method's own choice, `Peer.theta`, and docs/outputs.md says of what each method makes it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from simnet.methods.method import Method
from simnet.methods.peer import Told
from simnet.parts.fields import Count, Name, Switch
from simnet.parts.part import OneOf, Part, PartTable, bare_word, table
from simnet.vectors import Vector

Reach = Literal["own", "neighbours", "everybody"]
Releases = Sequence[Told]
"""The last releases of one agent, oldest first."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What one agent may make a model of. An agent that it has heard nothing of is absent."""

    last: Vector
    """what the method itself takes for the agent's model"""
    own: Releases
    """empty before its first release, and after a crash that took its state"""
    neighbours: Mapping[int, Releases]
    """as they came over the links; empty if the output reaches less far"""
    everybody: Mapping[int, Releases]
    """by origin, the agent itself included; empty unless the output reaches that far"""


class Output(Part):
    """What counts as an agent's model."""

    reach: ClassVar[Reach] = "neighbours"
    """Whose models it is made of; for `everybody` the method must flood."""
    window: ClassVar[int] = 1
    """How many releases of each agent it is shown at most; a property where it depends on fields."""

    name: Name | None = Field(None, description="what it is called in tables; default: its kind")
    headline: Switch = Field(
        False, description="whether `test_error`, losses, consensus and metrics are about it; default: about `last`"
    )

    @property
    def called(self) -> str:
        """Its name in tables: its word with `_` between letters, or the name of its class if it comes from a file."""
        name = self.word.rpartition(":")[2] if self.name is None else self.name
        return "".join(letter if letter.isalnum() else "_" for letter in name)

    @abstractmethod
    def model(self, learnt: Learnt) -> Vector:
        """The model, made anew or one of those shown; these stay as they are."""

    def misfit(self, method: Method) -> str | None:
        """Why it is nothing for a method; None if it is."""
        if self.reach == "everybody" and not method.floods:
            return f"{method.word} learns of neighbours alone; choose neighbours, or a method that floods"
        if self.reach != "own" and method.hides_models:
            return f"{method.hides_models} that one could average; last or tail would do"
        return None


class Last(Output):
    """What the method itself takes for the agent's model, as the papers do."""

    reach: ClassVar[Reach] = "own"

    kind: Literal["last"]

    def model(self, learnt: Learnt) -> Vector:
        return learnt.last


class _Averaged(Output):
    releases: Count = Field(10, description="over how many of its last releases each agent's model is averaged")

    @property
    def window(self) -> int:  # type: ignore[override]
        return self.releases


class Tail(_Averaged):
    """The average of the agent's own last releases; the last model before the first."""

    reach: ClassVar[Reach] = "own"

    kind: Literal["tail"]

    def model(self, learnt: Learnt) -> Vector:
        return average([learnt.own], learnt.last)


class Neighbours(Output):
    """The average of the agent's own last release and those of its neighbours, as far as it has heard of them."""

    kind: Literal["neighbours"]

    def model(self, learnt: Learnt) -> Vector:
        return average([learnt.own, *learnt.neighbours.values()], learnt.last)


class TailNeighbours(_Averaged):
    """The average of what `tail` makes of the agent's own last releases and of those of each neighbour."""

    kind: Literal["tail+neighbours"]

    def model(self, learnt: Learnt) -> Vector:
        return average([learnt.own, *learnt.neighbours.values()], learnt.last)


class Flooded(_Averaged):
    """The average over all agents of which it has learnt anything, over links near and far; the method must flood."""

    reach: ClassVar[Reach] = "everybody"

    kind: Literal["flood"]
    releases: Count = Field(1, description="over how many of its last releases each agent's model is averaged")

    def model(self, learnt: Learnt) -> Vector:
        return average(learnt.everybody.values(), learnt.last)


def average(agents: Iterable[Releases], otherwise: Vector) -> Vector:
    """The mean over agents of the mean of each one's releases; agents without any do not count.

    >>> one, three = Told(1, np.array([1.0])), Told(2, np.array([3.0]))
    >>> average([[one, three], [three], []], np.zeros(1)).tolist()
    [2.5]
    """
    means = [np.mean([each.model for each in releases], axis=0) for releases in agents if releases]
    return np.asarray(np.mean(means, axis=0), dtype=np.float64) if means else otherwise


OUTPUTS: PartTable[Output] = table(Last, Tail, Neighbours, TailNeighbours, Flooded)

AnyOutput = Annotated[Output, OneOf(OUTPUTS, short=bare_word, of=Output)]
"""What counts as an agent's model."""


def headline(outputs: Sequence[Output]) -> int | None:
    """The place of the output that `test_error` is about; None for the method's own model."""
    return next((place for place, output in enumerate(outputs) if output.headline), None)
