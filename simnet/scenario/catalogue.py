"""Everything that can be chosen in a scenario, with one line each, read off the models.

    python -m simnet.scenario.catalogue > simnet/catalogue.json

`simnet list` shows the stored file: to read off the models it would have to build them all first, and its user would
wait twice as long.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import BaseModel

from simnet.agent.pacing import PACINGS
from simnet.learning.metric_parts import METRICS
from simnet.learning.partitions import PARTITIONS
from simnet.learning.sources import SOURCES, WELL_KNOWN, FileRows
from simnet.learning.task_parts import TASKS
from simnet.methods import METHODS
from simnet.network.codec import CODECS
from simnet.network.latency import LATENCIES
from simnet.network.loss import PACKET_LOSSES
from simnet.network.rates import RATES
from simnet.network.topology import TOPOLOGIES
from simnet.sim.faults import FAULTS
from simnet.sim.radio import CHANNELS
from simnet.sim.transport import TRANSPORTS


def catalogue() -> dict[str, dict[str, str]]:
    """Topic → name → one line."""
    return {
        "algorithms": _lines(METHODS),
        "data": _lines(SOURCES) | dict.fromkeys(WELL_KNOWN, "found in SIMNET_DATA") | _lines({"a file": FileRows}),
        "partitions": _lines(PARTITIONS),
        "tasks": _lines(TASKS),
        "metrics": _lines(METRICS),
        "topologies": _lines(TOPOLOGIES),
        "pacing": _lines(PACINGS),
        "transports": _lines(TRANSPORTS),
        "channels": _lines(CHANNELS),
        "latencies": _lines(LATENCIES),
        "losses": _lines(PACKET_LOSSES),
        "bandwidths": _lines(RATES),
        "faults": _lines(FAULTS),
        "codecs": _lines(CODECS),
    }


def _lines(parts: Mapping[str, type[BaseModel]]) -> dict[str, str]:
    return {word: (part.__doc__ or "").strip().splitlines()[0] for word, part in parts.items()}


if __name__ == "__main__":
    print(json.dumps(catalogue(), indent=2, ensure_ascii=False))
