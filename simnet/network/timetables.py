"""When agents or links are up, by a CSV file: a line per interval, first who it is, then from when until when.

A file may have a line of headings. The intervals of one agent or link stand in order and do not overlap; those that
touch are one. An interval without an end lasts for ever. Who is not in the file is not its business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from simnet.errors import ScenarioError
from simnet.network.measured_times import Unit, read_cells, seconds_in
from simnet.network.topology import agent_names

if TYPE_CHECKING:
    import networkx as nx

Span = tuple[float, float]
"""From when until when; until infinity if it is for good."""

Timetable = dict[tuple[int, ...], list[Span]]
"""When each agent (a), or each link (a, b) with a < b, is up."""


def read_timetable(path: Path, where: str, ends: int, unit: Unit | None, edges: nx.Graph[int]) -> Timetable:
    """The intervals of agents (`ends` = 1) or links (`ends` = 2), in seconds."""
    columns = [*(["agent"] if ends == 1 else ["agent", "agent"]), "from", "to"]
    agents = _agents(edges)
    found: Timetable = {}
    factor: float | None = None
    for number, cells in read_cells(path, where):
        line, row = f"{where}: line {number}", [cell.strip() for cell in cells]
        if len(row) == len(columns) and factor is None and not any(map(_is_number, row[-2:])):
            factor = min(seconds_in(heading, unit, False, where) for heading in row[-2:])
            continue
        factor = seconds_in(None, unit, False, where) if factor is None else factor
        start, end = (_time(cell) for cell in (row[-2:] if len(row) == len(columns) else ("", "")))
        if start is None or (end is None and row[-1] != ""):
            told = f"{','.join(cells)[:60]!r}, not" if found else "not"
            raise ScenarioError(f"{line} is {told} {', '.join(columns)}")
        who = tuple(sorted(_agent(name, agents, line) for name in row[:ends]))
        span = (start * factor, inf if end is None else end * factor)
        if span[0] >= span[1]:
            raise ScenarioError(f"{line} ends before it begins")
        _add(found.setdefault(who, []), span, line)
    if not found:
        raise ScenarioError(f"{where}: holds no interval; a line is {', '.join(columns)}")
    return found


def _add(spans: list[Span], span: Span, line: str) -> None:
    """One more interval of the same agent or link."""
    if spans and span[0] < spans[-1][0]:
        raise ScenarioError(f"{line} begins before an interval above it of the same; write them in the order of time")
    if spans and span[0] < spans[-1][1]:
        raise ScenarioError(f"{line} overlaps an interval above it of the same")
    if spans and span[0] == spans[-1][1]:
        span = (spans.pop()[0], span[1])
    spans.append(span)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _time(cell: str) -> float | None:
    value = float(cell) if _is_number(cell) else inf
    return value if isfinite(value) and value >= 0 else None


def _agents(edges: nx.Graph[int]) -> dict[str, int]:
    """What a file may call the agents: by their numbers, and by the names that the topology's file gives them."""
    numbers = {str(agent): agent for agent in edges}
    return numbers | {name: agent for agent, name in enumerate(agent_names(edges) or ())}


def _agent(name: str, agents: dict[str, int], line: str) -> int:
    if name not in agents:
        raise ScenarioError(f"{line} is about {name!r}, and there is no such agent")
    return agents[name]


def gaps(up: Sequence[Span], period: float | None) -> Iterator[Span]:
    """The intervals between these, from the start on; with a `period` they repeat for ever.

    >>> list(gaps([(1.0, 2.0), (5.0, 6.0)], None))
    [(0.0, 1.0), (2.0, 5.0), (6.0, inf)]
    """
    down_from = 0.0
    for turn in count():
        begins = turn * (period or 0.0)
        for start, end in up:
            if begins + start > down_from:
                yield down_from, begins + start
            down_from = begins + end
        if period is None or (len(up) == 1 and up[0] == (0.0, period)):
            break
    if period is None and down_from < inf:
        yield down_from, inf


def up_share(up: Sequence[Span], until: float) -> float:
    """Which share of the time until then lies in these intervals."""
    return sum(max(0.0, min(end, until) - start) for start, end in up) / until
