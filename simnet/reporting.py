"""Before the first round: rows that travel to whoever computes with them, if the method says that they do.

A row that is lost on its way takes no part, so privacy is calibrated for the rows that arrived; how many they are is
public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset
from simnet.network.model import LinkModel
from simnet.network.row_reports import Reports, from_users, upload
from simnet.privacy.mechanisms import HUB
from simnet.scenario import Scenario
from simnet.streams import Streams


@dataclass(frozen=True, eq=False)
class Reporting:
    """The phase before the first round: the reports of each agent's rows, None where they stay, and its end."""

    reports: Sequence[Reports | None]

    @property
    def begins(self) -> float:
        """When the first round begins: everybody waits for the slowest."""
        return max(found.ends for found in self.reports if found is not None)


def report(
    scenario: Scenario, parts: Sequence[Dataset], access: LinkModel, uplinks: Mapping[int, LinkModel]
) -> tuple[list[Dataset], Reporting | None]:
    """The rows that each agent computes with, and how they came there; `uplinks` lead from the leaves to their hub."""
    method, streams = scenario.algorithm, Streams(scenario.seed)
    if method.reports_from is None:
        return list(parts), None
    sent = [method.reported(agent, part, scenario.privacy, streams) for agent, part in enumerate(parts)]
    found: dict[int, Reports] = {}
    for agent, part in enumerate(sent):
        if method.reports_from == "users":
            found[agent] = from_users(access, streams, agent, part.rows, part.features)
        elif agent in uplinks:
            found[agent] = upload(uplinks[agent], streams, agent, HUB, part.rows, part.features)
    who = "server {}" if method.reports_from == "users" else "the hub from agent {}"
    arrived = [
        _arrived(who.format(agent), part, found[agent]) if agent in found else part for agent, part in enumerate(sent)
    ]
    return method.gathered(parts, arrived), Reporting([found.get(agent) for agent in range(len(parts))])


def _arrived(who: str, part: Dataset, reports: Reports) -> Dataset:
    if not reports.delivered:
        raise ScenarioError(f"network: not one of {part.rows} reports reaches {who}; less loss would do")
    return part if reports.delivered == part.rows else part.take(np.flatnonzero(reports.arrived))
