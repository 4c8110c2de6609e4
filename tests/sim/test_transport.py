"""What a scenario says of its transport."""

from __future__ import annotations

import pytest

from simnet.errors import ScenarioError
from simnet.scenario import Scenario
from simnet.sim.transport import TRANSPORTS


def test_only_a_reliable_transport_repeats():
    assert {word: part.repeats for word, part in TRANSPORTS.items()} == {"datagram": False, "reliable": True}
    assert TRANSPORTS["datagram"](kind="datagram").made(None) is None


def test_nobody_acknowledges_a_broadcast_for_all():
    network = {"transport": "reliable", "medium": "shared"}
    with pytest.raises(ScenarioError, match=r'^network\.medium = "shared": a reliable transport repeats messages'):
        Scenario.of({"algorithm": {"name": "admm"}, "network": network})
