"""simnet beside ns-3 and beside theory: `make validate`. The numbers go to docs/validation.md.

    .venv-validate/bin/python -m benchmarks.validate [lines] [cells] [transfers] [aloha] [lora]

Without a name all tables are measured; with names the others keep what was measured before. ns-3 runs in a process of
its own, benchmarks/ns3_reference.py. `--ns3` names the Python that has the wheel `ns3`, if it is not this one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Collection
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from math import ceil
from typing import Any

from benchmarks.ns3_reference import FULL_PACKET, LINES, PPP_BYTES, ROUNDS, Line
from benchmarks.report import publish, stored
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.streams import Streams

ALOHA_LOADS = (0.1, 0.25, 0.5, 1.0)
ALOHA_SEEDS = 20
LORA_FRAMES = tuple((spreading, size) for spreading in range(7, 13) for size in (13, 23, 34, 64))
"""Spreading factors and bytes per frame."""


def ours(module: str, function: str) -> Any:
    """A function of simnet's side, None if that model is not part of this simnet."""
    return getattr(import_module(module), function, None) if find_spec(module) else None


def line(setting: Line, arrivals: list[int]) -> dict[str, Any]:
    """One line, message by message: how many have another fate than in ns-3, and the largest distance of two arrivals.

    `arrivals` is what ns-3 says of each packet, in nanoseconds; −1 if it was dropped. A message arrives with the last
    of its packets, if all of them do.
    """
    length = setting.burst if setting.whole else 1
    model = {"bandwidth": float(setting.bandwidth), "latency": setting.delay, "queue": setting.queue, "order": "fifo"}
    model |= {"overhead": PPP_BYTES, "mtu": FULL_PACKET + PPP_BYTES if setting.whole else None}
    link = Link(LinkModel.model_validate(model), Streams(1), "0>1")
    times, sizes = setting.offers()
    other, apart = 0, 0.0
    for first in range(0, len(times), length):
        message = slice(first, first + length)
        mine = link.send(times[first] / 1e9, sum(sizes[message]))
        whole = min(arrivals[message]) >= 0
        if (mine.fate == "delivered") != whole:
            other += 1
        elif whole:
            apart = max(apart, abs(mine.arrives * 1e9 - max(arrivals[message])))
    return {
        "name": setting.name,
        "queue": setting.queue,
        "packets": len(arrivals),
        "dropped": sum(theirs < 0 for theirs in arrivals),
        "other fates": other,
        "nanoseconds": apart,
    }


def cell(reference: dict[str, Any]) -> dict[str, Any]:
    """One round of a radio cell. The time ends with the last arrival: where nothing arrives it is 0."""
    play = ours("benchmarks.validate_air", "play_round")
    if play is None:
        return {"ns3": reference}
    broadcast, window, _ = ROUNDS[reference["round"]]
    found = play(reference["stations"], unicast=not broadcast, rounds=reference["runs"], within=window)
    return {"ns3": reference, "simnet": {"delivered": found.delivered, "seconds": found.seconds}}


def transfer(reference: dict[str, Any]) -> dict[str, Any]:
    """One message by the reliable transport; simnet is compared where acknowledgements are not lost."""
    send = ours("benchmarks.validate_transport", "transfer")
    if send is None or reference["ack_loss"]:
        return {"ns3": reference}
    wire, seconds = send(reference["size"], reference["loss"], reference["runs"])
    return {"ns3": reference, "simnet": {"wire_bytes_per_byte": wire, "seconds": seconds}}


def aloha() -> list[dict[str, Any]]:
    measure = ours("benchmarks.validate_air", "aloha")
    found = []
    for slotted in (False, True) if measure else ():
        for load in ALOHA_LOADS:
            throughput, theory = measure(load, slotted, ALOHA_SEEDS)
            found.append({"slotted": slotted, "load": load, "simnet": throughput, "theory": theory})
    return found


def lora_airtime(size: int, spreading: int) -> Fraction:
    """Seconds on the air by Semtech's AN1200.13: 125 kHz, coding rate 4/5, preamble of 8, header and checksum.

    Long symbols (spreading factors 11 and 12) use the low data rate optimisation.
    """
    slow = 2 if spreading >= 11 else 0
    payload = 8 + max(0, 5 * ceil(Fraction(8 * size - 4 * spreading + 28 + 16, 4 * (spreading - slow))))
    return (8 + Fraction(17, 4) + payload) * Fraction(2**spreading, 125_000)


def lora() -> list[dict[str, Any]]:
    airtime = ours("simnet.network.airtime", "lora_seconds")
    found = []
    for spreading, size in LORA_FRAMES if airtime else ():
        exact = lora_airtime(size, spreading)
        mine = airtime(size, spreading)
        row = {"spreading": spreading, "bytes": size, "milliseconds": 1e3 * mine, "formula": float(1000 * exact)}
        found.append(row | {"nanoseconds": float(abs(Fraction(mine) - exact) * 10**9)})
    return found


AGAINST_NS3: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "lines": lambda theirs: [line(setting, each["arrivals"]) for setting, each in zip(LINES, theirs, strict=True)],
    "cells": lambda theirs: [cell(each) for each in theirs],
    "transfers": lambda theirs: [transfer(each) for each in theirs],
}
AGAINST_THEORY: dict[str, Callable[[], list[dict[str, Any]]]] = {"aloha": aloha, "lora": lora}


def measured(tables: Collection[str], ns3: str) -> dict[str, Any]:
    """Some of the tables, by name; `ns3` is the Python that has the wheel, which is called if one of them needs it."""
    theirs = [name for name in AGAINST_NS3 if name in tables]
    found: dict[str, Any] = {}
    if theirs:
        command = [ns3, "-m", "benchmarks.ns3_reference", *theirs]
        reference = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        found["ns3"] = reference["ns3"]
        found |= {name: AGAINST_NS3[name](reference[name]) for name in theirs}
    return found | {name: measure() for name, measure in AGAINST_THEORY.items() if name in tables}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = [*AGAINST_NS3, *AGAINST_THEORY]
    parser.add_argument("tables", nargs="*", default=tables, help=f"what to measure: {', '.join(tables)}; default: all")
    parser.add_argument("--ns3", default=sys.executable, help="the Python that has the wheel ns3")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(tables):
        parser.error(f"{', '.join(sorted(unknown))}: the tables are {', '.join(tables)}")
    publish("validation", stored("validation") | measured(options.tables, options.ns3), digits=7)


if __name__ == "__main__":
    main()
