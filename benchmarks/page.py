"""Fills docs/performance.md from benchmarks/results: between `<!-- numbers: name -->` and `<!-- /numbers -->`.

python -m benchmarks.page
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BLOCK = re.compile(r"<!-- numbers: (?P<name>\w+) -->\n.*?<!-- /numbers -->", re.DOTALL)


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


def profile(found: dict[str, Any]) -> str:
    runs = found["shares"]
    first = next(iter(runs.values()))
    parts = sorted({part for shares in runs.values() for part in shares}, key=lambda part: (-first.get(part, 0), part))
    rows = [(part, *(f"{100 * shares.get(part, 0):.0f} %" for shares in runs.values())) for part in parts]
    return table(("part", *runs), rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "kernel": kernel,
    "solver": solver,
    "whole_run": whole_run,
    "link": link,
    "study": study,
    "profile": profile,
    "scale": scale,
    "scale_full": scale,
}
"""What stands before the ratios, where a benchmark has more than these."""


def block(name: str) -> str:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return "Not measured yet."
    found = json.loads(path.read_text(encoding="utf-8"))
    pieces = [TABLES[name](found)] if name in TABLES else []
    pieces += [ratios(found)] if "ratios" in found else []
    return "\n\n".join(pieces)


def filled(text: str) -> str:
    return BLOCK.sub(lambda m: f"<!-- numbers: {m['name']} -->\n\n{block(m['name'])}\n\n<!-- /numbers -->", text)


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
