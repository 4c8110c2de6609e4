"""Whole runs over a shared channel: fates, laws, airtime and joules, determinism, and what is refused."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.build import build
from simnet.cli.explain import explain
from simnet.cli.terminal import compare_table
from simnet.errors import ScenarioError
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.laws import Laws
from simnet.record.metrics import Metrics
from simnet.sim.radio import CHANNELS
from simnet.simulate import assemble, compare
from tests.worlds import TICKS, world

KINDS = {
    "csma": {"kind": "csma"},
    "tdma": {"kind": "tdma", "rate": "1 Mbit/s", "slot": "1 ms"},
    "aloha": {"kind": "aloha", "rate": "100 kbit/s"},
    "slotted-aloha": {"kind": "slotted-aloha", "rate": "100 kbit/s", "slot": "10 ms"},
    "lora": {"kind": "lora", "duty_cycle": 0.1},
}
RATES = {"tdma": 1e6, "aloha": 1e5, "slotted-aloha": 1e5}
WATTS = {"send_watts": 1.0, "receive_watts": 0.5, "idle_watts": 0.1, "compute_watts": 2.0}
SPREAD = {"time": {"kind": "uniform", "low": 0.0, "high": 0.05}}


def radio(kind: str, medium: str = "shared", **changes: object) -> Scenario:
    """Six agents on a channel; their work takes them different times."""
    network = {"channel": KINDS[kind], "medium": medium, "link": {"loss": 0.05, "latency": 1e-6}}
    return world(network=network, compute=SPREAD, cost={"energy": WATTS}, **changes)


@pytest.mark.parametrize("medium", ["unicast", "shared"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_over_a_channel_obeys_the_laws_and_repeats_itself(kind, medium):
    result = run(radio(kind, medium))
    laws, again = Laws(ALIGNED), Metrics()
    for each in result.events:
        laws(*each)
        again(*each)
    assert laws.finish() == []
    replayed = again.summary(result.digest, result.summary["time"]["wall"])
    assert replayed | {"yardsticks": result.summary["yardsticks"]} == result.summary
    assert run(radio(kind, medium)).digest == result.digest
    found = result.summary["communication"]
    assert found["in_flight"] == 0
    assert found["delivered"] + found["lost"] == found["messages"] == 12 * 18


def test_tdma_loses_nothing_to_collisions_and_aloha_does():
    reasons = {}
    for kind in ("tdma", "aloha"):
        lost = [each for _, _, each in run(radio(kind)).events if isinstance(each, events.MessageLost)]
        reasons[kind] = Counter(each.reason for each in lost)
    assert reasons["tdma"]["collision"] == 0
    assert reasons["aloha"]["collision"] > 0


def test_csma_repeats_a_unicast_frame_until_it_is_acknowledged():
    found = run(radio("csma", "unicast")).summary["communication"]
    assert found["retransmissions"] > 0
    assert found["delivered"] == found["messages"]


def test_airtime_is_that_of_the_frames_and_joules_are_its_price():
    result = run(world(network={"channel": KINDS["tdma"], "medium": "shared"}, cost={"energy": WATTS}))
    air, joules = result.summary["airtime"], result.summary["joules"]
    assert air["sent"] == pytest.approx(8 * result.summary["communication"]["wire_bytes"] / 1e6)
    assert air["heard"] == pytest.approx(5 * air["sent"])
    assert air["busy"] == pytest.approx(air["sent"])
    assert result.agents["airtime"].sum() == pytest.approx(air["sent"])
    assert joules["send"] == pytest.approx(air["sent"])
    assert joules["receive"] == pytest.approx(0.5 * air["heard"])
    idle = 6 * result.summary["time"]["simulated"] - air["sent"] - air["heard"]
    assert joules["idle"] == pytest.approx(0.1 * idle)
    assert result.summary["cost"]["energy"] == pytest.approx(sum(joules.values()))


def test_rounds_tell_airtime_and_joules_as_they_grow_and_only_where_there_are_any():
    powered = {"cost": {"energy": WATTS}}
    result = run(world(network={"channel": KINDS["tdma"], "medium": "shared"}, **powered))
    aired, joules = (result.rounds[name].to_list() for name in ("airtime_sent", "joules"))
    assert aired == sorted(aired)
    assert aired[-1] == result.summary["airtime"]["sent"] > aired[0]
    assert joules == sorted(joules)
    assert joules[-1] == pytest.approx(sum(result.summary["joules"].values()))
    plain, idle = (set(run(world(**changes)).rounds.columns) for changes in ({}, powered))
    assert not {"airtime_sent", "joules"} & plain
    assert idle - plain == {"joules"}


def test_a_table_of_methods_tells_airtime_and_joules_where_there_are_any():
    def headings(**changes: object) -> list[str]:
        table = compare_table(compare(world(rounds=2, **changes), ["admm"]))
        assert len({len(list(column.cells)) for column in table.columns}) == 1
        return [str(column.header) for column in table.columns]

    plain = headings()
    assert headings(network={"channel": KINDS["tdma"]}) == [*plain, "air s"]
    assert headings(network={"channel": KINDS["tdma"]}, cost={"energy": WATTS}) == [*plain, "air s", "J"]


def test_a_station_that_crashes_stops_sending_what_it_has_queued():
    slow = {"kind": "aloha", "rate": "1 kbit/s"}
    crash = {"kind": "crash", "agent": 0, "at": 0.3, "duration": 5.0}
    scenario = world(network={"channel": slow, "medium": "unicast", "pacing": TICKS}, fault=[crash])
    ends = [t for _, t, each in run(scenario).events if isinstance(each, events.AirUsed) and each.agent == 0]
    airtime = 8 * 50 / 1e3
    assert [t for t in ends if 0.3 + airtime < t < 5.3] == []


@pytest.mark.parametrize("medium", ["unicast", "shared"])
@pytest.mark.parametrize("slot", ["50 ms", "400 ms"])
def test_what_a_crash_takes_from_a_station_was_never_on_the_wire(slot, medium):
    slow = {"kind": "tdma", "rate": "8 kbit/s", "slot": slot}
    crash = {"kind": "crash", "agent": 5, "at": 0.4, "duration": 0.1}
    result = run(world(network={"channel": slow, "medium": medium}, fault=[crash]))
    lost = [each for _, _, each in result.events if isinstance(each, events.MessageLost)]
    assert {each.reason for each in lost} == {"sender-down"}
    assert result.summary["communication"]["in_flight"] == 0
    assert 8 * result.summary["communication"]["wire_bytes"] / 8e3 == pytest.approx(result.summary["airtime"]["sent"])


@pytest.mark.parametrize("medium", ["unicast", "shared"])
@pytest.mark.parametrize("kind", KINDS)
def test_agents_that_come_and_go_break_no_law_and_send_nothing_while_they_are_down(kind, medium):
    churn = {"kind": "churn", "up": 0.3, "down": 0.1}
    result = run(radio(kind, medium, fault=[churn], rounds=30))
    laws, down, tried = Laws(ALIGNED), {}, 0
    longest = max(each.airtime for _, _, each in result.events if isinstance(each, events.AirUsed))
    for seq, t, each in result.events:
        laws(seq, t, each)
        if isinstance(each, events.FaultBegan):
            down[each.agent] = t
        elif isinstance(each, events.FaultEnded):
            del down[each.agent]
        elif isinstance(each, events.AirUsed):
            tried += 1
            assert each.agent not in down or t <= down[each.agent] + longest + 1e-6
    assert laws.finish() == []
    assert tried
    if kind in RATES:
        met = {each.message for _, _, each in result.events if isinstance(each, tuple(events.FATES))}
        sent = [each for _, _, each in result.events if isinstance(each, events.MessageSent)]
        waiting = sum(each.wire_bytes for each in sent if each.message not in met)
        left = result.summary["communication"]["wire_bytes"] - waiting
        assert 8 * left / RATES[kind] == pytest.approx(result.summary["airtime"]["sent"])


def test_a_crash_that_ends_before_the_next_slot_empties_the_station_all_the_same():
    slow = {"kind": "tdma", "rate": "8 kbit/s", "slot": "1 s"}
    crash = {"kind": "crash", "agent": 5, "at": 4.6, "duration": 0.1}
    scenario = world(network={"channel": slow, "medium": "shared", "pacing": "ideal"}, fault=[crash])
    first = next((t, each) for _, t, each in run(scenario).events if isinstance(each, events.MessageLost))
    assert (first[0], first[1].reason, first[1].agent) == (4.6, "sender-down", 5)


def test_frames_after_one_that_was_given_up_are_not_on_the_wire():
    cell = {"kind": "csma", "mac_header": 2300}
    crash = {"kind": "crash", "agent": 0, "at": 0.0}
    network = {"channel": cell, "medium": "unicast", "link": {"overhead": 2240}}
    found = run(world(network=network, compute=SPREAD, fault=[crash]))
    gone = [each for _, _, each in found.events if isinstance(each, events.MessageUnreachable)]
    assert gone
    for each in gone:
        sent = next(e for _, _, e in found.events if isinstance(e, events.MessageSent) and e.message == each.message)
        again = [
            e for _, _, e in found.events if isinstance(e, events.MessageRetransmitted) and e.message == each.message
        ]
        assert sent.wire_bytes - each.unsent_bytes == again[0].wire_bytes
        assert len(again) == 6


def test_a_full_station_turns_messages_away_and_they_are_not_on_the_wire():
    slow = {"kind": "aloha", "rate": "1 kbit/s", "queue": 0}
    result = run(world(network={"channel": slow, "medium": "shared", "pacing": TICKS}))
    found = result.summary["communication"]
    assert found["overflowed"] > 0
    left = sum(each.wire_bytes for _, _, each in result.events if isinstance(each, events.MessageSent))
    assert found["wire_bytes"] == left < 72 * 50


def test_a_long_message_is_cut_into_frames_and_arrives_whole_or_not_at_all():
    short = {"kind": "tdma", "rate": "1 Mbit/s", "slot": "0.2 ms"}
    result = run(world(network={"channel": short, "medium": "shared", "link": {"overhead": 0}}))
    used = [each for _, _, each in result.events if isinstance(each, events.AirUsed)]
    assert len(used) == 2 * 12 * 6
    assert result.summary["communication"]["delivered"] == 12 * 18


def test_ideal_pacing_over_a_perfect_channel_finds_the_same_models_as_without_one():
    plain, aired = (run(world(network=network)) for network in ({}, {"channel": KINDS["tdma"], "medium": "shared"}))
    assert aired.summary["accuracy"] == plain.summary["accuracy"]


def test_explain_tells_the_time_on_air_that_a_run_will_need():
    scenario = radio("lora")
    longest = max(each.airtime for _, _, each in run(scenario).events if isinstance(each, events.AirUsed))
    assert explain(scenario)["traffic"]["time on air"] == f"{1e3 * longest:.4g} ms"


def test_an_agent_that_sends_two_things_at_once_breaks_a_law():
    laws, told = Laws(ALIGNED), False
    for seq, t, each in run(radio("tdma")).events:
        laws(seq, t, each)
        if isinstance(each, events.AirUsed) and not told:
            laws(seq, t, each)
            told = True
    assert "sends two things at once" in laws.finish()[0]


def test_the_engine_counts_what_the_channel_carries():
    engine = assemble(build(radio("csma")), Bus())
    engine.run()
    assert engine.in_flight == 0


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        ({"link": {"bandwidth": 1e6}}, "link.bandwidth"),
        ({"link": {"queue": 0}}, "link.queue = 0: .*channel.queue"),
        ({"link": {"mtu": 1500}}, "link.mtu"),
        ({"link": {"framing": 38}}, "link.framing"),
        ({"override": [{"link": [0, 1], "queue": 8}]}, "link.queue"),
        ({"link": {"preset": "4g"}}, "link.bandwidth"),
        ({"transport": "reliable", "medium": "unicast"}, "transport"),
        ({"uplink": "shared"}, "uplink"),
        ({"channel": {"kind": "csma", "cw_max": 3}}, "cw_max"),
        ({"channel": {"kind": "lora", "spreading_factor": 6}}, "spreading_factor"),
    ],
)
def test_what_does_not_go_with_a_channel_is_refused(network, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        world(network={"channel": KINDS["csma"], "medium": "shared"} | network)


def test_a_file_that_gives_its_links_a_bandwidth_is_refused(tmp_path):
    (tmp_path / "net.graphml").write_text(
        '<graphml><key id="b" for="edge" attr.name="bandwidth" attr.type="double"/><graph edgedefault="undirected">'
        '<node id="0"/><node id="1"/><edge source="0" target="1"><data key="b">1e6</data></edge></graph></graphml>'
    )
    network = {"channel": KINDS["csma"], "medium": "shared"}
    scenario = world(network=network, topology={"kind": "file", "file": str(tmp_path / "net.graphml")})
    with pytest.raises(ScenarioError, match=r"topology\.file: a shared channel has its own bit rate"):
        run(scenario)


def test_explain_tells_what_a_channel_leaves_out():
    users = radio("csma").with_(algorithm={"name": "pdml"})
    topic = "realism: what it leaves out"
    assert "capture" in explain(radio("csma"))[topic]
    assert "reports" not in explain(radio("csma"))[topic]
    assert "before the first round" in explain(users)[topic]["reports"]


def test_a_range_needs_positions_and_reaches_the_neighbours():
    near = {"channel": KINDS["csma"] | {"range": 0.05}, "medium": "shared"}
    with pytest.raises(ScenarioError, match="positions"):
        run(world(network=near))
    with pytest.raises(ScenarioError, match="neighbours"):
        run(world(network=near, topology={"kind": "geometric", "agents": 6, "radius": 0.7}))


def test_who_hears_whom_changes_what_collides():
    def share(reach: dict[str, float]) -> float:
        network = {"channel": KINDS["csma"] | reach, "medium": "shared", "codec": "float64"}
        spread = {"time": {"kind": "uniform", "low": 0.0, "high": 0.002}}
        ground = {"kind": "geometric", "agents": 12, "radius": 0.35}
        found = run(world(network=network, topology=ground, compute=spread, rounds=40)).summary["communication"]
        return found["delivered"] / found["messages"]

    assert 0 < share({"range": 0.35}) != share({})


@given(size=st.integers(1, 3000), overhead=st.integers(0, 40), slot=st.integers(60, 400))
def test_the_frames_of_a_message_hold_all_of_it_and_as_much_each_as_fits(size, overhead, slot):
    cut = CHANNELS["tdma"](kind="tdma", rate=8000.0, slot=slot / 1000)
    assert cut.largest == slot
    extra = cut.header + overhead
    *full, last = cut.frames(size, overhead)
    assert set(full) <= {slot}
    assert extra < last <= slot
    assert sum(full) + last == size + extra * (len(full) + 1)
    whole = CHANNELS["aloha"](kind="aloha", rate=8000.0)
    assert whole.frames(size, overhead) == [size + whole.header + overhead]


def test_a_frame_needs_room_beside_its_headers():
    cut = CHANNELS["tdma"](kind="tdma", rate=8000.0, slot=0.03)
    assert cut.frames(2, 30 - cut.header - 1) == [30, 30]
    with pytest.raises(ScenarioError, match="a frame of at most 30 bytes has no room"):
        cut.frames(2, 30 - cut.header)
