"""How much memory and time a run will need, estimated from the scenario alone, before anything is built.

The estimate is rough: the figures below were read off runs of 100 to 100,000 agents (docs/performance.md, Scale), and
nothing is known yet of rows that come from a file. It is meant to tell minutes from months, and what fits from what
does not. It depends on the scenario and on nothing else, so a scenario that is refused is refused everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from simnet.errors import ScenarioError
from simnet.learning.task import MANY
from simnet.scenario import Scenario
from simnet.scenario.alike import suits_columns
from simnet.scenario.limits import SizeLimits

_FLOAT = 8
_ROW_COPIES = 3
"""Rows as they are drawn, as they are scaled, and as the agents hold them."""
_AGENT_BYTES, _DIRECTION_BYTES, _ROUND_BYTES = 12e3, 2.3e3, 1e3
_IN_COLUMNS = 3.5e3, 0.45e3
"""The first two where the run is a crowd's, in columns."""
_MODELS_PER_AGENT, _MODELS_PER_DIRECTION = 10, 2
_AGENT_ROUND, _MESSAGE, _PACKET = 60e-6, 20e-6, 2e-6
"""Seconds of computing for an agent's round, for a message, and for each packet of it."""
_ROUND_IN_COLUMNS = 8e-6, 0.5e-6
_ENTRY = 3e-8
"""Seconds of computing for a number of a row: to draw it, or to use it in the local problems of one round."""
_SOME_AGENTS, _SOME_ROWS = (5, 5.0), (5000, 100)
"""Agents and links, rows and features, of files that have not been read yet."""


@dataclass(frozen=True)
class Need:
    """What one cause asks for: bytes of memory, seconds of computing, and the field that would make it less."""

    field: str
    memory: float
    time: float


@dataclass(frozen=True)
class Estimate:
    """What a run will need."""

    needs: tuple[Need, ...]

    @property
    def memory(self) -> float:
        return sum(need.memory for need in self.needs)

    @property
    def time(self) -> float:
        return sum(need.time for need in self.needs)

    def __str__(self) -> str:
        return f"about {bytes_told(self.memory)} of memory and {time_told(self.time)} of computing"


def estimate(scenario: Scenario) -> Estimate:
    """What a run of the scenario will need; what comes from files is not known yet and counts little."""
    agents, links = scenario.topology.expected_size or _SOME_AGENTS
    rows, features = scenario.data.expected_size or _SOME_ROWS
    rounds, directions = scenario.rounds, 2 * links
    packets = _packets(scenario, features)
    data = "data.rows" if rows >= features else "data.features"
    every_round = "rounds" if rounds >= agents + directions else "topology.agents"
    nodes, wires = _underlay(scenario)
    models = _MODELS_PER_AGENT * agents + _MODELS_PER_DIRECTION * directions
    kept = agents * sum(1 + min(output.window, rounds) for output in scenario.output)
    agent, direction, agent_round, message = _AGENT_BYTES, _DIRECTION_BYTES, _AGENT_ROUND, _MESSAGE
    if agents >= MANY and suits_columns(scenario):
        (agent, direction), (agent_round, message) = _IN_COLUMNS, _ROUND_IN_COLUMNS
    return Estimate(
        (
            Need(data, _ROW_COPIES * _FLOAT * rows * features, _ENTRY * rows * features),
            Need("rounds" if rounds >= rows else data, 0.0, _ENTRY * rows * features * rounds),
            Need("topology.agents", agent * agents + direction * directions, 0.0),
            Need("data.features" if features >= agents else "topology.agents", _FLOAT * models * features, 0.0),
            Need(every_round, 0.0, rounds * (agent_round * agents + message * directions)),
            Need("network.link.mtu", 0.0, rounds * directions * _PACKET * packets),
            Need("data.features", *scenario.algorithm.preparation(features)),
            Need("rounds", _ROUND_BYTES * rounds, 0.0),
            Need("output", _FLOAT * kept * features, 0.0),
            Need("network.underlay.graph.agents", _AGENT_BYTES * nodes + _DIRECTION_BYTES * 2 * wires, 0.0),
        )
    )


def refuse_what_is_too_large(scenario: Scenario) -> Estimate:
    """The estimate; ScenarioError names the field that asks for most of what is too much."""
    found, limits = estimate(scenario), scenario.limits or SizeLimits()
    for what, limit, told in (("memory", limits.memory, bytes_told), ("time", limits.time, time_told)):
        if getattr(found, what) > limit:
            worst = max(found.needs, key=lambda need: getattr(need, what)).field
            raise ScenarioError(
                f"{worst} = {_value(scenario, worst)}: the run would need {found}, by a rough estimate; "
                f"less of it, or more than limits.{what} = {told(limit)}, would do"
            )
    return found


def bytes_told(amount: float) -> str:
    """An amount of memory in words: `2.6 GiB`."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if amount >= 2**power:
            return f"{amount / 2**power:,.3g} {unit}"
    return f"{amount / 1024:.3g} KiB"


def time_told(seconds: float) -> str:
    """A time in words: `3.1 hours`."""
    for unit, size in (("years", 31_557_600.0), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds:.3g} seconds"


def _packets(scenario: Scenario, features: int) -> float:
    """Packets of a message, at most."""
    link = scenario.network.link
    if link.mtu is None:
        return 1
    return math.ceil(_FLOAT * features / max(1, link.mtu - link.overhead))


def _underlay(scenario: Scenario) -> tuple[int, float]:
    underlay = scenario.network.underlay
    return (0, 0.0) if underlay is None else underlay.graph.expected_size or (0, 0.0)


def _value(scenario: Scenario, field: str) -> str:
    value: Any = scenario
    for name in field.split("."):
        value = getattr(value, name, None)
    if isinstance(value, tuple):
        return f"{len(value)} of them"
    return "its default" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
