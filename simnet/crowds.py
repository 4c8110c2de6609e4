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
    scenario, objectives, times = built.scenario, built.training, timetable(built.scenario)
    if times is None or not (suits(scenario) and bus.takes_columns and _alike(built)):
        return None
    assert isinstance(objectives, StackedObjectives)
    method, rounds = scenario.algorithm, scenario.rounds
    peers = method.columns(built.calibration, objectives, built.sizes, rounds, built.streams, allot)
    if peers is None:
        return None
    link = scenario.network.link
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


def suits(scenario: Scenario) -> bool:
    """Whether a scenario says nothing that single agents, links or messages would be needed for."""
    network, link, method = scenario.network, scenario.network.link, scenario.algorithm
    return all(
        (
            not any(True for _ in scenario.foreign()),
            not scenario.fault and scenario.until is None and not scenario.output,
            scenario.privacy.noise == "seed" and not scenario.privacy.observers,
            method.in_columns and method.bound is None and not method.silences and method.reports_from is None,
            network.way_out == "independent" and not network.transport.repeats and network.peers is None,
            network.line.up is None and network.line.down is None and not network.inbox.service,
            network.codec.exact and not network.override,
            link.bandwidth is None and link.mtu is None and link.order == "free",
            not link.duplication and not link.corruption and link.loss.independent is not None,
            not (link.latency.timed or link.latency.needs_length or link.latency.needs_ends),
        )
    )


def timetable(scenario: Scenario) -> Timetable | None:
    """When work ends and rounds end, if that is the same for all agents and known before."""
    pacing, compute = scenario.pacing, scenario.compute
    if pacing.common_tick is None or compute.tells or compute.time.constant is None:
        return None
    return Timetable.of(scenario.rounds, compute.time.constant, pacing.common_tick)


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
