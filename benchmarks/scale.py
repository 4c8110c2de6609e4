"""How the cost of an agent's round grows with the number of agents: from 10² to 10⁴, and to 10⁵ or 10⁶ if asked.

    python -m benchmarks.scale             about two minutes
    python -m benchmarks.scale --full      about ten minutes and 3 GiB more: `make scale`
    python -m benchmarks.scale --million   some hours and 24 GiB more: `make scale-full`

benchmarks/scale.toml with counters and without a log, each run in a process of its own. Time is CPU seconds of all
that happens after the imports: data, graph, calibration, links, agents and their 30 rounds. What is over in seconds is
run many times, before the largest network and after it, and the mean counts: a run of ten minutes has its share of the
machine's busy moments, and the fastest of many short ones would have none.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.report import publish
from simnet import Scenario
from simnet.build import build
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.simulate import play

SIZES = (100, 1_000, 10_000)
LARGER = {"scale": (), "scale_full": (100_000,), "scale_million": (100_000, 1_000_000)}
"""The sizes beyond, by where their numbers are left."""
ENOUGH = 3_000
"""Agents whose runs make a measurement, in one or in several networks: a quarter of a minute."""
ROWS, TEST_ROWS = 20, 1_000
GOALS = {100_000: (6, 2), 1_000_000: (75, 12)}
"""Minutes and GiB."""


def scenario(agents: int, **changes: Any) -> Scenario:
    """The scenario with so many agents."""
    sizes: dict[str, Any] = {"topology.agents": agents}
    sizes |= {"data.rows": ROWS * agents + TEST_ROWS, "data.train": ROWS * agents, "limits.memory": "64 GiB"}
    return Scenario.load(Path(__file__).with_suffix(".toml")).with_(**sizes, **changes)


def measure(agents: int) -> dict[str, Any]:
    """Runs in this process: the mean of enough of them."""
    # The smallest network first: what is imported and computed once for all is not the agents' cost.
    play(build(scenario(10, rounds=2)), Bus(Metrics()))
    return mean([once(agents) for _ in range(max(1, ENOUGH // agents))])


def mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of each figure of several measurements, and the greatest memory; counts are the same in all."""
    found = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    found["peak_mib"] = max(row["peak_mib"] for row in rows)
    return found | {name: rows[0][name] for name in ("agents", "messages", "events")}


def once(agents: int) -> dict[str, Any]:
    """One run."""
    metrics = Metrics()
    started, began = perf_counter(), process_time()
    with threadpool_limits(1):
        world = build(scenario(agents))
        built = process_time()
        play(world, Bus(metrics))
    ended = process_time()
    found = metrics.summary("", None)
    return {
        "agents": agents,
        "build_seconds": built - began,
        "run_seconds": ended - built,
        "wall_seconds": perf_counter() - started,
        "microseconds_per_agent_round": 1e6 * (ended - began) / (agents * found["rounds"]),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "messages": found["communication"]["messages"],
        "events": found["time"]["events"],
    }


def apart(agents: int) -> dict[str, Any]:
    """Runs of one size in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--agents", str(agents)]
    row: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{agents:>8,} agents  {row['microseconds_per_agent_round']:7.1f} µs", flush=True)
    return row


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """What an agent-round costs in each larger network, in those of the smallest."""
    name = "microseconds_per_agent_round"
    return {
        f"time per agent-round, {row['agents']:,} agents to {rows[0]['agents']} (goal: at most 1.3)": row[name]
        / rows[0][name]
        for row in rows[1:]
    }


def limits(largest: dict[str, Any]) -> dict[str, float]:
    """What the largest network takes."""
    name = f"{largest['agents']:,} agents"
    minutes, memory = GOALS[largest["agents"]]
    return {
        f"minutes of {name} (goal: at most {minutes})": largest["wall_seconds"] / 60,
        f"GiB of {name} (goal: at most {memory})": largest["peak_mib"] / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    larger = parser.add_mutually_exclusive_group()
    larger.add_argument("--full", dest="name", action="store_const", const="scale_full", help="to 100,000 agents")
    larger.add_argument("--million", dest="name", action="store_const", const="scale_million", help="to 1,000,000")
    parser.set_defaults(name="scale")
    parser.add_argument("--agents", type=int, help="measure this size in this process and print it as JSON")
    options = parser.parse_args()
    if options.agents:
        print(json.dumps(measure(options.agents)))
        return
    before = [apart(agents) for agents in SIZES]
    largest = [apart(agents) for agents in LARGER[options.name]]
    after = [apart(agents) for agents in SIZES[:-1]]
    rows = [mean([*pair]) for pair in zip(before, after, strict=False)] + before[len(after) :] + largest
    for row in rows:
        print(
            f"{row['agents']:>8,} agents  {row['microseconds_per_agent_round']:7.1f} µs per agent-round  "
            f"{row['wall_seconds']:8.1f} s  {row['peak_mib']:8,.0f} MiB  "
            f"{row['messages']:>12,} messages"
        )
    told = ratios(rows) | (limits(rows[-1]) if largest else {})
    publish(options.name, {"ratios": told, "sizes": rows})


if __name__ == "__main__":
    main()
