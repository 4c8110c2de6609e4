"""A small problem that runs in milliseconds."""

from __future__ import annotations

from typing import Any

from simnet.audit.section import Audit, audit_of
from simnet.scenario import Scenario


def small(method: str = "pp-admm", *, audit: dict[str, Any] | None = None, **changes: Any) -> tuple[Scenario, Audit]:
    """Three agents with a hundred rows each, on a ring or where the method needs one around a hub.

    `changes` are dotted paths with `__` for the dots.
    """
    star = method.startswith("dp-")
    algorithm: dict[str, Any] = {"name": method, "eta": 0.3}
    if method != "pdml":
        algorithm["loss"] = "smoothed-hinge"
    if star:
        algorithm["graph"] = "none"
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
