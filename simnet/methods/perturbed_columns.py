"""PP-ADMM and IPP-ADMM in columns: noise in the objective and on the minimiser, and a test before each release.

Every draw is that of the agent's own stream, as its peer makes it: `noise/i` gives the numbers of a round when the
round begins. Of `svt/i` the numbers that all tests of a run may need are drawn before the first one, and used one by
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simnet.learning.column_solver import Allot, Column
from simnet.learning.objective import Stack
from simnet.learning.stacked_objectives import Agents, StackedObjectives
from simnet.methods.columns import AdmmColumns, numbered
from simnet.methods.method import AgentSize
from simnet.privacy.ledger import Charge
from simnet.privacy.noise import grid
from simnet.privacy.objective_perturbation import PerturbationPlan
from simnet.privacy.sparse_vector import SvtPlan
from simnet.streams import Streams


class PpAdmmColumns(AdmmColumns):
    """`PpAdmmPeer` for all agents."""

    def __init__(
        self,
        objectives: StackedObjectives,
        sizes: Sequence[AgentSize],
        *,
        eta: float,
        plans: Sequence[PerturbationPlan],
        streams: Streams,
        allot: Allot,
    ) -> None:
        super().__init__(
            objectives,
            sizes,
            eta=eta,
            tolerance=np.array([plan.stop for plan in plans]),
            domain=np.array([plan.domain for plan in plans]),
            price=[plan.release for plan in plans],
            allot=allot,
        )
        self.plans, self.kinds = plans, numbered(plans)
        self._sigma1, self._sigma2 = (
            np.array([getattr(plan, name) for plan in plans]) for name in ("sigma1", "sigma2")
        )
        self._grid = np.array([grid(plan.sigma2) for plan in plans])
        self._streams = streams
        self._rngs: dict[int, np.random.Generator] = {}

    def draw(self, agents: Agents) -> tuple[Stack, Stack]:
        """b1 and b2 of each of these agents. They are drawn in every round, used or not."""
        features = self.objectives.features
        drawn, rngs = np.empty((len(agents), 2 * features)), self._rngs
        for row, agent in zip(drawn, agents.tolist(), strict=True):
            rng = rngs.get(agent)
            if rng is None:
                rng = rngs[agent] = self._streams.generator("noise", agent)
            rng.standard_normal(out=row)
        b1: Stack = self._sigma1[agents, None] * drawn[:, :features]
        b2: Stack = self._sigma2[agents, None] * drawn[:, features:]
        return b1, b2

    def gridded(self, agents: Agents, values: Stack) -> Stack:
        """The nearest points of the grids of these agents' noise; a value without noise is as it was."""
        step = self._grid[agents, None]
        found: Stack = np.rint(values / np.where(step > 0.0, step, 1.0))
        found *= step
        found += 0.0
        return np.where(step > 0.0, found, values)

    def propose_anew(self, agents: Agents) -> None:
        b1, b2 = self.draw(agents)
        linear = self.linear(agents)
        outside = self.outside(agents, linear)
        self.be_silent(agents[outside], "domain")
        inside = ~outside
        self.perturb(agents[inside], (linear + b1)[inside], b2[inside])

    def perturb(self, agents: Agents, linear: Stack, b2: Stack) -> None:
        """Solve with noise in the linear terms, and propose the minimisers with noise on them."""
        norms, gradients = self.minimise(agents, linear)
        self.release(agents, self.gridded(agents, self.solver.theta[agents] + b2), norms, gradients)


