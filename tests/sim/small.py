"""A small world whose network the tests change, and what its log says."""

from __future__ import annotations

from collections import Counter
from typing import Any

from simnet import Scenario, run
from simnet.record.laws import Laws

TICKS = {"kind": "deadline", "period": 0.1}


def scenario(**changes: Any) -> Scenario:
    base = {
        "seed": 1,
        "rounds": 12,
        "data": {"source": "synthetic", "rows": 300, "train": 240, "features": 3},
        "topology": {"kind": "regular", "agents": 6, "degree": 3},
        "algorithm": {"name": "admm", "eta": 0.05},
        "compute": {"time": 0.02},
    }
    return Scenario.of(base).with_(**changes)


def lawful(**changes: Any):
    """The result of a run that broke no law."""
    result = run(scenario(**changes))
    laws = Laws()
    for entry in result.events:
        laws(*entry)
    assert laws.finish() == []
    return result


def traffic(result) -> dict[str, int]:
    return result.summary["communication"]


def found(result, kind: str) -> list[tuple[float, Any]]:
    """The events of one kind, with their times."""
    return [(t, event) for _, t, event in result.events if event.kind == kind]


def kinds(result) -> Counter[str]:
    return Counter(event.kind for _, _, event in result.events)
