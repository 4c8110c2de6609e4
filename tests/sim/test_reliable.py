"""A reliable transport in whole runs: what it repairs, what it costs, and what a crash does to it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simnet import run
from simnet.agent.pacing import ALIGNED
from simnet.network.frame import HEADER_BYTES
from simnet.record.events import ReleaseMade
from simnet.record.verify import replay, verify
from tests.sim.stream_pair import LINE, PACKET, StreamPair
from tests.worlds import TICKS, found, kinds, lawful, told, traffic, world

SEGMENT = HEADER_BYTES + 1 + 4 + 8 * 3 + 24 + 28
"""Three features as float64, the transport's header, IP and UDP."""
PATIENT = {"kind": "barrier", "patience": 1e9}
QUICK = {"kind": "reliable", "timeout": 0.05, "backoff": 1.0, "attempts": 1000}


def counted_bytes(result) -> int:
    events = [e for kind in ("message.sent", "message.retransmitted", "packets.sent") for _, e in found(result, kind)]
    return sum(e.wire_bytes - getattr(e, "unsent_bytes", 0) for e in events)


def test_a_small_message_is_one_packet_and_an_acknowledgement():
    result = lawful(**{"network.link.latency": 0.01, "network.transport": "reliable"})
    assert {(e.wire_bytes, e.offered_bytes) for _, e in found(result, "message.sent")} == {(SEGMENT, SEGMENT)}
    acknowledgements = [e for _, e in found(result, "packets.sent")]
    assert {e.segments for e in acknowledgements} == {0}
    assert {e.wire_bytes / e.acknowledgements for e in acknowledgements} == {24 + 28}
    sent = traffic(result)
    assert sent["messages"] == sent["delivered"] == 6 * 3 * 12
    assert sent["wire_bytes"] == counted_bytes(result)
    assert sent["transmissions"] == sent["messages"] + sum(e.acknowledgements for e in acknowledgements)
    assert sent["retransmissions"] == 0
    assert kinds(result)["packets.sent"] <= 12 * 18, "one per direction and round at most"
    assert result.agents["wire_bytes"].sum() == result.rounds["wire_bytes"][-1] == sent["wire_bytes"]


def test_of_a_long_message_the_first_packet_is_told_at_once_and_the_others_together():
    result = lawful(**{"network.link": {"latency": 0.01, "mtu": 72}, "network.transport": "reliable", "rounds": 1})
    assert {e.wire_bytes for _, e in found(result, "message.sent")} == {72}
    packets = [e for _, e in found(result, "packets.sent")]
    assert sum(e.segments for e in packets) == 18 * 2
    assert traffic(result)["payload_bytes"] == 18 * 29


@pytest.mark.parametrize("preset", ["satellite", "lorawan", "4g", "wan", "lan"])
def test_without_loss_nothing_is_sent_twice(preset):
    link = {"preset": preset, "loss": 0.0}
    ring = {"topology": {"kind": "ring", "agents": 6}}
    result = lawful(**ring, **{"network.link": link, "network.transport": "reliable", "network.pacing": PATIENT})
    assert traffic(result)["retransmissions"] == traffic(result)["duplicates"] == 0
    assert traffic(result)["delivered"] == traffic(result)["messages"]


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_a_message_of_one_packet_needs_one_over_one_minus_p_transmissions_on_average(p):
    # Only 0 → 1 loses: acknowledgements of 1's messages go that way too, and their repetitions are 1's.
    lossy = {"network.override": [{"from": 0, "to": 1, "loss": p}], "topology": {"kind": "complete", "agents": 2}}
    result = lawful(rounds=600, **lossy, **{"network.link.latency": 0.01, "network.transport": QUICK})
    repeated = Counter(event.agent for _, event in found(result, "message.retransmitted"))
    assert repeated[0] / 600 + 1 == pytest.approx(1 / (1 - p), rel=0.1)
    assert result.summary["staleness"]["max"] == 0


