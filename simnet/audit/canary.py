"""Two worlds that differ in one row of one agent, and who lives in them.

The first world holds the canary's first row, the second world its second one, in place of one of the victim's own rows.
Everything else is the same: data, graph, network, and every random stream but those of the privacy noise.

`label-flip`    the victim's own row, and the same row with the other label. With the logistic loss the gradient then
                moves by |x|/m, wherever the model is.
`worst-case`    (e1, +1) and (e1, −1): opposite gradients. With the smoothed hinge the gradient moves by 2/m, all that a
                row can do, as long as the model is near 0; with the logistic loss by 1/m.
`adversarial`   (±c e1 + s e2, +1), while a neighbour drives the model to −`drive` e2, where the loss of both rows is
                nearly linear: the gradient moves by almost 2c/m with any loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from simnet.algorithms.build import build_duals, build_peers
from simnet.algorithms.duals import constant
from simnet.algorithms.peer import Peer, Vector
from simnet.algorithms.schedules import Scheduled
from simnet.audit.driver import Driver
from simnet.audit.lies import lying_budget, lying_peer
from simnet.errors import ScenarioError
from simnet.learning.datasets import Dataset
from simnet.learning.prepare import bound_rows
from simnet.scenario import Scenario
from simnet.scenario.algorithm import Admm, IppAdmm, PpAdmm
from simnet.scenario.audit import Audit
from simnet.world import Learning, World, build

SINE = 0.3
"""s of the adversarial pair; c = √(1 − s²)."""


@dataclass(frozen=True)
class Pair:
    """The two worlds, honest ones: the lie is told by the peers that `peers` makes."""

    plan: Audit
    worlds: tuple[World, World]

    @property
    def adversary(self) -> int | None:
        """The victim's neighbour that drives it, if one does."""
        if self.plan.canary != "adversarial":
            return None
        return int(min(self.worlds[0].graph[self.plan.victim]))

    def peers(self, side: int, noise_seed: int) -> list[Peer]:
        """All agents of one world, their privacy noise drawn from streams of their own seed."""
        world, plan = self.worlds[side], self.plan
        scenario = world.scenario.model_copy(update={"seed": noise_seed})
        made = build_peers(scenario, world.training, world.standings, lying_budget(world.budgeting, plan.lie))
        made[plan.victim] = lying_peer(made[plan.victim], plan.lie)
        if self.adversary is not None:
            made[self.adversary] = self._driver(world, self.adversary)
        return made

    def shadows(self, side: int) -> list[Peer]:
        """Honest agents of one world, for an eavesdropper that wants to retrace their steps."""
        world = self.worlds[side]
        made = build_peers(world.scenario, world.training, world.standings, world.budgeting)
        if self.adversary is not None:
            made[self.adversary] = self._driver(world, self.adversary)
        return made

    def _driver(self, world: World, agent: int) -> Peer:
        spec = world.scenario.algorithm
        assert isinstance(spec, Admm | PpAdmm | Scheduled)
        degree, features = world.standings[agent].degree, world.learning.features
        goal = np.zeros(features)
        goal[1] = -self.plan.drive * world.standings[self.plan.victim].degree
        return Driver(
            world.objectives[agent],
            degree=degree,
            eta=spec.eta,
            duals=build_duals(spec, features, degree, constant(spec.eta)),
            victim=self.plan.victim,
            goal=goal,
        )


def pair(scenario: Scenario, plan: Audit) -> Pair:
    """Build both worlds."""
    if not isinstance(scenario.algorithm, Admm | PpAdmm | Scheduled):
        raise ScenarioError(
            f"algorithm.name = {scenario.algorithm.name!r}: the audit knows admm, pp-admm, ipp-admm, dvp, pvp, m-admm "
            "and r-admm"
        )
    if plan.evidence == "tests":
        _check_tests(scenario)
    world = build(scenario)
    _check_places(world, plan)
    rows = _rows(world, plan)
    return Pair(plan, (_with_row(world, plan, *rows[0]), _with_row(world, plan, *rows[1])))


def _check_tests(scenario: Scenario) -> None:
    spec = scenario.algorithm
    if not isinstance(spec, IppAdmm):
        raise ScenarioError(f"audit.evidence = 'tests': {spec.name} has no test, only ipp-admm has")
    if spec.max_releases != 1:
        raise ScenarioError(
            f"audit.evidence = 'tests': algorithm.max_releases = {spec.max_releases} must be 1, because the questions "
            "after a release depend on the model that was released"
        )


def _check_places(world: World, plan: Audit) -> None:
    if plan.victim >= world.agents:
        raise ScenarioError(f"audit.victim = {plan.victim}: there are {world.agents} agents, counted from 0")
    held = world.learning.rows[plan.victim]
    if plan.row >= held:
        raise ScenarioError(f"audit.row = {plan.row}: agent {plan.victim} holds {held} rows, counted from 0")
    for a, b in plan.links:
        if not world.graph.has_edge(a, b):
            raise ScenarioError(f"audit.links: agents {a} and {b} share no link in this topology")
    if plan.links and not any(plan.victim in link for link in plan.links):
        raise ScenarioError(f"audit.links: no link of the victim, agent {plan.victim}, is overheard")
    if plan.canary == "adversarial" and not world.graph[plan.victim]:
        raise ScenarioError(f"audit.canary = 'adversarial': the victim, agent {plan.victim}, has no neighbour")
    if plan.canary == "adversarial" and world.learning.features < 2:
        raise ScenarioError("audit.canary = 'adversarial': it needs data with at least two features")


def _rows(world: World, plan: Audit) -> tuple[tuple[Vector, float], tuple[Vector, float]]:
    """The canary: two rows with their labels."""
    features = world.learning.features
    if plan.canary == "label-flip":
        part = world.learning.parts[plan.victim]
        held = part.X[[plan.row]]
        row = held.toarray()[0] if isinstance(held, sp.csr_array) else held[0]
        return (row, float(part.y[plan.row])), (row, -float(part.y[plan.row]))
    first = np.zeros(features)
    if plan.canary == "worst-case":
        first[0] = 1.0
        first = _bounded(first)
        return (first, 1.0), (first, -1.0)
    first[:2] = math.sqrt(1.0 - SINE**2), SINE
    first = _bounded(first)
    second = first.copy()
    second[0] = -first[0]
    return (first, 1.0), (second, 1.0)


def _bounded(row: Vector) -> Vector:
    """The row with a norm of at most 1 in floating point too, as every other row has."""
    bounded = bound_rows(row[np.newaxis, :])
    assert isinstance(bounded, np.ndarray)
    return np.array(bounded[0], dtype=np.float64)


def _with_row(world: World, plan: Audit, row: Vector, label: float) -> World:
    """The world with the victim's row replaced; what only the evaluation looks at is cut down, because nobody will."""
    parts = list(world.learning.parts)
    held = parts[plan.victim]
    X = held.X.toarray() if isinstance(held.X, sp.csr_array) else held.X.copy()
    y = held.y.copy()
    X[plan.row], y[plan.row] = row, label
    parts[plan.victim] = Dataset(held.name, sp.csr_array(X) if isinstance(held.X, sp.csr_array) else X, y)
    learning = Learning(parts, world.learning.test.take(np.arange(1)))
    objectives = list(world.objectives)
    changed = Learning([parts[plan.victim]], learning.test).objectives(world.scenario, world.budgeting.regulariser)
    objectives[plan.victim] = changed[0]
    return replace(world, learning=learning, objectives=objectives, training=objectives)
