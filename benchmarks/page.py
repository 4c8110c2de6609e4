"""Fills docs/performance.md and docs/validation.md from benchmarks/results: between `<!-- numbers: name -->` and
`<!-- /numbers -->`. A name is that of a file, or of a file and what is to be told of it: `validation.cells`.

python -m benchmarks.page
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.ns3_reference import CAPTURE
from benchmarks.report import stored

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (DOCS / "performance.md", DOCS / "validation.md")
BLOCK = re.compile(r"<!-- numbers: (?P<name>[\w.]+) -->\n.*?<!-- /numbers -->", re.DOTALL)


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    rule = "|" + "---|" + "---:|" * (len(header) - 1)
    return "\n".join(["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def ratios(found: dict[str, Any]) -> str:
    """Each ratio with its goal, which its name holds, and whether it is met."""
    rows = []
    for name, value in found["ratios"].items():
        what, _, goal = name.partition(" (goal: ")
        goal = goal.rstrip(")")
        bound = re.search(r"[\d.]+(/\d+)?", goal)
        verdict = ""
        if bound is not None:
            top, _, bottom = bound[0].partition("/")
            limit = float(top) / float(bottom or 1)
            verdict = "yes" if (value >= limit if goal.startswith("at least") else value <= limit) else "**no**"
        rows.append((what, f"{value:.2f}", goal or "–", verdict))
    return table(("ratio", "measured", "goal", "met"), rows)


def kernel(found: dict[str, Any]) -> str:
    rates = found["per CPU second"]
    rows = [(name, f"{rate:,.0f}", f"{1e6 / rate:.2f}") for name, rate in rates.items()]
    return table(("contender", "messages per CPU second", "µs per message"), rows)


def solver(found: dict[str, Any]) -> str:
    problems = found["milliseconds per round"]
    contenders = list(next(iter(problems.values())))
    rows = [(name, *(f"{times[contender]:.2f}" for contender in contenders)) for name, times in problems.items()]
    return table(("ms per round", *contenders), rows)


def whole_run(found: dict[str, Any]) -> str:
    rows = [(name, f"{found[name]:.3f}") for name in ("run", "plain script")]
    return table(("quickstart", "CPU seconds"), rows)


def cores(found: dict[str, Any]) -> str:
    rows = [
        (name, *(f"{each:.0f}" for each in (times["one worker"], times["two workers"])), f"{times['at most']:.2f}")
        for name, times in found["runs"].items()
    ]
    return table(("run", "ms with one worker", "with two", "ratio at most"), rows)


def link(found: dict[str, Any]) -> str:
    return table(
        ("link", "µs per message"), [(name, f"{time:.2f}") for name, time in found["microseconds per message"].items()]
    )


def study(found: dict[str, Any]) -> str:
    rows = [(name, f"{time:.1f}") for name, time in found["seconds"].items()]
    return table((f"{found['runs']} small runs", "seconds"), rows)


def scale(found: dict[str, Any]) -> str:
    rows = [
        (
            f"{row['agents']:,}",
            f"{row['messages']:,}",
            f"{row['microseconds_per_agent_round']:.0f}",
            f"{row['wall_seconds']:,.1f}",
            f"{row['peak_mib']:,.0f}",
        )
        for row in found["sizes"]
    ]
    return table(("agents", "messages", "µs per agent-round", "seconds", "MiB"), rows)


def memory(found: dict[str, Any]) -> str:
    rows = [(part, f"{size:,.0f}") for part, size in found["bytes per agent"].items()]
    return table(("part", "bytes per agent"), rows)


def profile(found: dict[str, Any]) -> str:
    runs = found["shares"]
    first = next(iter(runs.values()))
    parts = sorted({part for shares in runs.values() for part in shares}, key=lambda part: (-first.get(part, 0), part))
    rows = [(part, *(f"{100 * shares.get(part, 0):.0f} %" for shares in runs.values())) for part in parts]
    return table(("part", *runs), rows)


def verdict(met: bool) -> str:
    return "yes" if met else "**no**"


def aside(found: dict[str, Any], name: str) -> float:
    """How far simnet is from ns-3, as a share of what ns-3 says; both may say 0."""
    mine, theirs = found["simnet"][name], found["ns3"][name]
    return 0.0 if mine == theirs else mine / theirs - 1 if theirs else inf


def lines(found: dict[str, Any]) -> str:
    rows = [
        (
            row["name"],
            f"{row['queue']}",
            f"{row['packets']:,}",
            f"{row['dropped']:,}",
            f"{row['other fates']}",
            f"{row['nanoseconds']:.1f}",
            verdict(row["other fates"] == 0 and row["nanoseconds"] <= 20),
        )
        for row in found["lines"]
    ]
    return table(("line", "queue", "packets", "dropped by ns-3", "other fates in simnet", "ns apart", "met"), rows)


def cells(found: dict[str, Any]) -> str:
    rows = []
    for row in found["cells"]:
        ns3, mine = row["ns3"], row.get("simnet")
        told = ("–", "–", "", "")
        if mine:
            points, late = 100 * (mine["delivered"] - ns3["delivered"]), aside(row, "seconds")
            # simnet has no capture effect: what it costs is told, and no goal.
            met = "no goal" if ns3["round"] == CAPTURE else verdict(abs(points) <= 5 and abs(late) <= 0.15)
            told = (
                f"{100 * mine['delivered']:.1f} %",
                f"{1e3 * mine['seconds']:.1f}",
                f"{points:+.1f}, {late:+.0%}",
                met,
            )
        share = f"{100 * ns3['delivered']:.1f} ± {100 * ns3['delivered_error']:.1f} %"
        rows.append((f"{ns3['round']}, {ns3['stations']} stations", share, f"{1e3 * ns3['seconds']:.1f}", *told))
    return table(("round", "ns-3 delivered", "ms", "simnet delivered", "ms", "points, time apart", "met"), rows)


def transfers(found: dict[str, Any]) -> str:
    rows = []
    for row in found["transfers"]:
        ns3, mine = row["ns3"], row.get("simnet")
        told = ("–", "–", "", "")
        if mine:
            more, late = aside(row, "wire_bytes_per_byte"), aside(row, "seconds")
            met = verdict(abs(more) <= 0.15 and abs(late) <= 0.25)
            told = (f"{mine['wire_bytes_per_byte']:.3f}", f"{mine['seconds']:.3f}", f"{more:+.1%}, {late:+.0%}", met)
        name = f"{ns3['size'] // 1000:,} kB, loss {ns3['loss']:.1%}" + (", both ways" if ns3["ack_loss"] else "")
        time = f"{ns3['seconds']:.3f} ± {ns3['seconds_error']:.3f}"
        rows.append((name, f"{ns3['wire_bytes_per_byte']:.3f}", time, *told))
    return table(
        ("message", "ns-3 bytes per byte", "s", "simnet bytes per byte", "s", "bytes, time apart", "met"), rows
    )


def aloha(found: dict[str, Any]) -> str:
    rows = []
    for row in found["aloha"]:
        off = row["simnet"] / row["theory"] - 1
        name = f"{'slotted' if row['slotted'] else 'pure'}, load {row['load']:g}"
        rows.append((name, f"{row['theory']:.4f}", f"{row['simnet']:.4f}", f"{off:+.1%}", verdict(abs(off) <= 0.02)))
    return table(("ALOHA", "theory", "simnet", "apart", "met"), rows)


def lora(found: dict[str, Any]) -> str:
    rows = [
        (
            f"SF{row['spreading']}, {row['bytes']} bytes",
            f"{row['formula']:.1f}",
            f"{row['milliseconds']:.1f}",
            verdict(row["nanoseconds"] <= 1),
        )
        for row in found["lora"]
    ]
    return table(("frame", "formula, ms", "simnet, ms", "met"), rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "kernel": kernel,
    "solver": solver,
    "whole_run": whole_run,
    "cores": cores,
    "link": link,
    "study": study,
    "profile": profile,
    "scale": scale,
    "scale_full": scale,
    "scale_million": scale,
    "memory": memory,
    "validation.lines": lines,
    "validation.cells": cells,
    "validation.transfers": transfers,
    "validation.aloha": aloha,
    "validation.lora": lora,
}
"""What stands before the ratios, where a benchmark has more than these."""


def block(name: str) -> str:
    file, _, part = name.partition(".")
    found = stored(file)
    if not (found.get(part) if part else found):
        return "Not measured yet."
    pieces = [TABLES[name](found)] if name in TABLES else []
    pieces += [ratios(found)] if "ratios" in found else []
    return "\n\n".join(pieces)


def filled(text: str) -> str:
    return BLOCK.sub(lambda m: f"<!-- numbers: {m['name']} -->\n\n{block(m['name'])}\n\n<!-- /numbers -->", text)


def main() -> None:
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
