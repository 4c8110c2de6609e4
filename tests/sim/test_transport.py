"""What a scenario says of its transport, and what is refused."""

from __future__ import annotations

import pytest

from simnet.errors import ScenarioError
from simnet.scenario import Scenario
from simnet.sim.transport import TRANSPORTS
from tests.worlds import lawful, world


def test_only_a_reliable_transport_repeats():
    assert {word: part.repeats for word, part in TRANSPORTS.items()} == {"datagram": False, "reliable": True}
    assert TRANSPORTS["datagram"](kind="datagram").made(None) is None


def test_nobody_acknowledges_a_broadcast_for_all():
    network = {"transport": "reliable", "medium": "shared"}
    with pytest.raises(ScenarioError, match=r'^network\.medium = "shared": a reliable transport repeats messages'):
        Scenario.of({"algorithm": {"name": "admm"}, "network": network})


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"network.link.mtu": 52}, "network.link.mtu"),
        ({"network.override": [{"agent": 1, "mtu": 52}]}, "network.override.mtu"),
    ],
)
def test_packets_must_hold_more_than_the_headers(changes, where):
    with pytest.raises(
        ScenarioError, match=rf"^{where} = 52: a reliable transport adds 24 bytes to the overhead of 28"
    ):
        lawful(**changes, **{"network.transport": "reliable"})
    lawful(**changes)
    lawful(**{"network.link.mtu": 53, "network.transport": "reliable", "rounds": 1})


@pytest.mark.parametrize(
    ("transport", "patience", "cautions"),
    [
        ("reliable", 1.0, True),
        ("reliable", 5.0, False),
        ({"kind": "reliable", "timeout": 0.2}, 1.0, False),
        ({"kind": "reliable", "min_timeout": 3.0}, 2.0, True),
        ("datagram", 1.0, False),
    ],
)
def test_impatient_agents_do_not_wait_for_a_repetition(transport, patience, cautions):
    found = world(**{"network.transport": transport}).network.transport.caution(patience)
    assert (found is not None) == cautions
    assert found is None or f"the patience of {patience:g} s ends before a lost message" in found
