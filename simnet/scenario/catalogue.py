"""`simnet list`: everything that can be chosen in a scenario, with one line each, read off the models."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel

from simnet.scenario import METHODS, Scenario
from simnet.scenario.data import EMBEDDED, GENERATED, STORED
from simnet.scenario.network import Link, Network


def catalogue() -> dict[str, dict[str, str]]:
    """Topic → name → one line."""
    return {
        "algorithms": {name: _line(model) for name, model in METHODS.items()},
        "data": {
            **dict.fromkeys(EMBEDDED, "inside the package"),
            **dict.fromkeys(GENERATED, "generated"),
            **dict.fromkeys(STORED, "found in SIMNET_DATA"),
            "a file": "LIBSVM, CSV, NPZ or MAT",
        },
        "topologies": _alternatives(Scenario, "topology"),
        "pacing": _alternatives(Network, "pacing"),
        "transports": _alternatives(Network, "transport"),
        "latencies": _alternatives(Link, "latency"),
        "losses": _alternatives(Link, "loss"),
        "codecs": dict.fromkeys(get_args(Network.model_fields["codec"].annotation), ""),
    }


def _alternatives(model: type[BaseModel], field: str) -> dict[str, str]:
    annotation: Any = model.model_fields[field].annotation
    found = [annotation] if isinstance(annotation, type) else get_args(annotation)
    return {get_args(member.model_fields["kind"].annotation)[0]: _line(member) for member in found}


def _line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]
