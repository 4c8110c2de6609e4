"""Does the simulator predict? The same scenarios simulated and live, and live with agents that are killed.

    python -m benchmarks.live

On an otherwise idle machine: with no loss and in lock step counts are equal, models equal to 1e-9, and under the shim a
round takes as long as predicted, within 20 %; twenty agents with two killed finish a hundred rounds, lawfully, with one
ledger entry for each release. Exit code 1 if anything of this is not so. TLS throughout.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.live import run as live
from simnet.live.fleet import Fleet
from simnet.record import events
from simnet.record.laws import Laws
from simnet.record.lines import unpack
from simnet.simulate import Result

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.toml"
BARRIER = {"network.pacing": {"kind": "barrier", "patience": 5.0}}
LOSSLESS = {"network.link.loss": {"kind": "none"}}
WITHIN = 0.2
WANS = {
    "as it is: ticks of 200 ms, 5 % loss": {},
    "barrier, no loss, in order": BARRIER | LOSSLESS | {"network.link.order": "fifo"},
    "barrier, no loss, messages overtake": BARRIER | LOSSLESS,
    "barrier, 200 ms away": BARRIER | LOSSLESS | {"network.link.latency": "200 ms"},
    "quorum, 5 % loss": {"network.pacing": {"kind": "quorum", "quorum": 0.5, "patience": 0.5}},
    "(barrier, 10 ms away)": BARRIER | LOSSLESS | {"network.link.latency": "10 ms"},
}
"""In brackets: shown, not judged. Where a round is hardly longer than the work in it, its length is that of the work on
as many cores as there are, which no scenario knows."""


def main() -> int:
    quickstart = Scenario.load(QUICKSTART)
    fine = True
    print(f"{'quickstart':38}{'messages':>14}{'bytes':>18}{'test error':>17}{'ms per round':>18}{'ratio':>7}")
    for name, changes in WANS.items():
        scenario = quickstart.with_(**changes)
        simulated, real = run(scenario), live.run(scenario)
        ratio = real.summary["time"]["simulated"] / simulated.summary["time"]["simulated"]
        print(f"{name:38}{_pair(simulated, real, 'communication', 'messages', 14)}", end="")
        print(_pair(simulated, real, "communication", "wire_bytes", 18), end="")
        print(_pair(simulated, real, "accuracy", "test_error", 17, ".4f"), end="")
        print(_pair(simulated, real, "time", "simulated", 18, ".2f", 1e3 / scenario.rounds), end=f"{ratio:7.3f}\n")
        fine &= (abs(ratio - 1.0) <= WITHIN or name.startswith("(")) and _lawful(real)
        if "in order" in name:
            apart = _apart(simulated, real)
            print(f"{'':38}releases differ by {apart:.1e} at most")
            fine &= apart <= 1e-9 and _counts(simulated) == _counts(real)
    return 0 if _killed() and fine else 1


def _pair(a: Result, b: Result, part: str, name: str, width: int, form: str = "d", scale: float = 1) -> str:
    both = [f"{each.summary[part][name] * scale:{form}}" for each in (a, b)]
    return f"{' / '.join(both):>{width}}"


def _counts(result: Result) -> dict[str, int]:
    return {name: n for name, n in result.summary["communication"].items() if name != "duplicates"}


def _releases(result: Result) -> dict[tuple[int, int], str]:
    return {(e.agent, e.round): e.value for _, _, e in result.events if isinstance(e, events.ReleaseMade)}


def _apart(a: Result, b: Result) -> float:
    one, other = _releases(a), _releases(b)
    if one.keys() != other.keys():
        return float("inf")
    return max(float(np.abs(unpack(one[key]) - unpack(other[key])).max()) for key in one)


def _lawful(result: Result) -> bool:
    laws = Laws(ALIGNED)
    for entry in result.events:
        laws(*entry)
    for finding in laws.finish():
        print(f"    {finding}")
    return not laws.finish()


def _killed() -> bool:
    """Twenty agents, a hundred rounds, two of them killed."""
    scenario = Scenario.of(
        {
            "name": "twenty",
            "rounds": 100,
            "data": {"source": "synthetic", "rows": 1200, "train": 1100, "features": 6},
            "topology": {"kind": "regular", "agents": 20, "degree": 4},
            "algorithm": {"name": "pp-admm", "eta": 0.05},
            "privacy": {"epsilon": 10.0},
            "network": {"pacing": {"kind": "barrier", "patience": 60.0}},
        }
    )
    fleets: list[Fleet] = []

    def watch(fleet: Fleet) -> None:
        fleets.append(fleet)
        threading.Thread(target=_kill, args=(fleet, [(3, 20), (11, 55)]), daemon=True).start()

    began = time.perf_counter()
    real = live.run(scenario, watch=watch)
    took = time.perf_counter() - began
    charges = [(e.agent, e.round) for _, _, e in real.events if isinstance(e, events.PrivacySpent)]
    whole = sorted(charges) == [(agent, round) for agent in range(20) for round in range(1, 101)]
    apart = _apart(run(scenario), real)
    killed = fleets[0].restarts
    print(f"20 agents, 100 rounds, {killed} killed: {took:.1f} s; {len(charges)} charges for 2000 releases;")
    print(f"releases differ from the simulated ones by {apart:.1e} at most")
    return whole and apart <= 1e-9 and killed == 2 and _lawful(real)


def _kill(fleet: Fleet, victims: list[tuple[int, int]]) -> None:
    for agent, round in victims:
        while fleet.rounds.get(agent, 0) < round:
            time.sleep(0.001)
        os.kill(fleet.process(agent), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
