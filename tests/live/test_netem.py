"""Agents of different network namespaces: what the wire does to packets shows in what the channel measures.

Where the kernel has netem it makes the delay and the loss, otherwise that test is skipped and says why; the other one
has them made by a relay between two tun devices, which more kernels allow.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.live.wan import Site, netem, stop, user_space

DELAY = 0.03
LOSS = 0.1
COUNT = 60
ROUND_TRIP = 2 * DELAY


def test_delay_and_loss_made_by_the_kernel_are_measured(deployment: Path) -> None:
    _compare(deployment, netem(DELAY, 0.0), netem(DELAY, LOSS))


def test_delay_and_loss_made_in_user_space_are_measured(deployment: Path, tmp_path: Path) -> None:
    for folder in ("good", "bad"):
        (tmp_path / folder).mkdir()
    _compare(deployment, user_space(DELAY, 0.0, tmp_path / "good"), user_space(DELAY, LOSS, tmp_path / "bad"))


Wire = AbstractContextManager[tuple[Site, Site]]


def _compare(deployment: Path, good: Wire, bad: Wire) -> None:
    clean, lossy = _measure(deployment, good), _measure(deployment, bad)
    for measured in (clean, lossy):
        assert measured["rounds"] == list(range(1, COUNT + 1))
        assert measured["refusals"] == {}
        assert ROUND_TRIP <= min(measured["trips"]) < 2 * ROUND_TRIP
    lost = lossy["again"] / lossy["sent"]
    # A lost acknowledgement needs no repetition, and a busy machine sends some segments again that were only late.
    assert 0.3 * LOSS < lost < 4 * LOSS
    assert clean["again"] / clean["sent"] < 0.5 * lost
    # What was lost is sent again after two round trips at the earliest (RFC 8985, section 7.2).
    assert max(lossy["trips"]) > 2 * ROUND_TRIP


def _measure(deployment: Path, wire: Wire) -> dict[str, Any]:
    with wire as (here, there):
        echo = there.start("tests.live.far_end", str(deployment), "1", there.address, here.address, "7001", "0")
        ping = here.start("tests.live.far_end", str(deployment), "0", here.address, there.address, "7001", str(COUNT))
        try:
            output, _ = ping.communicate(timeout=120)
            return json.loads(output)
        finally:
            stop(ping)
            stop(echo)
