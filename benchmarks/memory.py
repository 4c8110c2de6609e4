"""What an agent of a large network takes on the engine, in bytes, by the part of simnet that holds them.

    python -m benchmarks.memory

benchmarks/scale.toml in its sixth round, when it has all that it will ever have, just before a tick: two networks, one
twice as large as the other. The bytes by which they differ are those of the agents, and what all share is no agent's.
What the allocator adds to these bytes is not seen here; the resident size of a whole run is in benchmarks.scale.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections import Counter

from threadpoolctl import threadpool_limits

import simnet
from benchmarks.report import publish
from benchmarks.scale import ROWS, scenario
from simnet.build import build
from simnet.learning import task
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.simulate import assemble, play

AGENTS = 1_000
ROUND = 6
HOME = os.path.dirname(simnet.__file__) + os.sep
PARTS = {
    "learning/dataset": "rows",
    "learning/inverse_hessian": "what the solver has learned",
    "learning/batch_solver": "what the solver has learned",
    "learning/": "objectives and solvers",
    "network/draws": "chance drawn ahead, for links",
    "network/link": "links",
    "network/": "frames and the graph",
    "streams": "generators of noise",
    "privacy/": "models that were released, tests and ledgers",
    "methods/": "peers and their duals",
    "agent/neighbourhood": "what is known of neighbours",
    "agent/": "programs, ports, signals",
    "sim/": "programs, ports, signals",
    "simulate": "programs, ports, signals",
    "build": "programs, ports, signals",
    "record/": "counters",
}
"""The first that a file's name begins with counts; the graph is networkx's, and generators are numpy's."""


def held(agents: int) -> Counter[str]:
    """Bytes by part, once the agents have gone so far."""
    few_tests = {"data.rows": ROWS * agents + 50}  # the scratch of an evaluation is no agent's
    crowd = scenario(agents).with_(**few_tests)
    engine = assemble(build(crowd), Bus(Metrics()))
    engine.env.run(until=(ROUND - 0.01) * (crowd.network.pacing.tick or 0.0))
    gc.collect()
    found: Counter[str] = Counter()
    for each in tracemalloc.take_snapshot().statistics("filename"):
        name = each.traceback[0].filename
        place = name.removeprefix(HOME) if name.startswith(HOME) else ""
        other = "frames and the graph" if "networkx" in name else "everything else"
        found[next((part for start, part in PARTS.items() if place.startswith(start)), other)] += each.size
    return found


def main() -> None:
    task.MANY = sys.maxsize  # nobody is simulated in columns
    play(build(scenario(200, rounds=2)), Bus(Metrics()))  # what is imported and computed once for all
    with threadpool_limits(1):
        tracemalloc.start()
        small, large = held(AGENTS), held(2 * AGENTS)
        tracemalloc.stop()
    each = {part: (size - small[part]) / AGENTS for part, size in large.items()}
    bytes_of = dict(sorted(each.items(), key=lambda pair: -pair[1]))
    for part, size in bytes_of.items():
        print(f"{size:8,.0f}  {part}")
    publish("memory", {"bytes per agent": bytes_of | {"all": sum(bytes_of.values())}})


if __name__ == "__main__":
    main()
