"""What links do to messages in a whole run: shared lines, shared media, copies, damage, inboxes, presets."""

from __future__ import annotations

import pytest

from simnet import run
from simnet.errors import ScenarioError
from simnet.network.frame import HEADER_BYTES
from simnet.network.model import PRESETS
from tests.worlds import TICKS, found, kinds, lawful, traffic, world

FRAME = HEADER_BYTES + 1 + 4 + 8 * 3  # three features as float64
PACKET = FRAME + 28  # IP and UDP
TRANSPORT = 24  # what a reliable transport adds to every packet


def test_a_shared_medium_carries_one_transmission_for_all_neighbours():
    unicast, shared = lawful(), lawful(**{"network.medium": "shared"})
    assert traffic(unicast)["wire_bytes"] == 6 * 12 * 3 * PACKET
    assert traffic(shared)["wire_bytes"] == 6 * 12 * PACKET
    assert traffic(shared)["payload_bytes"] * 3 == traffic(unicast)["payload_bytes"]
    assert traffic(shared)["messages"] == traffic(unicast)["messages"], "each neighbour has a fate of its own"
    assert shared.summary["accuracy"] == unicast.summary["accuracy"]


def test_on_a_shared_medium_every_neighbour_has_its_own_luck():
    result = lawful(**{"network.medium": "shared", "network.link.loss": 0.3})
    fates = {}
    for kind in ("message.delivered", "message.lost"):
        for _, e in found(result, kind):
            sender = e.peer if kind == "message.delivered" else e.agent
            fates.setdefault((sender, e.round), set()).add(kind)
    assert any(len(kinds) == 2 for kinds in fates.values())


@pytest.mark.parametrize(
    ("changes", "together"), [({}, 1), ({"network.uplink": "shared"}, 3), ({"network.medium": "shared"}, 1)]
)
def test_airtime_is_that_of_one_message_or_of_one_after_another(changes, together):
    result = lawful(**{"network.link.bandwidth": PACKET * 8 / 0.01, "compute.time": 0.0} | changes)
    assert result.summary["time"]["simulated"] == pytest.approx(12 * 0.01 * together)


@pytest.mark.parametrize("medium", ["unicast", "shared"])
def test_what_the_senders_own_queue_refuses_never_was_on_the_wire(medium):
    """Two kbit/s and no queue: a round every 0.1 s is more than the line takes."""
    line = {"network.link": {"bandwidth": 2000.0, "queue": 0}, "network.pacing": TICKS, "network.medium": medium}
    result = lawful(**line, cost={"energy": {"per_byte": 1.0}})
    sent = [e for _, e in found(result, "message.sent") if e.offered_bytes]
    refused = {e.message for _, e in found(result, "message.overflowed")}
    assert {e.message for e in sent if e.wire_bytes == 0} == {e.message for e in sent} & refused != set()
    assert {e.offered_bytes for e in sent} == {PACKET}
    assert traffic(result)["offered_bytes"] == len(sent) * PACKET
    admitted = sum(e.message not in refused for e in sent)
    assert traffic(result)["wire_bytes"] == result.summary["cost"]["energy"] == admitted * PACKET
    assert result.agents["wire_bytes"].sum() == result.rounds["wire_bytes"][-1] == admitted * PACKET


def test_what_is_repeated_into_a_full_queue_is_offered_and_does_not_leave():
    line = {"bandwidth": 2000.0, "queue": 0}
    result = lawful(rounds=120, **{"network.link": line, "network.transport": "reliable", "network.pacing": TICKS})
    again = [e for _, e in found(result, "message.retransmitted")]
    assert {e.wire_bytes for e in again} == {0, PACKET + TRANSPORT}
    assert {e.offered_bytes for e in again} == {PACKET + TRANSPORT}


def test_of_a_message_longer_than_the_room_in_the_queue_some_packets_leave():
    """Three packets per value: the first leaves at once, two may wait, and at the second tick the line is busy."""
    link = {"mtu": 28 + 20, "bandwidth": 2000.0, "queue": 2}
    result = lawful(**{"network.link": link, "network.pacing": TICKS})
    sizes = {e.wire_bytes for _, e in found(result, "message.sent")}
    assert {0, 48, FRAME + 3 * 28} <= sizes
    assert traffic(result)["delivered"] > 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"network.link": {"mtu": 48, "bandwidth": 2000.0, "queue": 1}}, "network.link.queue"),
        ({"network.link.mtu": 48, "network.line.up": {"bandwidth": 2000.0, "queue": 1}}, "network.line.up.queue"),
        ({"network.link.mtu": 48, "network.line.down": {"bandwidth": 2000.0, "queue": 1}}, "network.line.down.queue"),
        (
            {"network.link.mtu": 48, "network.override": [{"link": [0, 1], "bandwidth": 2000.0, "queue": 0}]},
            "network.override.queue",
        ),
    ],
)
def test_a_value_that_no_queue_could_ever_hold_is_refused(changes, field):
    ring = {"topology": {"kind": "ring", "agents": 4}}
    with pytest.raises(
        ScenarioError, match=rf"^{field}: a value makes 3 packets of 134 bytes in all, and even an idle"
    ):
        lawful(**ring, **changes)
    roomier = world(**ring, **changes).with_(**{"network.link.mtu": 48 + TRANSPORT, "network.transport": "reliable"})
    sent = traffic(run(roomier))
    assert sent["delivered"] == sent["messages"] > 0