@pytest.mark.parametrize("duals", ["node", "healing", "edge"])
def test_patient_agents_learn_what_they_would_learn_without_loss(duals):
    alike = {"algorithm.duals": duals, "rounds": 8}
    ideal = lawful(**alike)
    link = {"latency": {"kind": "uniform", "low": 0.0, "high": 0.05}, "loss": 0.2, "duplication": 0.1, "mtu": 80}
    result = lawful(**alike, **{"network.link": link, "network.transport": "reliable", "network.pacing": PATIENT})
    assert told(result, ReleaseMade) == told(ideal, ReleaseMade)
    assert result.summary["accuracy"] == ideal.summary["accuracy"]
    assert traffic(result)["retransmissions"] > 0
    assert traffic(result)["wire_bytes"] == counted_bytes(result)


def test_a_lost_acknowledgement_makes_a_copy_that_is_ignored():
    lossy = {"network.override": [{"from": 1, "to": 0, "loss": 0.5}], "topology": {"kind": "complete", "agents": 2}}
    result = lawful(rounds=50, **lossy, **{"network.link.latency": 0.01, "network.transport": QUICK})
    copies = found(result, "message.duplicated")
    assert {e.message for _, e in copies} <= {e.message for _, e in found(result, "message.delivered")}
    assert traffic(result)["duplicates"] == len(copies) > 0


def test_a_full_queue_and_a_damaged_packet_are_only_reasons_to_try_again():
    result = lawful(
        **{
            "network.transport": {"kind": "reliable", "timeout": 0.05, "attempts": 50, "backoff": 1.2},
            "network.uplink": "shared",
            "network.link": {"bandwidth": "100 kbit/s", "queue": 1, "corruption": 0.2},
        }
    )
    assert result.summary["staleness"]["max"] == 0
    assert traffic(result)["retransmissions"] > 0
    assert traffic(result)["wire_bytes"] < traffic(result)["offered_bytes"]


def test_what_an_inbox_has_no_room_for_waits_in_the_transport():
    inbox = {"service": 0.05, "capacity": 1}
    result = lawful(**{"network.inbox": inbox, "network.transport": "reliable", "compute.time": 0.0})
    assert traffic(result)["delivered"] == traffic(result)["messages"]
    times = Counter(round(t, 6) for t, e in found(result, "message.delivered") if e.agent == 0)
    assert max(times.values()) == 1


def test_what_arrives_after_the_sender_gave_up_does_not_count():
    rule = {"kind": "reliable", "timeout": 0.01, "backoff": 1.0, "attempts": 1}
    result = lawful(**{"network.transport": rule, "network.link.latency": 0.05, "network.pacing": TICKS})
    assert traffic(result)["delivered"] == 0
    assert {e.reason for _, e in found(result, "message.lost")} == {"given-up"}


def test_a_stream_waits_for_its_receiver():
    pair = StreamPair()
    pair.ports[1].down = 1
    pair.engine.at(2.0, lambda: setattr(pair.ports[1], "down", 0))
    pair.send(5000)
    [heard] = pair.run()
    assert 2.0 < heard < 2.0 + 4.0
    assert len(pair.told("message.delivered")) == 1


def test_a_sender_that_comes_back_goes_on_where_it_was():
    pair = StreamPair()
    pair.engine.fragile = True
    pair.send(5000)

    def crash() -> None:
        pair.ports[0].down = 1
        pair.engine.silence(0)

    pair.engine.at(1.5 * PACKET, crash)
    pair.engine.at(3.0, lambda: setattr(pair.ports[0], "down", 0))
    [heard] = pair.run()
    assert 3.0 < heard < 5.0
    # One packet and a half had left: what the others weigh was counted, and is taken back.
    told = pair.told("packets.sent")
    assert sum(event.unsent_bytes for _, event in told) == 3 * 1052 + 1052 // 2
    left = sum(e.wire_bytes for kind in ("message.sent", "message.retransmitted") for _, e in pair.told(kind))
    left += sum(e.wire_bytes - e.unsent_bytes for _, e in told if e.agent == 0)
    assert left == sum(size for _, sender, size in pair.packets if sender == 0) - 3 * 1052 - 1052 // 2


