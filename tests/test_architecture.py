"""docs/architecture.md tells where things are and how a message walks through them: it must be so."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from simnet import Scenario
from simnet.build import build
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.simulate import play

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\| \d+ \| `simnet/(?P<file>[^`]+)` \| `(?P<function>[^`]+)` \|", re.MULTILINE)

WORLD = {
    "rounds": 1,
    "data": {"source": "synthetic", "rows": 100},
    "topology": {"kind": "star", "agents": 2},
    "algorithm": {"name": "pp-admm"},
    "privacy": {"epsilon": 20.0},
    "network": {
        "pacing": "barrier",
        "link": {"latency": 0.02, "loss": 0.01, "bandwidth": "1 Mbit/s", "queue": 10},
    },
}


def calls() -> list[tuple[str, str]]:
    """File and function of every call of simnet while a small world happens."""
    world = build(Scenario.of(WORLD))
    home, seen = str(ROOT / "simnet") + "/", []

    def on_call(frame: FrameType, what: str, _: Any) -> None:
        code = frame.f_code
        if what == "call" and code.co_filename.startswith(home):
            seen.append((code.co_filename.removeprefix(home), code.co_qualname))

    sys.setprofile(on_call)
    try:
        play(world, Bus(Metrics()))
    finally:
        sys.setprofile(None)
    return seen


def test_a_message_walks_as_the_page_says():
    steps = [(step["file"], step["function"]) for step in STEP.finditer(PAGE)]
    assert len(steps) > 15
    path = iter(calls())
    missed = next((step for step in steps if step not in path), None)
    assert missed is None


def test_every_file_that_the_page_names_exists():
    named = set(re.findall(r"`((?:simnet|tests)/[\w./]+)`", PAGE))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_room_has_its_line():
    rooms = {
        path.name for path in (ROOT / "simnet").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    told = set(re.findall(r"`([\w.]+)`", PAGE.partition("## Rooms")[2].partition("## The first hour")[0]))
    assert rooms - {"__init__.py"} <= told
