"""How the cost of an agent's round grows with the number of agents: from 10² to 10⁴, and to 10⁵ or 10⁶ if asked.

    python -m benchmarks.scale             about two minutes
    python -m benchmarks.scale --full      some minutes and 2 GiB more: `make scale`
    python -m benchmarks.scale --million   about half an hour and 12 GiB more: `make scale-full`

benchmarks/scale.toml with counters and without a log, each size in processes of its own: as many as `simnet run` takes
for so many agents, and no more than --workers. Time per agent-round is CPU time, of all processes and of all that
happens after the imports: data, graph, calibration, links, agents and their 30 rounds. What is over in seconds is run
many times, before the largest network and after it, and the mean counts: a run of ten minutes has its share of the
machine's busy moments, and the fastest of many short ones would have none. Memory is that of all processes, each shared
page once (Linux), and the greatest that was seen in two seconds' steps.

1,000 agents are also simulated without columns, and 10,000 in one process: what columns and processes buy.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.report import publish
from simnet import Scenario
from simnet.build import build
from simnet.crowds import sensible
from simnet.learning import task
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.simulate import play

SIZES = (100, 1_000, 10_000)
LARGER = {"scale": (), "scale_full": (100_000,), "scale_million": (100_000, 1_000_000)}
"""The sizes beyond, by where their numbers are left."""
ENOUGH = 3_000
"""Agents whose runs make a measurement, in one or in several networks."""
ROWS, TEST_ROWS = 20, 1_000
GOALS = {100_000: (6, 2), 1_000_000: (75, 12)}
"""Minutes and GiB."""
PAPER = (10_000_000, 100_000_000)
CORES, MACHINE_MIB, LINE = 2, 24 * 1024, 10e9
"""Of each machine of a cluster: cores, memory, and the bits per second of its line."""
FILLED = 0.8
"""How much of a machine's memory agents may take."""
WATCHED = 2.0
"""Seconds between two looks at the memory."""


def scenario(agents: int, **changes: Any) -> Scenario:
    """The scenario with so many agents."""
    sizes: dict[str, Any] = {"topology.agents": agents}
    sizes |= {"data.rows": ROWS * agents + TEST_ROWS, "data.train": ROWS * agents, "limits.memory": "64 GiB"}
    return Scenario.load(Path(__file__).with_suffix(".toml")).with_(**sizes, **changes)


