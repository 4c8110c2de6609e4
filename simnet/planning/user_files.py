"""What a user's files are, as sections of a scenario, with what was found in them and why each field is as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from simnet.errors import DataError, ScenarioError, SimnetError
from simnet.learning.sources import SOURCES, WELL_KNOWN
from simnet.learning.table_form import Name
from simnet.learning.table_survey import MOST_LABELS, Survey, survey
from simnet.network.measured_times import TOO_LONG, Unit, read_cells, read_lines, said_by
from simnet.network.ping_output import Pings, pings

_TABLES = (".csv", ".tsv")
_SHOWN = 5
_LEAST_SHARE = 10
"""An agent gets at least the share of rows that an even split would give to so many."""


@dataclass
class FilledSection:
    """The fields of a section, what to say beside some of them, and what was found."""

    content: dict[str, Any]
    why: dict[str, str] = field(default_factory=dict)
    """field → reason"""
    found: dict[str, str] = field(default_factory=dict)


def data_section(
    source: str,
    *,
    label: Name | None,
    positive: str | None,
    drop: Sequence[str],
    skew: float | None,
    signs: bool = True,
) -> FilledSection:
    """`[data]` for a table of the user's own, or for a data set that simnet knows; `signs`: labels are +1 and −1."""
    section = FilledSection({"source": source}, found={"data": source})
    plain, _, packed = source.rpartition(".")
    if (f".{packed}" if f".{packed}" in _TABLES else Path(plain).suffix) in _TABLES:
        try:
            found = survey(Path(source), -1 if label is None else label, drop)
        except DataError as error:
            raise ScenarioError(str(error)) from None
        except OSError as error:
            raise SimnetError(f"{source}: cannot be read ({error.strerror})") from None
        _columns(section, found, label, drop)
        if signs:
            _labels(section, found, positive, source)
    elif source not in SOURCES and source not in WELL_KNOWN:
        if not Path(source).is_file():
            raise SimnetError(f"{source}: there is no such file, and simnet knows no such data set")
        if label is not None:
            section.content["label"] = label
    if positive is not None:
        section.content["positive"] = positive
    if skew is not None:
        section.content |= {"partition": "skewed", "concentration": skew}
        section.why["partition"] = "each label goes to few agents"
        section.why["concentration"] = "small is very unequal"
    return section


def _labels(section: FilledSection, found: Survey, positive: str | None, source: str) -> None:
    """Which label counts as +1; SimnetError if nobody has said so of more than two."""
    counts = [f"{label} {count:,}" for label, count in found.labels.items()]
    if len(counts) > MOST_LABELS:
        others = _some([name for name in (*found.numbers, *found.words) if name != found.label])
        raise SimnetError(
            f"{source}: the column {found.label} has more than {MOST_LABELS} different values, which are no labels; "
            f"--label names another one, and there are {others}"
        )
    if len(counts) > 2 and positive is None:
        raise SimnetError(
            f"{source}: the column {found.label} has {len(counts)} labels ({', '.join(counts)}); --positive says which "
            f"one counts as +1, and all others as −1, such as --positive {[*found.labels][-1]!r}"
        )
    if found.unlabelled:
        section.content["unlabelled"] = "drop"
        section.why["unlabelled"] = f"{found.unlabelled:,} rows have no label"
    section.found |= {
        "label": f"{found.label}: {', '.join(counts)}" + (f"; {positive} is +1" if positive is not None else ""),
        "rows without a label": f"{found.unlabelled:,}, left out" if found.unlabelled else "",
    }


def _columns(section: FilledSection, found: Survey, label: Name | None, drop: Sequence[str]) -> None:
    """The fields that a table needs, each with its reason."""
    content, why = section.content, section.why
    content["label"] = found.label
    if label is None:
        why["label"] = "the last column: say --label for another"
    if found.decimal == ",":
        content["decimal"] = ","
        why["decimal"] = "numbers have a comma"
    if left := [*drop, *map(str, found.keys)]:
        content["drop"] = left
        if found.keys:
            why["drop"] = f"{_some(found.keys)} only tell rows apart"
    if found.words:
        content["categorical"] = "text"
        why["categorical"] = f"words: {_some(found.words)}"
    if found.blanks:
        content["missing"] = "category"
        why["missing"] = f"blank cells: {_some([f'{name} {count:,}' for name, count in found.blanks.items()])}"
    section.found |= {
        "rows": f"{found.rows:,}",
        "label": str(found.label),
        "columns of numbers": _some(found.numbers),
        "columns of categories": _some(found.words),
        "columns left out": _some(left),
        "blank cells": _some([f"{name} {count:,}" for name, count in found.blanks.items()]),
    }


