"""What `explain` says of traffic is what the code that sends does."""

from __future__ import annotations

from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.cli.explain import explain
from simnet.record.events import MessageSent

SHIPPED = sorted((Path(__file__).parents[2] / "scenarios" / "networks").glob("lorawan*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_message_has_the_bytes_that_explain_foretells(path):
    scenario = Scenario.load(path)
    traffic = explain(scenario)["traffic"]
    result = run(scenario)
    first = next(e for _, _, e in result.events if isinstance(e, MessageSent) and e.carries == "value")
    assert traffic["bytes per message"] == f"{first.wire_bytes:,} ({first.payload_bytes:,} payload)"
    assert int(str(traffic["bytes at most"]).replace(",", "")) >= result.summary["communication"]["wire_bytes"]
