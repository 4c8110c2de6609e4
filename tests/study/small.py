"""A study small enough to be run in a test."""

from __future__ import annotations

from typing import Any

SCENARIO: dict[str, Any] = {
    "name": "tiny",
    "rounds": 3,
    "data": {"source": "synthetic", "rows": 300, "features": 4},
    "topology": {"kind": "ring", "agents": 4},
    "algorithm": {"name": "admm"},
}


def content(**changes: Any) -> dict[str, Any]:
    """Six runs, unless changed."""
    study: dict[str, Any] = {
        "name": "small",
        "scenario": SCENARIO,
        "replicates": 2,
        "grid": {"algorithm.eta": [0.01, 0.05, 0.2]},
    }
    return study | changes


TOML = """
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