def test_one_line_out_of_links_that_differ_is_refused():
    """The uplink took the line of the first neighbour, and a slow link was as fast as the fast one beside it."""
    slow = {"network.override": [{"link": [0, 1], "bandwidth": 5470.0}], "topology": {"kind": "ring", "agents": 4}}
    said = r"^network.uplink: the links of agent 0 leave over one line but differ in bandwidth; .*\[network.line\] up"
    for shared in ({"network.uplink": "shared"}, {"network.medium": "shared"}, {"network.link.preset": "4g"}):
        with pytest.raises(ScenarioError, match=said):
            lawful(**slow, **shared)


def test_an_agent_with_an_access_line_has_it_for_all_its_links():
    """0 sends to 1 and to 3 over a line up that takes 10 ms for each; the link to 3 takes 50 ms more."""
    result = lawful(
        **{
            "topology": {"kind": "ring", "agents": 4},
            "network.line.up": {"bandwidth": PACKET * 8 / 0.01},
            "network.uplink": "shared",
            "network.override": [{"link": [0, 3], "bandwidth": PACKET * 8 / 0.05}],
            "compute.time": 0.0,
            "rounds": 1,
        }
    )
    arrivals = {(e.peer, e.agent): t for t, e in found(result, "message.delivered")}
    assert arrivals[0, 1] == pytest.approx(0.01)
    assert arrivals[0, 3] == pytest.approx(0.02 + 0.05)


def test_what_arrives_takes_turns_on_the_receivers_line():
    down = {"bandwidth": PACKET * 8 / 0.01}
    result = lawful(**{"network.line.down": down, "compute.time": 0.0, "rounds": 1})
    assert sorted(t for t, e in found(result, "message.delivered") if e.agent == 0) == pytest.approx([0.01, 0.02, 0.03])
    full = lawful(**{"network.line.down": down | {"queue": 1}, "compute.time": 0.0})
    assert traffic(full)["overflowed"] == 6 * 12, "of three at once one is on the line, one waits, one is dropped"
    assert traffic(full)["wire_bytes"] == traffic(full)["offered_bytes"], "all of it left its sender"


def test_packets_of_a_long_message_do_not_wait_for_its_last_one():
    """Three packets over three lines of one speed: the last, which is short, waits for the second at every line."""
    result = lawful(
        **{
            "topology": {"kind": "ring", "agents": 4},
            "network.link": {"mtu": 48, "bandwidth": 48 * 8 / 0.01},
            "network.line": {way: {"bandwidth": 48 * 8 / 0.01} for way in ("up", "down")},
            "rounds": 1,
            "compute.time": 0.0,
        }
    )
    last = (FRAME - 40 + 28) / 48
    first = min(t for t, _ in found(result, "message.delivered"))
    assert first == pytest.approx(0.01 * (4 + last))


def test_who_has_one_way_into_the_network_shares_it_among_its_links():
    for preset in PRESETS.keys() - {"lora"}:  # which is for a channel, and has no lines
        network = world(**{"network.link.preset": preset}).network
        assert network.one_line_out == (preset not in ("lan", "wan"))
    assert not world(**{"network.link.preset": "4g", "network.uplink": "independent"}).network.one_line_out
    assert world(**{"network.line.up.bandwidth": "1 Mbit/s"}).network.one_line_out


def test_a_damaged_frame_is_refused_and_counted():
    result = lawful(rounds=40, **{"network.link.corruption": 0.25})
    reasons = [e.reason for _, e in found(result, "message.lost")]
    assert set(reasons) == {"corrupted"}
    assert traffic(result)["corrupted"] == traffic(result)["lost"] == len(reasons)
    assert len(reasons) / traffic(result)["messages"] == pytest.approx(0.25, rel=0.2)


def test_a_copy_arrives_once_more_and_changes_nothing():
    plain, copied = lawful(), lawful(**{"network.link.duplication": 0.5, "network.link.latency": 0.0})
    assert traffic(copied)["duplicates"] == pytest.approx(0.5 * traffic(copied)["messages"], rel=0.2)
    assert traffic(copied)["delivered"] == traffic(copied)["messages"]
    assert copied.summary["accuracy"] == plain.summary["accuracy"]