def fewest_rows(section: FilledSection, rows: int, agents: int) -> None:
    """With unequal shares, see to it that no agent is left with nearly nothing."""
    if "partition" in section.content and "min_rows" not in section.content and rows // agents >= _LEAST_SHARE:
        section.content["min_rows"] = rows // agents // _LEAST_SHARE
        section.why["min_rows"] = f"a tenth of an even share: there are {rows:,} rows for {agents} agents"


def topology_section(graph: str | None, agents: int | None) -> FilledSection:
    """`[topology]`: a file, or so many agents."""
    if (graph is None) == (agents is None):
        raise SimnetError("--graph or --agents: say which graph there is, or how many agents, and not both")
    if graph is None:
        assert agents is not None
        return FilledSection(
            {"kind": "random", "agents": agents, "mean_degree": float(min(3, agents - 1))},
            {"kind": "no --graph was given"},
        )
    if not Path(graph).is_file():
        raise SimnetError(f"--graph {graph}: there is no such file")
    return FilledSection({"kind": "file", "file": graph})


def latency_section(trace: str, unit: str | None, *, round_trip: bool | None) -> FilledSection:
    """`[network.link.latency]` by measured times, one column of delays or two with the time of the measurement."""
    if unit is not None and unit not in get_args(Unit):
        raise SimnetError(f"--trace-unit {unit}: choose one of {', '.join(get_args(Unit))}")
    where = f"--trace {trace}"
    try:
        if (answers := pings(read_lines(Path(trace), where, "utf-8-sig"))) is not None:
            return _ping_section(trace, answers, unit, round_trip=round_trip)
        (_, first), *others = read_cells(Path(trace), where) or [(0, [])]
    except ScenarioError as error:
        raise SimnetError(str(error)) from None
    columns = len(first)
    if columns not in (1, 2):
        raise SimnetError(f"{where}: it has {columns} columns; one of delays is right, or times and delays")
    headed = not _number(first[-1])
    heading = first[-1].strip() if headed else None
    said, there_and_back = said_by(heading)
    rows = [cells for _, cells in (others if headed else [(0, first), *others])]
    median = _median(rows, where)
    counted = unit or said
    if counted is None:
        guess = "ms" if median > TOO_LONG / 1e3 * 100 else "s"
        raise SimnetError(
            f"{where}: nothing says what its delays count, and half of them are above {median:g}; say --trace-unit "
            f"{guess} if they are {'milliseconds' if guess == 'ms' else 'seconds'}"
        )
    both = there_and_back if round_trip is None else round_trip
    content: dict[str, Any] = {"kind": "empirical" if columns == 1 else "trace", "file": trace, "unit": counted}
    why = {"unit": f"its delays are headed {heading}" if unit is None else "--trace-unit"}
    if both:
        content["round_trip"] = True
        why["round_trip"] = "there and back, so they are halved"
    if columns == 2 and headed and (of_time := said_by(first[0].strip())[0]) is not None:
        content["time_unit"] = of_time
    told = f"{len(rows):,} measurements in {counted}, {'there and back' if both else 'one way'}, median {median:g}"
    return FilledSection(content, why, {"trace": f"{trace}: {told}"})


def _ping_section(trace: str, answers: Pings, unit: str | None, *, round_trip: bool | None) -> FilledSection:
    """What `ping` printed: it says itself that it counts milliseconds, there and back."""
    if unit not in (None, "ms") or round_trip is False:
        raise SimnetError(f"--trace {trace}: ping counts milliseconds there and back: --trace-unit ms --round-trip")
    kind = "trace" if len(answers.delays) > 1 else "empirical"
    content = {"kind": kind, "file": trace, "unit": "ms", "round_trip": True}
    why = {"unit": "ping says so", "round_trip": "there and back, so they are halved"}
    told = f"{len(answers.delays):,} of {answers.sent:,} pings answered, there and back, median "
    return FilledSection(content, why, {"trace": f"{trace}: {told}{np.median(answers.delays):g} ms"})


def loss_section(loss: str | float, burst: float | None) -> FilledSection:
    """`[network.link.loss]`: independent losses, or bursts of some mean length."""
    if burst is None:
        return FilledSection({"kind": "bernoulli", "p": loss})
    return FilledSection({"kind": "bursts", "rate": loss, "length": burst})


def _median(rows: Sequence[Sequence[str]], where: str) -> float:
    numbers = [value for cells in rows if (value := _value(cells[-1])) is not None]
    if not numbers:
        raise SimnetError(f"{where}: there is no number in its last column")
    return float(np.median(numbers))


def _number(cell: str) -> bool:
    return _value(cell) is not None


def _value(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _some(names: Sequence[object] | Mapping[Any, object]) -> str:
    """The first of many."""
    told = [str(name) for name in names]
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return ", ".join(told[:_SHOWN]) + more
