"""[topology]: who is whose neighbour."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from simnet.parts.fields import Count, Name, Number, Positive, Probability
from simnet.parts.part import Section

Agents = Annotated[int, BeforeValidator(Number("a whole number of at least 2", 2, 2**31, whole=True))]


class _Sized(Section):
    agents: Agents = Field(5, description="number of agents")


class Random(_Sized):
    """A connected random graph with a given mean degree."""

    kind: Literal["random"]
    mean_degree: Positive = Field(3.0, description="mean number of neighbours")


class Ring(_Sized):
    """Each agent has two neighbours."""

    kind: Literal["ring"]


class Star(_Sized):
    """Agent 0 is everybody's only neighbour."""

    kind: Literal["star"]


class Complete(_Sized):
    """Everybody is everybody's neighbour."""

    kind: Literal["complete"]


class Grid(_Sized):
    """A rectangle, as square as the number of agents allows."""

    kind: Literal["grid"]


class Regular(_Sized):
    """A random graph in which everybody has the same number of neighbours."""

    kind: Literal["regular"]
    degree: Count = Field(3, description="neighbours of each agent")


class SmallWorld(_Sized):
    """Watts and Strogatz: a ring lattice with rewired links."""

    kind: Literal["small-world"]
    degree: Count = Field(4, description="neighbours of each agent before rewiring; even")
    rewire: Probability = Field(0.1, description="probability that a link is rewired")


class ScaleFree(_Sized):
    """Barabási and Albert: new agents attach to well-connected ones."""

    kind: Literal["scale-free"]
    attach: Count = Field(2, description="links of a new agent")


class Geometric(_Sized):
    """Agents at random places in the unit square, linked when near."""

    kind: Literal["geometric"]
    radius: Positive = Field(0.4, description="distance within which two agents are linked")


class FromFile(Section):
    """An edge list: two agent numbers a line."""

    kind: Literal["file"]
    file: Name = Field(description="path of the edge list")


Topology = Annotated[
    Random | Ring | Star | Complete | Grid | Regular | SmallWorld | ScaleFree | Geometric | FromFile,
    Field(discriminator="kind"),
]
