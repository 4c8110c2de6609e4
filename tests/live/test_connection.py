"""What a connection may cost, and the page that says so."""

from __future__ import annotations

import re
from pathlib import Path

from simnet.live.connection import MIB, Limits

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """A section of the page about the wire."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_page_states_the_bounds_that_hold() -> None:
    limits, bounds = Limits(), section("Bounds")
    rows = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", bounds, flags=re.MULTILINE))
    assert rows["a frame"].startswith(f"{limits.frame_bytes // MIB} MiB;")
    assert rows["written to a neighbour and not acknowledged"].startswith(f"{limits.window_bytes // MIB} MiB ")
    assert rows["waiting to be written"].startswith(f"{limits.outbox_bytes // MIB} MiB ")
    assert rows["from a connection to the end of the hellos"] == f"{limits.introduction:g} s"
    assert rows["from an envelope's first byte to its last"] == f"{limits.envelope:g} s"
    assert rows["nothing heard about what was written"].startswith(f"{limits.silence:g} s,")
    assert rows["callers that have not introduced themselves"].startswith(f"{limits.introductions};")
    pauses = rows["pause before dialling again"]
    assert pauses.startswith(f"{limits.first_pause * 1000:g} ms, doubled up to {limits.longest_pause:g} s")
