"""How the row in question may have come to whoever computes with it.

Mostly it is where it belongs, and there is one way. The leaves of a trusted hub upload their rows; there is one way
too, but whoever hears the upload knows everything. PDML's users flip labels: there are two ways, and the eavesdropper,
unless it hears the report, weighs both. The reports of all *other* users are the same in every run and known to it:
what is proven holds for any of them, so their users may as well tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simnet.audit.section import Audit
from simnet.build import World, hold, training
from simnet.errors import ScenarioError
from simnet.learning.objective import LocalObjective

Report = tuple[bytes, float]
"""A row as it travels: its features, and its label."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way: how probable it is, the report of the row if there is one, and what every agent then computes with."""

    probability: float
    report: Report | None
    training: list[LocalObjective]


def ways(world: World, plan: Audit) -> tuple[Way, ...]:
    """All ways in a world that holds one of the two rows; where labels are flipped, the unflipped one comes first."""
    scenario, part = world.scenario, world.learning.parts[plan.victim]
    row = part.X[[plan.row]].tobytes() if isinstance(part.X, np.ndarray) else part.X[[plan.row]].toarray().tobytes()
    label = float(part.y[plan.row])
    held, reporting = hold(scenario, world.graph, world.learning.parts)
    if reporting is None:
        return (Way(1.0, None, world.objectives),)
    reports = reporting.reports[plan.victim]
    if reports is not None and not reports.arrived[plan.row]:
        raise ScenarioError(f"audit.row = {plan.row}: its report is lost on the way, so it takes no part; name another")
    regulariser, flipped = world.calibration.regulariser, scenario.algorithm.flip_probability(scenario.privacy)
    if reports is None or not flipped:
        computed = training(scenario, held, regulariser)
        return (Way(1.0, None if reports is None else (row, label), computed),)
    place = int(np.count_nonzero(reports.arrived[: plan.row]))
    found = []
    for probability, told in ((1.0 - flipped, label), (flipped, -label)):
        y = held[plan.victim].y.copy()
        y[place] = told
        mine = training(scenario, [replace(held[plan.victim], y=y)], regulariser)
        every = [*world.training[: plan.victim], *mine, *world.training[plan.victim + 1 :]]
        found.append(Way(probability, (row, told), every))
    return tuple(way for way in found if way.probability > 0.0)


def report_score(heard: Report, first: Sequence[Way], second: Sequence[Way]) -> float:
    """The log-likelihood ratio of one report."""
    chances = [sum(way.probability for way in side if way.report == heard) for side in (first, second)]
    logs = [math.log(chance) if chance > 0.0 else -math.inf for chance in chances]
    return logs[0] - logs[1]
