"""What `explain` says of traffic is what the code that sends does."""

from __future__ import annotations

from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.cli.explain import explain
from simnet.record.events import MessageSent

SHIPPED = sorted((Path(__file__).parents[2] / "scenarios" / "networks").glob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_message_has_the_bytes_that_explain_foretells(path):
    scenario = Scenario.load(path)
    traffic = explain(scenario)["traffic"]
    result = run(scenario)
    values = [e for _, _, e in result.events if isinstance(e, MessageSent) and e.carries == "value"]
    first = values[0]
    assert traffic["bytes per message"] == f"{first.wire_bytes:,} ({first.payload_bytes:,} payload)"
    same_size = [event for event in values if event.wire_bytes <= first.wire_bytes]
    at_most = int(str(traffic["bytes at most"]).split()[0].replace(",", ""))
    assert at_most >= sum(event.wire_bytes for event in same_size)
