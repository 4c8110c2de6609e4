"""The words of refusals, and the page that explains them."""

from __future__ import annotations

import re
from pathlib import Path

from simnet.errors import FrameError
from simnet.live.limits import MIB, Limits
from simnet.live.refusal import Reason, Refused

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_every_word_is_explained_and_no_other() -> None:
    first_cells = re.findall(r"^\| (`.*?) \|", _section("What is refused"), flags=re.MULTILINE)
    assert {word for cell in first_cells for word in re.findall(r"`(.+?)`", cell)} == set(Reason)


def test_the_page_states_the_bounds_that_hold() -> None:
    limits, bounds = Limits(), _section("Bounds")
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


def test_a_refusal_is_a_frame_error_with_a_word() -> None:
    refused = Refused(Reason.GAP, "number 3 after 1")
    assert isinstance(refused, FrameError)
    assert (str(refused), refused.reason) == ("number 3 after 1", "gap")