def measure(agents: int, workers: int) -> dict[str, Any]:
    """Runs in this process: the mean of enough of them."""
    # The smallest network first: what is imported and computed once for all is not the agents' cost.
    play(build(scenario(10, rounds=2)), Bus(Metrics()))
    return mean([once(agents, workers) for _ in range(max(1, ENOUGH // agents))])


def mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of each figure of several measurements, and the greatest memory; counts are the same in all."""
    fixed = ("agents", "workers", "rounds", "messages", "wire_bytes", "events", "figures")
    found = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0] if name not in fixed}
    found["peak_mib"] = max(row["peak_mib"] for row in rows)
    return found | {name: rows[0][name] for name in fixed}


def cpu() -> float:
    """CPU seconds of this process and of those that it has had."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in each)


def once(agents: int, workers: int) -> dict[str, Any]:
    """One run."""
    metrics = Metrics()
    started, began = perf_counter(), cpu()
    with threadpool_limits(1):
        world = build(scenario(agents))
        built = cpu()
        play(world, Bus(metrics), workers=workers)
    ended = cpu()
    found = metrics.summary("", None)
    return {
        "agents": agents,
        "workers": workers,
        "rounds": found["rounds"],
        "build_seconds": built - began,
        "run_seconds": ended - built,
        "wall_seconds": perf_counter() - started,
        "microseconds_per_agent_round": 1e6 * (ended - began) / (agents * found["rounds"]),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "messages": found["communication"]["messages"],
        "wire_bytes": found["communication"]["wire_bytes"],
        "events": found["time"]["events"],
        "figures": sha256(json.dumps([found, metrics.rounds]).encode()).hexdigest(),
    }


def apart(agents: int, workers: int, *, columns: bool = True) -> dict[str, Any]:
    """Runs of one size in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--agents", str(agents), "--workers", str(workers)]
    peak = 0.0
    with subprocess.Popen(command + ([] if columns else ["--engine"]), stdout=subprocess.PIPE, text=True) as process:
        while True:
            try:
                told, _ = process.communicate(timeout=WATCHED)
                break
            except subprocess.TimeoutExpired:
                peak = max(peak, memory(process.pid))
    if process.returncode:
        raise SystemExit(f"{agents:,} agents: exit code {process.returncode}")
    row: dict[str, Any] = json.loads(told)
    row["peak_mib"] = max(row["peak_mib"], peak)
    print(
        f"{agents:>8,} agents  {row['microseconds_per_agent_round']:7.1f} µs  {row['wall_seconds']:8.1f} s", flush=True
    )
    return row


def memory(pid: int) -> float:
    """MiB of a process and of its children, each page that they share counted once; 0 where the system does not say."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    own = next(float(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return own / 1024 + sum(memory(int(child)) for child in children)


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """What an agent-round costs in each larger network, in those of the smallest, and of a thousand agents."""
    name, base = "microseconds_per_agent_round", rows[1]
    found = {
        f"time per agent-round, {row['agents']:,} agents to {base['agents']:,} (goal: at most 1.3)": row[name]
        / base[name]
        for row in rows[2:]
    }
    return {
        f"time per agent-round, {base['agents']:,} agents to {rows[0]['agents']}": base[name] / rows[0][name]
    } | found


def limits(largest: dict[str, Any]) -> dict[str, float]:
    """What the largest network takes."""
    name = f"{largest['agents']:,} agents"
    minutes, gib = GOALS[largest["agents"]]
    return {
        f"minutes of {name} (goal: at most {minutes})": largest["wall_seconds"] / 60,
        f"GiB of {name} (goal: at most {gib})": largest["peak_mib"] / 1024,
    }


def gains(workers: int) -> dict[str, float]:
    """What columns and processes buy; whatever they are, a run gives the same figures."""
    engine, columns = apart(1_000, 1, columns=False), apart(1_000, 1)
    alone, together = apart(10_000, 1), apart(10_000, workers)
    if engine["figures"] != columns["figures"] or alone["figures"] != together["figures"]:
        raise SystemExit("columns, or the number of processes, have changed what a run gives")
    name = "microseconds_per_agent_round"
    return {
        "time of 1,000 agents on the engine over that in columns": engine[name] / columns[name],
        f"seconds of 10,000 agents in one process over {workers} (goal: at least 1.6)": alone["wall_seconds"]
        / together["wall_seconds"],
    }


def predictions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the two sizes before each of the larger ones say of it: the same time per agent-round, memory on a line."""
    name, found = "microseconds_per_agent_round", []
    for before, last, row in zip(rows[1:], rows[2:], rows[3:], strict=False):
        mib = last["peak_mib"] + _slope(before, last) * (row["agents"] - last["agents"])
        for what, told in ((name, last[name]), ("peak_mib", mib)):
            found.append({"agents": row["agents"], "what": what, "predicted": told, "measured": row[what]})
    return found


def _slope(smaller: dict[str, Any], larger: dict[str, Any]) -> float:
    """MiB per agent."""
    return float((larger["peak_mib"] - smaller["peak_mib"]) / (larger["agents"] - smaller["agents"]))


def clusters(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What larger networks would take on machines of two cores, if each held as many agents as fit."""
    largest, found = rows[-1], []
    mib, messages = _slope(*rows[-2:]), largest["messages"] / largest["agents"]
    seconds = 1e-6 * largest["microseconds_per_agent_round"] * largest["rounds"]
    for agents in PAPER:
        machines = -(-agents * mib // (FILLED * MACHINE_MIB))
        crossing = agents / machines * (1 - 1 / machines) * largest["wire_bytes"] / largest["agents"]
        found.append(
            {
                "agents": agents,
                "machines": machines,
                "tib": agents * mib / 2**20,
                "messages": agents * messages,
                "compute_hours": agents / machines * seconds / CORES / 3600,
                "network_hours": 8 * crossing / LINE / 3600,
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    larger = parser.add_mutually_exclusive_group()
    larger.add_argument("--full", dest="name", action="store_const", const="scale_full", help="to 100,000 agents")
    larger.add_argument("--million", dest="name", action="store_const", const="scale_million", help="to 1,000,000")
    parser.set_defaults(name="scale")
    parser.add_argument("--agents", type=int, help="measure this size in this process and print it as JSON")
    parser.add_argument("--workers", type=int, default=2, help="processes of one run, at most")
    parser.add_argument("--engine", action="store_true", help="without columns")
    options = parser.parse_args()
    if options.engine:
        task.MANY = sys.maxsize
    if options.agents:
        print(json.dumps(measure(options.agents, options.workers)))
        return

    def sized(agents: int) -> dict[str, Any]:
        return apart(agents, min(options.workers, sensible(agents)))

    before = [sized(agents) for agents in SIZES]
    largest = [sized(agents) for agents in LARGER[options.name]]
    after = [sized(agents) for agents in SIZES[:-1]]
    rows = [mean([*pair]) for pair in zip(before, after, strict=False)] + before[len(after) :] + largest
    for row in rows:
        print(
            f"{row['agents']:>8,} agents  {row['microseconds_per_agent_round']:7.1f} µs per agent-round  "
            f"{row['wall_seconds']:8.1f} s  {row['peak_mib']:8,.0f} MiB  "
            f"{row['messages']:>12,} messages"
        )
    told = ratios(rows) | (limits(rows[-1]) if largest else {}) | gains(options.workers)
    on_paper = {"predictions": predictions(rows), "clusters": clusters(rows)} if largest else {}
    publish(options.name, {"ratios": told, "sizes": rows} | on_paper)


if __name__ == "__main__":
    main()
