"""Small live runs, and what their logs say beside that of the simulation."""

from __future__ import annotations

from typing import Any

from simnet import Scenario
from simnet.record import events
from simnet.record.laws import Laws

PATIENT = {"kind": "barrier", "patience": 60.0}
"""Waits for a neighbour that is restarted, however busy the machine."""


def scenario(**changes: Any) -> Scenario:
    base = {
        "name": "small",
        "seed": 1,
        "rounds": 6,
        "data": {"source": "synthetic", "rows": 300, "train": 240, "features": 3},
        "topology": {"kind": "ring", "agents": 3},
        "algorithm": {"name": "pp-admm", "eta": 0.05},
        "privacy": {"epsilon": 10.0},
        "network": {"pacing": PATIENT},
    }
    return Scenario.of(base).with_(**changes)


def unlawful(result) -> list[str]:
    """What a run did that no run may."""
    laws = Laws()
    for entry in result.events:
        laws(*entry)
    return laws.finish()


def told(result, kind: type[events.Event]) -> dict[tuple[int, int], list[Any]]:
    """The events of one kind, by agent and round."""
    found: dict[tuple[int, int], list[Any]] = {}
    for _, _, event in result.events:
        if isinstance(event, kind):
            found.setdefault((event.agent, event.round), []).append(event)
    return found


def same_course(live, simulated) -> None:
    """Both made the same releases, bit by bit, and paid for each once."""
    for kind in (events.ReleaseMade, events.PrivacySpent, events.SvtTested, events.BroadcastSkipped):
        assert told(live, kind) == told(simulated, kind)
    assert live.summary["accuracy"] == simulated.summary["accuracy"]
    assert live.summary["privacy"] == simulated.summary["privacy"]
    counted = ("broadcasts", "skips", "notices", "messages", "delivered", "payload_bytes", "wire_bytes", "in_flight")
    live_counts, counts = live.summary["communication"], simulated.summary["communication"]
    assert {name: live_counts[name] for name in counted} == {name: counts[name] for name in counted}
