"""Before the first round: rows that travel to whoever computes with them, and what is computed with there.

PDML's users report their rows, labels flipped, to the server of their group; the leaves of a trusted hub upload theirs.
All other methods compute where the rows are. A row that is lost on its way takes no part, so privacy is calibrated for
the rows that arrived; how many they are is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset, joined
from simnet.learning.dealing import objectives
from simnet.learning.losses import LOSSES, unbiased
from simnet.learning.objective import LocalObjective
from simnet.methods.dp_admm import HUB, DpAdmm
from simnet.methods.pdml import Pdml
from simnet.methods.pdml_plan import label_epsilon
from simnet.network.model import LinkModel
from simnet.network.row_reports import Reports, from_users, upload
from simnet.privacy.noise import flip_labels
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
    spec = scenario.algorithm
    streams = Streams(scenario.seed)
    if isinstance(spec, Pdml):
        found = [from_users(access, streams, server, part.rows, part.features) for server, part in enumerate(parts)]
        held = [_flipped(scenario, spec, server, part) for server, part in enumerate(parts)]
        held = [_arrived(f"server {server}", part, found[server]) for server, part in enumerate(held)]
        return held, Reporting(found)
    if isinstance(spec, DpAdmm) and spec.hub == "trusted":
        sent = {
            leaf: upload(model, streams, leaf, HUB, parts[leaf].rows, parts[leaf].features)
            for leaf, model in uplinks.items()
        }
        came = [parts[HUB], *(_arrived(f"the hub from agent {leaf}", parts[leaf], sent[leaf]) for leaf in sorted(sent))]
        return [joined(came), *parts[1:]], Reporting([sent.get(agent) for agent in range(len(parts))])
    return list(parts), None


def training(scenario: Scenario, held: Sequence[Dataset], regulariser: float) -> list[LocalObjective]:
    """What each agent minimises over the rows that it computes with."""
    spec = scenario.algorithm
    loss = LOSSES[spec.loss]
    if isinstance(spec, Pdml) and scenario.privacy.calibration != "none":
        loss = unbiased(loss, label_epsilon(scenario, spec))
    weight = getattr(spec, "loss_weight", 1.0)
    return objectives(held, loss, regulariser, weight)


def _flipped(scenario: Scenario, spec: Pdml, server: int, part: Dataset) -> Dataset:
    if scenario.privacy.calibration == "none":
        return part
    rng = Streams(scenario.seed).generator("labels", server)
    return replace(part, y=flip_labels(rng, part.y, label_epsilon(scenario, spec)))


def _arrived(who: str, part: Dataset, reports: Reports) -> Dataset:
    if not reports.delivered:
        raise ScenarioError(f"network: not one of {part.rows} reports reaches {who}; less loss would do")
    return part if reports.delivered == part.rows else part.take(np.flatnonzero(reports.arrived))
