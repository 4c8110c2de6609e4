"""A method in columns: the mathematics of all agents of a crowd at once, one entry per agent in every array.

`simnet.methods.peer` says what a peer is, and a method's peers say what each agent computes. A method that offers
columns (`Method.columns`) computes the same for many agents in one call, to the last bit: its peers are the
specification, and tests hold the two side by side. Columns exist for agents that are alike and never crash, whose
messages hold the model and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from simnet.learning.column_solver import Allot, Column, ColumnSolver
from simnet.learning.objective import Stack
from simnet.learning.stacked_objectives import Agents, StackedObjectives
from simnet.methods.duals import NodeDuals, constant
from simnet.methods.method import AgentSize
from simnet.privacy.ledger import Charge

TOGETHER = 160
"""Agents that are computed with at once: few enough for what they share to stay in the cache."""


class Proposals:
    """What each agent would do this round: the fields of `simnet.methods.peer.Proposal` in columns."""

    def __init__(self, agents: int, features: int, allot: Allot) -> None:
        self.model: Column = allot((agents, features), np.float64)
        """What is released, where something is."""
        self.releases: Column = allot((agents,), np.bool_)
        self.gradients: Column = allot((agents,), np.int64)
        self.residual: Column = allot((agents,), np.float64)
        self.opens: Column = allot((agents,), np.bool_)
        """Whether what is paid in advance is among its charges."""
        self.asks: Column = allot((agents,), np.bool_)
        """Whether there was a test; then `passed` and `query` are about it."""
        self.passed: Column = allot((agents,), np.bool_)
        self.query: Column = allot((agents,), np.float64)
        self.silence: Column = allot((agents,), np.int8)
        """Why there is no release: a place in `SILENCES`."""

    def clear(self, agents: Agents | slice) -> None:
        """No proposal of these agents yet."""
        for column in (self.releases, self.gradients, self.residual, self.opens, self.asks):
            column[agents] = 0


SILENCES = ("test", "exhausted", "domain")
"""Why an agent in columns may have nothing to release."""
_TEST, _EXHAUSTED, _DOMAIN = range(len(SILENCES))


class ColumnPeers(ABC):
    """The peers of all agents."""

    theta: Column
    """The model that counts: the last one released."""
    dual: Column
    limits: Column
    """How long a neighbour's model may be."""
    proposals: Proposals
    kinds: Column
    """A number for each agent; those with the same number pay the same."""

    @abstractmethod
    def propose(self, t: int, agents: Agents) -> None:
        """Round t's local work of these agents, of whom there are few; what comes out of it is in `proposals`."""

    @abstractmethod
    def charges(self, agent: int, *, opens: bool, releases: bool) -> tuple[Charge, ...]:
        """What a proposal of this agent costs."""

    def settled(self, agents: Agents, accepted: Column) -> None:
        """The ledgers have taken the charges of these agents, or refused them."""
        return

    @abstractmethod
    def absorb(self, t: int, agents: Agents, sent: Column, total: Stack) -> None:
        """The end of round t for these agents: whether each has sent its model, and the sum of its neighbours'."""


class AdmmColumns(ColumnPeers):
    """`simnet.methods.admm.AdmmPeer` with `NodeDuals`, for all agents."""

    def __init__(
        self,
        objectives: StackedObjectives,
        sizes: Sequence[AgentSize],
        *,
        eta: float,
        tolerance: Stack,
        domain: Stack,
        price: Sequence[Charge],
        allot: Allot,
    ) -> None:
        agents, features = len(objectives), objectives.features
        self.objectives = objectives
        self.proposals = Proposals(agents, features, allot)
        self.theta, self.dual, self._known_sum = (allot((agents, features), np.float64) for _ in range(3))
        self.degree = np.array([float(size.degree) for size in sizes])
        self.eta, self.tolerance, self.domain = eta, tolerance, domain
        self._step = constant(eta)
        self._price = price
        self.kinds = numbered(price)
        self.limits = np.array([_limit(eta, *each) for each in zip(domain.tolist(), self.degree.tolist(), strict=True)])
        self.solver = ColumnSolver(objectives, allot)

    def propose(self, t: int, agents: Agents) -> None:
        self.proposals.clear(agents)
        self.propose_anew(agents)

    def propose_anew(self, agents: Agents) -> None:
        """The proposals of agents that have none yet."""
        norms, gradients = self.minimise(agents, self.linear(agents))
        self.release(agents, self.solver.theta[agents], norms, gradients)

    def release(self, agents: Agents, models: Stack, norms: Stack, gradients: Column) -> None:
        """These agents propose to release these models."""
        found = self.proposals
        found.model[agents], found.releases[agents] = models, True
        found.residual[agents], found.gradients[agents] = norms, gradients

    def be_silent(self, agents: Agents, reason: str) -> None:
        """These agents propose to release nothing."""
        self.proposals.silence[agents] = SILENCES.index(reason)

    def minimise(self, agents: Agents, linear: Stack) -> tuple[Stack, Column]:
        """Solve the local problems with these linear terms; gradients' norms, and how many gradients they took."""
        return self.solver.solve(agents, linear, 2 * self.eta * self.degree[agents], self.tolerance[agents])

    def linear(self, agents: Agents) -> Stack:
        """2λ_i − η Σ_j (θ_i + θ_j)."""
        models = self.degree[agents, None] * self.theta[agents] + self._known_sum[agents]
        dual = self.dual[agents]
        found: Stack = (dual + dual) - self.eta * models
        return found

    def outside(self, agents: Agents, linear: Stack) -> Column:
        """Whose linear term is so long that rounding could hide the noise."""
        domain = self.domain[agents]
        found: Column = ~(np.vecdot(linear, linear) <= domain * domain)
        return found

    def charges(self, agent: int, *, opens: bool, releases: bool) -> tuple[Charge, ...]:
        return (self._price[agent],) if releases else ()

    def absorb(self, t: int, agents: Agents, sent: Column, total: Stack) -> None:
        who = agents[sent]
        self.theta[who] = self.proposals.model[who]
        self._known_sum[agents] = total
        models = self.degree[agents, None] * self.theta[agents]
        self.dual[agents] = self.dual[agents] + (self._step(t) / 2) * (models - total)


def numbered(things: Sequence[object]) -> Column:
    """A number for each thing, the same for the same object."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(id(thing), len(numbers)) for thing in things])


@lru_cache(maxsize=1 << 10)
def _limit(eta: float, domain: float, degree: float) -> float:
    return NodeDuals(0, int(degree), constant(eta)).limits(domain, eta)[0]