def test_packets_and_their_overhead_are_bytes_on_the_wire():
    result = lawful(**{"network.link.mtu": 40, "network.link.overhead": 10})
    packets = -(-FRAME // 30)
    assert traffic(result)["wire_bytes"] == 6 * 12 * 3 * (FRAME + 10 * packets)


def test_an_inbox_takes_time_and_overflows():
    slow = lawful(**{"network.inbox": {"service": 0.01}})
    assert slow.summary["time"]["simulated"] == pytest.approx(12 * (0.02 + 3 * 0.01))
    full = lawful(**{"network.inbox": {"service": 0.01, "capacity": 1}})
    assert traffic(full)["overflowed"] == 6 * 12 * 1, "of three at once one is taken in, one waits, one is dropped"


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_preset_runs(preset):
    result = lawful(**{"network.link.preset": preset, "network.pacing": TICKS | {"period": 5.0}})
    assert traffic(result)["delivered"] > 0.7 * traffic(result)["messages"]


def test_a_preset_gives_way_to_what_is_written_and_to_another_preset():
    chosen = world(**{"network.link": {"preset": "lorawan", "loss": 0.5}})
    assert chosen.network.link.mtu == 255
    assert chosen.network.link.loss.p == 0.5
    other = chosen.with_(**{"network.link.preset": "lan"})
    assert other.network.link.mtu == 1500
    assert other.network.link.loss.p == 0.5
    again = type(chosen).loads(chosen.to_toml())
    assert again.resolved() == chosen.resolved()


def test_features_that_are_off_draw_nothing():
    """The k-th message of a link draws the same numbers whatever else the link has."""
    bare = lawful(**{"network.link.loss": 0.3})
    rich = lawful(
        **{
            "network.link": {"loss": 0.3, "duplication": 0.5, "latency": {"kind": "gamma", "mean": 0.001}},
            "network.codec": "int8",
            "fault": [{"kind": "straggler", "agent": 0, "every": 0.1, "duration": 0.1}],
        }
    )
    lost = [sorted((e.agent, e.peer, e.round) for _, e in found(each, "message.lost")) for each in (bare, rich)]
    assert lost[0] == lost[1]


def test_latency_in_proportion_to_distance():
    result = lawful(
        **{
            "topology": {"kind": "geometric", "agents": 6, "radius": 0.9},
            "network.link.latency": {"kind": "distance", "per_unit": 0.1},
        }
    )
    sent = {e.message: t for t, e in found(result, "message.sent")}
    delays = {}
    for t, e in found(result, "message.delivered"):
        delays.setdefault(frozenset((e.agent, e.peer)), set()).add(round(t - sent[e.message], 6))
    assert all(len(each) == 1 for each in delays.values())
    assert len(set.union(*delays.values())) == len(delays)
    assert max(set.union(*delays.values())) <= 0.1 * 0.9


def test_overrides_reach_regions_and_what_is_between_them():
    ring = {"topology": {"kind": "ring", "agents": 6}}
    for place, count in (({"region": [0, 1, 2]}, 4), ({"region": [0, 1, 2], "across": [3, 4, 5]}, 4)):
        result = lawful(**ring, **{"network.override": [place | {"loss": 1.0}]})
        lost = {(e.agent, e.peer) for _, e in found(result, "message.lost")}
        assert len(lost) == count
        inside = {(a < 3) == (b < 3) for a, b in lost}
        assert inside == {"across" not in place}


def test_costs_follow_prices():
    prices = {"per_byte": 2.0, "per_message": 3.0, "per_second": 5.0}
    result = lawful(cost={"energy": prices})
    met = traffic(result)
    expected = 2 * met["wire_bytes"] + 3 * met["messages"] + 5 * 6 * 12 * 0.02
    assert result.summary["cost"] == {"energy": pytest.approx(expected)}
    assert "cost" not in lawful().summary


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"network.medium": "shared", "network.transport": "reliable"}, "network.medium"),
        (
            {"network.medium": "shared", "algorithm.duals": "edge"},
            "edge duals send every neighbour a message of its own",
        ),
        ({"network.link.latency": {"kind": "distance", "per_unit": 1}}, "needs a topology with positions"),
        ({"network.override": [{"region": [0, 9], "loss": 1.0}]}, "there is no such agent"),
        ({"fault": [{"kind": "crash", "agent": 7, "at": 0}]}, "fault.0.agent = 7: there is no such agent"),
        ({"fault": [{"kind": "crash", "agent": 1}]}, "fault.0.at: give either `at` or `every`"),
    ],
)
def test_what_cannot_be_is_refused_in_words(changes, said):
    with pytest.raises(ScenarioError, match=said.replace(".", r"\.")):
        lawful(**changes)


def test_a_corrupted_and_a_lost_message_are_told_apart():
    result = lawful(rounds=30, **{"network.link": {"corruption": 0.2, "loss": 0.2}})
    reasons = {e.reason for _, e in found(result, "message.lost")}
    assert reasons == {None, "corrupted"}
    assert kinds(result)["message.lost"] == traffic(result)["lost"] > traffic(result)["corrupted"] > 0
