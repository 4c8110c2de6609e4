"""The files that a plan writes: a scenario with a comment beside each field, and a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli_w

from simnet.planning.feasible import Trial
from simnet.scenario import Scenario
from simnet.scenario.reference import commented


def scenario_text(scenario: Scenario, why: Mapping[str, str], first: str) -> str:
    """The scenario as a person would write it; `why` has what stands beside some fields, by their dotted paths."""
    content = scenario.content()
    lists = {name: value for name, value in content.items() if isinstance(value, list)}
    tables = {name: value for name, value in content.items() if name not in lists}
    text = commented("\n\n".join(_blocks(tables, ())), why, first)
    return text if not lists else f"{text}\n{tomli_w.dumps(lists)}"


def _blocks(table: Mapping[str, Any], at: tuple[str, ...]) -> Iterator[str]:
    inside = {name: value for name, value in table.items() if isinstance(value, dict)}
    lines = [_line(name, value) for name, value in table.items() if name not in inside]
    if lines:
        yield "\n".join([*([f"[{'.'.join(at)}]"] if at else []), *lines])
    for name, value in inside.items():
        yield from _blocks(value, (*at, name))


def _line(name: str, value: object) -> str:
    return f"{name} = {inline(value)}"


def inline(value: object) -> str:
    """A value on one line.

    >>> inline({"name": "admm", "drop": ["id"]})
    '{ name = "admm", drop = ["id"] }'
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_line(name, each) for name, each in value.items())} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(inline, value))}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def study_text(
    scenario: Scenario, question: str, target: float, base: str, settings: Sequence[Trial], seeds: int
) -> str:
    """A study over these settings, one line for each."""
    algorithms = [f"{inline(each.algorithm)}," for each in settings]
    wide = max(map(len, algorithms))
    notes = ["  # control: no noise" if each.control else "" for each in settings]
    listed = [f"  {text:{wide}}{note}".rstrip() for text, note in zip(algorithms, notes, strict=True)]
    calibrations = ["none" if each.control else scenario.privacy.calibration for each in settings]
    lines = [
        "# `simnet sweep` does these runs, `simnet reach` and `simnet report` answer the question.",
        f"name = {inline(scenario.name)}",
        f"question = {inline(question)}",
        f"target = {target:g}",
        f"base = {inline(base)}",
        f"replicates = {seeds}  # seeds: each deals the rows anew, and draws loss and noise anew",
        "",
        "# The settings that can keep the budget, and the controls; the k-th entries of the lists go together.",
        "[[zip]]",
        "algorithm = [",
        *listed,
        "]",
        f"privacy.calibration = {inline(calibrations)}",
        f"rounds = [{', '.join(str(each.rounds) for each in settings)}]",
    ]
    return "\n".join(lines) + "\n"
