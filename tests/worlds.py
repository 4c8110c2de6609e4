"""Small worlds that run in milliseconds, one for each kind of question, and what their logs say."""

from __future__ import annotations

from collections import Counter
from typing import Any

from simnet import Result, Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.audit.section import Audit, audit_of
from simnet.methods import METHODS
from simnet.record import events
from simnet.record.laws import Laws

ROWS = {"source": "synthetic", "rows": 300, "train": 240, "features": 3}
TICKS = {"kind": "deadline", "period": 0.1}
PATIENT = {"kind": "barrier", "patience": 60.0}
"""Waits for a neighbour that is restarted, however busy the machine."""


def world(**changes: Any) -> Scenario:
    """Six agents that run plain ADMM; tests change the network around them."""
    base = {
        "seed": 1,
        "rounds": 12,
        "data": ROWS,
        "topology": {"kind": "regular", "agents": 6, "degree": 3},
        "algorithm": {"name": "admm", "eta": 0.05},
        "compute": {"time": 0.02},
    }
    return Scenario.of(base).with_(**changes)


def live_world(**changes: Any) -> Scenario:
    """Three private agents that wait for each other, to be run as processes."""
    base = {
        "name": "small",
        "seed": 1,
        "rounds": 6,
        "data": ROWS,
        "topology": {"kind": "ring", "agents": 3},
        "algorithm": {"name": "pp-admm", "eta": 0.05},
        "privacy": {"epsilon": 10.0},
        "network": {"pacing": PATIENT},
    }
    return Scenario.of(base).with_(**changes)


def audited_world(
    method: str = "pp-admm", *, audit: dict[str, Any] | None = None, **changes: Any
) -> tuple[Scenario, Audit]:
    """Three agents with a hundred rows each, on a ring or where the method needs one around a hub.

    `changes` are dotted paths with `__` for the dots.
    """
    star = method.startswith("dp-")
    algorithm: dict[str, Any] = {"name": method, "eta": 0.3}
    if method != "pdml":
        algorithm["loss"] = "smoothed-hinge"
    if star:
        algorithm["graph"] = "none"
    if method in METHODS:
        algorithm = {name: value for name, value in algorithm.items() if name in METHODS[method].model_fields}
    content = {
        "name": "small",
        "rounds": 4,
        "data": {"source": "synthetic", "rows": 320, "train": 300, "features": 3},
        "topology": {"kind": "star" if star else "ring", "agents": 3},
        "algorithm": algorithm,
        "privacy": {"epsilon": 2.0, "delta": 1e-2},
        "network": {"pacing": "ideal"},
        "audit": {"runs": 40} | (audit or {}),
    }
    return audit_of(content, {path.replace("__", "."): value for path, value in changes.items()})


STUDIED: dict[str, Any] = {
    "name": "tiny",
    "rounds": 3,
    "data": {"source": "synthetic", "rows": 300, "features": 4},
    "topology": {"kind": "ring", "agents": 4},
    "algorithm": {"name": "admm"},
}
"""The scenario of a study small enough to be run in a test."""

STUDY_TOML = """
name = "small"
replicates = {replicates}

[scenario]
name = "tiny"
rounds = {rounds}
data = {{ source = "synthetic", rows = {rows}, features = 4 }}
topology = {{ kind = "ring", agents = 4 }}
algorithm.name = "admm"

[grid]
algorithm.eta = [0.01, 0.05, 0.2]
"""


def study_content(**changes: Any) -> dict[str, Any]:
    """A study of six runs, unless changed."""
    study: dict[str, Any] = {
        "name": "small",
        "scenario": STUDIED,
        "replicates": 2,
        "grid": {"algorithm.eta": [0.01, 0.05, 0.2]},
    }
    return study | changes


def unlawful(result: Result) -> list[str]:
    """What a run did that no run may."""
    laws = Laws(ALIGNED)
    for entry in result.events:
        laws(*entry)
    return laws.finish()


def lawful(**changes: Any) -> Result:
    """The result of a run of `world` that broke no law."""
    result = run(world(**changes))
    assert unlawful(result) == []
    return result


def traffic(result: Result) -> dict[str, int]:
    return result.summary["communication"]


def found(result: Result, kind: str) -> list[tuple[float, Any]]:
    """The events of one kind, with their times."""
    return [(t, event) for _, t, event in result.events if event.kind == kind]


def kinds(result: Result) -> Counter[str]:
    return Counter(event.kind for _, _, event in result.events)


def told(result: Result, kind: type[events.Event]) -> dict[tuple[int, int], list[Any]]:
    """The events of one kind, by agent and round."""
    by_place: dict[tuple[int, int], list[Any]] = {}
    for _, _, event in result.events:
        if isinstance(event, kind):
            by_place.setdefault((event.agent, event.round), []).append(event)
    return by_place


def same_course(live: Result, simulated: Result) -> None:
    """Both made the same releases, bit by bit, and paid for each once."""
    for kind in (events.ReleaseMade, events.PrivacySpent, events.SvtTested, events.BroadcastSkipped):
        assert told(live, kind) == told(simulated, kind)
    assert live.summary["accuracy"] == simulated.summary["accuracy"]
    assert live.summary.get("measures") == simulated.summary.get("measures")
    spent = [
        {k: v for k, v in each.summary["privacy"].items() if k not in ("fit", "caveats")} for each in (live, simulated)
    ]
    assert spent[0] == spent[1]
    counted = ("broadcasts", "skips", "notices", "messages", "delivered", "payload_bytes", "wire_bytes", "in_flight")
    live_counts, counts = live.summary["communication"], simulated.summary["communication"]
    assert {name: live_counts[name] for name in counted} == {name: counts[name] for name in counted}