class IppAdmmColumns(PpAdmmColumns):
    """`IppAdmmPeer` for all agents."""

    def __init__(
        self,
        objectives: StackedObjectives,
        sizes: Sequence[AgentSize],
        *,
        eta: float,
        plans: Sequence[PerturbationPlan],
        clip: float,
        rounds: int,
        streams: Streams,
        allot: Allot,
    ) -> None:
        super().__init__(objectives, sizes, eta=eta, plans=plans, streams=streams, allot=allot)
        agents = len(objectives)
        self._clip = clip
        self._tests = TestColumns([plan.test for plan in plans], rounds, streams, allot)
        self._unpaid, self._muted, self._measured = (allot((agents,), np.bool_) for _ in range(3))
        self._unpaid[:] = True
        self._loss = allot((agents,), np.float64)
        """Of each agent's last released model on its own rows, where that has been measured."""

    def propose_anew(self, agents: Agents) -> None:
        silent = self._tests.exhausted(agents) | self._muted[agents]
        self.be_silent(agents[silent], "exhausted")
        agents = agents[~silent]
        b1, b2 = self.draw(agents)
        linear = self.linear(agents)
        outside = self.outside(agents, linear)
        self.be_silent(agents[outside], "domain")
        self.proposals.opens[agents] = self._unpaid[agents]
        inside = ~outside
        self._ask(agents[inside], linear[inside], b1[inside], b2[inside])

    def _ask(self, agents: Agents, linear: Stack, b1: Stack, b2: Stack) -> None:
        """Test whether the update is worth a broadcast, and propose what passes."""
        found, shared = self.proposals, self._tests.shared_noise
        norms, gradients = self.minimise(agents, linear + b1 if shared else linear)
        candidates = self.solver.theta[agents]
        query = self.improvement(agents, candidates)
        passed = self._tests.ask(agents, query)
        found.asks[agents], found.passed[agents], found.query[agents] = True, passed, query
        found.residual[agents], found.gradients[agents] = norms, gradients
        self.be_silent(agents[~passed], "test")
        who = agents[passed]
        if shared:
            values = self.gridded(who, candidates[passed] + b2[passed])
            self.release(who, values, norms[passed], gradients[passed])
        else:
            self.perturb(who, (linear + b1)[passed], b2[passed])
            found.gradients[who] += gradients[passed]

    def outside(self, agents: Agents, linear: Stack) -> Column:
        curvature = self.objectives.regulariser + 2 * self.eta * self.degree[agents]
        last: Column = super().outside(agents, curvature[:, None] * self.theta[agents])
        return super().outside(agents, linear) | last

    def improvement(self, agents: Agents, candidates: Stack) -> Stack:
        """Clip[f_i(θ_i) − f_i(θ̂)]."""
        new = agents[~self._measured[agents]]
        self._loss[new] = self.solver.measure(new, self.theta[new], self._clip)
        self._measured[new] = True
        gain: Stack = self._loss[agents] - self.solver.measure(agents, candidates, self._clip)
        if self._tests.regularised:
            theta = self.theta[agents]
            lengths = np.vecdot(theta, theta) - np.vecdot(candidates, candidates)
            gain += self.objectives.regulariser / 2 * lengths
        return gain

    def charges(self, agent: int, *, opens: bool, releases: bool) -> tuple[Charge, ...]:
        opening = self.plans[agent].opening if opens else ()
        return opening + super().charges(agent, opens=opens, releases=releases)

    def settled(self, agents: Agents, accepted: Column) -> None:
        self._muted[agents[~accepted]] = True
        self._unpaid[agents] = False

    def absorb(self, t: int, agents: Agents, sent: Column, total: Stack) -> None:
        super().absorb(t, agents, sent, total)
        self._measured[agents[sent]] = False


class TestColumns:
    """`simnet.privacy.sparse_vector.SparseVector` for all agents.

    A Laplace variable of any scale is that of scale 1 times the scale, to the last bit.
    """

    __test__ = False

    def __init__(self, plans: Sequence[SvtPlan | None], rounds: int, streams: Streams, allot: Allot) -> None:
        known = [plan for plan in plans if plan is not None]
        assert len(known) == len(plans), "every agent has a test"
        forms = {(plan.shared_noise, plan.regularised, plan.redraw) for plan in known}
        assert len(forms) == 1, "the scenario says which form the test has"
        ((self.shared_noise, self.regularised, self._redraw),), agents = forms, len(known)
        self._cap, self._threshold, self._threshold_scale, self._query_scale = (
            np.array([getattr(plan, name) for plan in known])
            for name in ("cap", "threshold", "threshold_scale", "query_scale")
        )
        self._streams = streams
        self._drawn: Column = allot((agents, 1 + rounds * (2 if self._redraw else 1)), np.float64)
        """Laplace variables of scale 1; drawn for an agent when it is first asked."""
        self._used, self.positives = (allot((agents,), np.int32) for _ in range(2))
        self._bar = allot((agents,), np.float64)

    def exhausted(self, agents: Agents) -> Column:
        """Who has given all positive answers."""
        found: Column = self.positives[agents] >= self._cap[agents]
        return found

    def ask(self, agents: Agents, query: Stack) -> Column:
        """Is each query, noise added, at or above the noisy threshold?"""
        new = agents[self._used[agents] == 0]
        names = new.tolist()
        for agent, rng in zip(names, self._streams.visits("svt", names), strict=True):
            self._drawn[agent] = rng.laplace(size=self._drawn.shape[1])
        self._draw_bars(new)
        if self._redraw:
            self._draw_bars(agents)
        above: Column = query + self._query_scale[agents] * self._next(agents) >= self._bar[agents]
        self.positives[agents] += above
        return above

    def _draw_bars(self, agents: Agents) -> None:
        self._bar[agents] = self._threshold[agents] + self._threshold_scale[agents] * self._next(agents)

    def _next(self, agents: Agents) -> Stack:
        found: Stack = self._drawn[agents, self._used[agents]]
        self._used[agents] += 1
        return found
