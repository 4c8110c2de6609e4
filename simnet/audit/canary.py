"""Two worlds that differ in one row of one agent.

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
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from simnet.audit.lies import who
from simnet.audit.section import Audit
from simnet.build import World, own_objectives
from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset, bound_rows
from simnet.learning.dealing import DealtData
from simnet.vectors import Vector

SINE = 0.3
"""s of the adversarial pair; c = √(1 − s²)."""


def neighbours(world: World, plan: Audit) -> tuple[World, World]:
    """Both worlds; a plan that makes no sense for them is refused."""
    _check_places(world, plan)
    _check_evidence(world, plan)
    rows = _rows(world, plan)
    return _with_row(world, plan, *rows[0]), _with_row(world, plan, *rows[1])


def _check_evidence(world: World, plan: Audit) -> None:
    spec, found = world.scenario.algorithm, world.calibration.plans[plan.victim]
    if plan.evidence == "tests":
        test = None if found is None else found.test
        if test is None:
            raise ScenarioError(f"audit.evidence = 'tests': {spec.name} has no test, only {who('has_test')} has")
        if test.cap != 1:
            raise ScenarioError(
                f"audit.evidence = 'tests': algorithm.max_releases = {test.cap} must be 1, because the "
                "questions after a release depend on the model that was released"
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
    if plan.links and not any(holder(world, plan) in link for link in plan.links):
        raise ScenarioError(f"audit.links: no link of agent {holder(world, plan)}, which has the row, is overheard")
    if plan.canary == "adversarial":
        _check_adversary(world, plan)


def _check_adversary(world: World, plan: Audit) -> None:
    spec = world.scenario.algorithm
    if world.learning.features < 2:
        raise ScenarioError("audit.canary = 'adversarial': it needs data with at least two features")
    if not world.graph[plan.victim]:
        raise ScenarioError(f"audit.canary = 'adversarial': the victim, agent {plan.victim}, has no neighbour")
    if reason := spec.not_driven(plan.victim, reports_heard=plan.evidence == "all"):
        raise ScenarioError(f"audit.canary = 'adversarial': {reason}")


def holder(world: World, plan: Audit) -> int:
    """Who computes with the row in question: its owner, or the hub that it was entrusted to."""
    return world.scenario.algorithm.holder(plan.victim)


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
    learning = DealtData(parts, world.learning.test.take(np.arange(1)))
    objectives = list(world.objectives)
    changed = own_objectives(world.scenario, [parts[plan.victim]], world.calibration.regulariser)
    objectives[plan.victim] = changed[0]
    return replace(world, learning=learning, objectives=objectives)