def test_a_sender_that_has_lost_its_memory_has_lost_its_messages():
    pair = StreamPair(drops=lambda k: k in (0, 1))
    pair.send(900)
    pair.send(900)
    pair.engine.at(0.5, lambda: pair.engine.silence(0, lost=True))
    pair.send(900, at=0.6)
    pair.run()
    assert [message for _, message in pair.heard] == [3]
    assert [(e.message, e.reason) for _, e in pair.told("message.lost")] == [(1, "sender-down"), (2, "sender-down")]
    assert pair.engine.in_flight == 0


def test_a_receiver_that_has_lost_its_memory_gets_everything_again():
    pair = StreamPair(drops=lambda k: k == 0)
    pair.send(900)
    pair.send(900)
    pair.engine.at(0.5, lambda: pair.engine.silence(1, lost=True))
    pair.run()
    assert [message for _, message in pair.heard] == [1, 2]
    assert len(pair.told("message.retransmitted")) == 2


def test_a_link_that_breaks_loses_the_packets_on_it_and_no_message():
    cut = {"kind": "link-down", "link": [0, 1], "at": 0.1, "duration": 0.5}
    ring = {"topology": {"kind": "ring", "agents": 4}}
    result = lawful(
        **ring,
        fault=[cut],
        **{"network.link.latency": 0.03, "network.transport": "reliable", "network.pacing": PATIENT},
    )
    assert traffic(result)["delivered"] == traffic(result)["messages"]
    assert {(min(e.agent, e.peer), max(e.agent, e.peer)) for _, e in found(result, "message.retransmitted")} == {(0, 1)}


def test_nobody_waits_for_what_a_dead_agent_had_not_sent():
    """The stream of an agent that was gone for good waited for its restart, and a meeting for the stream."""
    crash = {"kind": "crash", "agent": 3, "at": 0.021}
    link = {"bandwidth": 1e5, "latency": 0.01}
    result = lawful(fault=[crash], **{"network.link": link, "network.transport": {"kind": "reliable", "attempts": 3}})
    assert result.agents["rounds"].to_list() == [12, 12, 12, 0, 12, 12]
    assert {e.reason for _, e in found(result, "message.lost") if e.agent == 3} == {"sender-down"}


@pytest.mark.parametrize("state", ["kept", "lost"])
def test_crashes_break_no_law_and_no_count(state):
    churn = {"kind": "churn", "up": 0.5, "down": 0.2, "state": state}
    link = LINE | {"bandwidth": 2e5, "loss": 0.05, "mtu": 80}
    result = lawful(fault=[churn], **{"network.link": link, "network.transport": "reliable", "network.pacing": TICKS})
    assert traffic(result)["wire_bytes"] == counted_bytes(result)
    assert sum(e.unsent_bytes for _, e in found(result, "packets.sent")) > 0
    reasons = {e.reason for _, e in found(result, "message.lost")}
    assert reasons <= ({"sender-down"} if state == "lost" else set())


def test_a_run_that_ends_by_time_tells_what_was_sent_until_then(tmp_path: Path):
    scenario = world(
        until=0.35, **{"network.link": {"latency": 0.03, "loss": 0.2, "mtu": 80}, "network.transport": "reliable"}
    )
    result = run(scenario, tmp_path)
    assert traffic(result)["in_flight"] > 0
    assert traffic(result)["wire_bytes"] == counted_bytes(result)
    assert result.rounds["wire_bytes"][-1] == traffic(result)["wire_bytes"]
    assert verify(result.folder, ALIGNED).findings == ()
    assert replay(result.folder).findings == ()
