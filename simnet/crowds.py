"""Which worlds are simulated in columns, and how: one engine for all, another for a crowd of agents that are alike.

`simnet.sim.crowd` is quicker and takes less memory. It is for runs in which all agents keep one clock, all links are
alike and carry any number of messages, and nothing breaks. What a run gives does not depend on it. Everything here asks
parts what they say of themselves; a scenario with a part of the user's own is never simulated in columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from simnet.build import World, build_writer
from simnet.learning.column_solver import Allot
from simnet.learning.evaluation import Evaluator
from simnet.learning.objective import LOSSES
from simnet.learning.stacked_objectives import StackedObjectives
from simnet.network.frame import HEADER_BYTES
from simnet.privacy.shared_ledgers import SharedLedgers
from simnet.record.bus import Bus
from simnet.scenario import Scenario
from simnet.scenario.alike import suits_columns
from simnet.sim.crowd import Crowd, Timetable, Wire
from simnet.sim.crowd_delays import DelaysAhead
from simnet.sim.crowd_graph import Directions
from simnet.sim.crowd_mail import CrowdMail
from simnet.sim.crowd_workers import allot, can_fork
from simnet.streams import Streams
from simnet.vectors import Vector

_SHARE = 1000
"""Agents that are worth a process."""


def crowd_of(built: World, bus: Bus, workers: int, evaluator: Callable[[Allot], Evaluator]) -> Crowd | None:
    """The crowd of a world whose events go to `bus`, in so many processes; None if it does not suit columns."""
    scenario, objectives = built.scenario, built.training
    if not (suits_columns(scenario) and bus.takes_columns and _alike(built)):
        return None
    assert isinstance(objectives, StackedObjectives)
    times = timetable(scenario)
    if times is None:
        return None
    link, rounds = scenario.network.link, scenario.rounds
    peers = scenario.algorithm.columns(built.calibration, objectives, built.sizes, rounds, built.streams, allot)
    directions = Directions(built.graph)
    loss = link.loss.independent or 0.0
    delays = DelaysAhead(link.latency.read(scenario.find), loss, Streams(scenario.seed), directions, rounds, allot)
    mail = CrowdMail(directions, delays, peers.limits, objectives.features, rounds, allot)
    ledgers = SharedLedgers(built.agents, scenario.privacy.delta, built.calibration.limit)
    return Crowd(
        peers,
        mail,
        ledgers,
        evaluator(allot),
        bus,
        times,
        _wire(scenario, objectives.features),
        private=scenario.log.private,
        workers=workers if can_fork() else 1,
    )


def sensible(agents: int) -> int:
    """How many processes a run of so many agents takes if nobody says it: as many as have enough to do."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, agents // _SHARE))


def timetable(scenario: Scenario) -> Timetable | None:
    """When work ends and rounds end, if that is the same for all agents and known before."""
    tick, work = scenario.pacing.common_tick, scenario.compute.time.constant
    return None if tick is None or work is None else Timetable.of(scenario.rounds, work, tick)


def _alike(built: World) -> bool:
    """Whether the rows of all agents lie in one array, with a loss of ours, and no link has settings of its own."""
    stacked = isinstance(built.training, StackedObjectives) and built.training is built.objectives
    ours = isinstance(built.training, StackedObjectives) and built.training.loss in LOSSES.values()
    return stacked and ours and built.reporting is None and not built.graph.graph.get("given")


def _wire(scenario: Scenario, features: int) -> Wire:
    link = scenario.network.link

    def decoded(model: Vector) -> Vector:
        return build_writer(scenario, 0).model(model, lambda _: ())[1][0]

    payload = len(build_writer(scenario, 0).letter(0, (np.zeros(features),)))
    return Wire(payload, HEADER_BYTES + link.overhead + link.framing, scenario.pacing.announces, decoded)
