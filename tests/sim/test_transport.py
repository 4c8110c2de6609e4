"""What a scenario says of its transport, what a reliable one repairs, and what it costs."""

from __future__ import annotations

from collections import Counter

import pytest

from simnet.errors import ScenarioError
from simnet.network.frame import HEADER_BYTES
from simnet.scenario import Scenario
from simnet.sim.transport import TRANSPORTS
from tests.worlds import TICKS, found, kinds, lawful, traffic


def test_only_a_reliable_transport_repeats():
    assert {word: part.repeats for word, part in TRANSPORTS.items()} == {"datagram": False, "reliable": True}
    assert TRANSPORTS["datagram"](kind="datagram").made(None) is None


def test_nobody_acknowledges_a_broadcast_for_all():
    network = {"transport": "reliable", "medium": "shared"}
    with pytest.raises(ScenarioError, match=r'^network\.medium = "shared": a reliable transport repeats messages'):
        Scenario.of({"algorithm": {"name": "admm"}, "network": network})


PATIENT = {"kind": "reliable", "timeout": 0.05, "backoff": 1.0, "attempts": 1000}


def one_way_loss(p: float) -> dict:
    """A pair whose messages 0→1 are lost with this probability, and whose acknowledgements arrive."""
    return {
        "topology": {"kind": "complete", "agents": 2},
        "network.link.latency": 0.01,
        "network.override": [{"from": 0, "to": 1, "loss": p}],
        "network.transport": PATIENT,
    }


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_a_message_needs_one_over_one_minus_p_transmissions_on_average(p):
    # Only 0 → 1 loses: acknowledgements of 1's messages go that way too, and their repetitions are 1's.
    result = lawful(rounds=600, **one_way_loss(p))
    repeated = Counter(event.agent for _, event in found(result, "message.retransmitted"))
    assert repeated[0] / 600 + 1 == pytest.approx(1 / (1 - p), rel=0.1)
    assert traffic(result)["lost"] == traffic(result)["messages"] - traffic(result)["delivered"]
    assert result.summary["staleness"]["max"] == 0


def test_every_value_arrives_in_spite_of_loss_and_costs_bytes_and_time():
    plain = lawful(**{"network.link.latency": 0.01})
    result = lawful(**{"network.link.latency": 0.01, "network.link.loss": 0.3, "network.transport": "reliable"})
    values = {e.message for _, e in found(result, "message.sent") if e.carries == "value"}
    delivered = {e.message for _, e in found(result, "message.delivered")}
    assert len(values) == 6 * 3 * 12
    assert values <= delivered
    sent, again = found(result, "message.sent"), found(result, "message.retransmitted")
    assert traffic(result)["retransmissions"] == len(again) > 0
    assert traffic(result)["wire_bytes"] == sum(e.wire_bytes for _, e in sent) + sum(e.wire_bytes for _, e in again)
    assert {e.wire_bytes for _, e in sent if e.carries == "ack"} == {HEADER_BYTES + 28}
    assert result.summary["time"]["simulated"] > plain.summary["time"]["simulated"]
    assert result.summary["accuracy"] == plain.summary["accuracy"], "nothing that matters was lost"


def test_pauses_grow_and_then_the_sender_gives_up():
    rule = {"kind": "reliable", "timeout": 0.1, "backoff": 2.0, "attempts": 4}
    result = lawful(
        rounds=1, **{"topology": {"kind": "complete", "agents": 2}, "network.link.loss": 1.0, "network.transport": rule}
    )
    begin = found(result, "message.sent")[0][0]
    times = [t - begin for t, e in found(result, "message.retransmitted") if e.agent == 0]
    assert times == pytest.approx([0.1, 0.3, 0.7])
    lost = found(result, "message.lost")
    assert [e.reason for _, e in lost] == ["given-up"] * 2
    assert lost[0][0] - begin == pytest.approx(1.5)


def test_a_lost_acknowledgement_makes_a_copy_that_is_ignored():
    changes = one_way_loss(0.0) | {"network.override": [{"from": 1, "to": 0, "loss": {"kind": "bernoulli", "p": 0.5}}]}
    result = lawful(rounds=50, **changes)
    copies = found(result, "message.duplicated")
    assert copies
    delivered = {e.message for _, e in found(result, "message.delivered")}
    assert {e.message for _, e in copies} <= delivered
    assert traffic(result)["duplicates"] == len(copies)


def test_a_full_queue_and_a_damaged_frame_are_only_reasons_to_try_again():
    result = lawful(
        **{
            "network.transport": {"kind": "reliable", "timeout": 0.02, "attempts": 50, "backoff": 1.2},
            "network.uplink": "shared",
            "network.link": {"bandwidth": "100 kbit/s", "queue": 1, "corruption": 0.2},
        }
    )
    assert result.summary["staleness"]["max"] == 0
    assert kinds(result)["message.retransmitted"] > 0


def test_what_arrives_after_the_sender_gave_up_does_not_count():
    rule = {"kind": "reliable", "timeout": 0.01, "backoff": 1.0, "attempts": 1}
    result = lawful(**{"network.transport": rule, "network.link.latency": 0.05, "network.pacing": TICKS})
    assert traffic(result)["delivered"] == 0
    assert {e.reason for _, e in found(result, "message.lost")} == {"given-up"}
