"""What breaks, and how a run goes on."""

from __future__ import annotations

import numpy as np
import pytest

from simnet import ScenarioError
from simnet.sim.faults import alternating
from tests.worlds import TICKS, found, lawful, traffic

PACES = ["ideal", "barrier", TICKS, "quorum", "free"]


@pytest.mark.parametrize("pacing", PACES, ids=str)
def test_an_agent_that_never_comes_back_stops_nobody(pacing):
    result = lawful(**{"network.pacing": pacing, "fault": [{"kind": "crash", "agent": 4, "at": 0.15}]})
    rounds = result.agents["rounds"].to_list()
    assert rounds[4] < 12
    assert rounds[:4] + rounds[5:] == [12] * 5
    assert result.rounds["round"].to_list() == list(range(1, 13)), "every round is evaluated, with what there is"
    assert traffic(result)["unreachable"] > 0


@pytest.mark.parametrize("pacing", PACES, ids=str)
@pytest.mark.parametrize("state", ["kept", "lost"])
def test_an_agent_that_comes_back_finishes_its_rounds(pacing, state):
    crash = {"kind": "crash", "agent": 2, "at": 0.09, "duration": 0.2, "state": state}
    result = lawful(**{"network.pacing": pacing, "network.link.latency": 0.005, "fault": [crash]})
    assert result.agents["rounds"].to_list() == [12] * 6
    (began, _), (ended, _) = found(result, "fault.began")[0], found(result, "fault.ended")[0]
    assert (began, ended) == pytest.approx((0.09, 0.29))
    quiet = [e for t, e in found(result, "message.sent") if e.agent == 2 and began < t < ended]
    assert quiet == []
    heard = [e for t, e in found(result, "message.delivered") if e.agent == 2 and began < t < ended]
    assert heard == []
    assert bool([e for _, e in found(result, "message.sent") if e.carries == "request"]) == (state == "lost")


def test_work_goes_on_where_a_crash_stopped_it():
    crash = {"kind": "crash", "agent": 0, "at": 0.5, "duration": 3}
    result = lawful(rounds=1, **{"compute.time": 1.0, "fault": [crash]})
    assert {e.agent: t for t, e in found(result, "solve.finished")} == pytest.approx(
        dict.fromkeys(range(1, 6), 1.0) | {0: 4.0}
    )


def test_messages_in_the_air_when_a_link_breaks_do_not_arrive():
    fault = {"kind": "link-down", "link": [0, 1], "at": 0.05, "duration": 0.1}
    changes = {"topology": {"kind": "ring", "agents": 4}, "network.link.latency": 0.04, "network.pacing": TICKS}
    result = lawful(**changes, fault=[fault])
    missed = [(t, e.agent, e.peer) for t, e in found(result, "message.unreachable")]
    assert {frozenset(ends) for _, *ends in missed} == {frozenset((0, 1))}
    # Round 1 is sent at 0.02 and in the air when the link goes; round 2 is sent at 0.12 into nothing.
    assert sorted(t for t, *_ in missed) == pytest.approx([0.05, 0.05, 0.12, 0.12])


def test_nothing_crosses_a_partition_and_everything_else_goes_on():
    fault = {"kind": "partition", "agents": [0, 1, 2], "at": 0.25, "duration": 0.5}
    result = lawful(**{"topology": {"kind": "complete", "agents": 6}, "network.pacing": TICKS, "fault": [fault]})
    for t, e in found(result, "message.delivered"):
        assert not 0.25 < t < 0.75 or (e.agent < 3) == (e.peer < 3)
    assert all((e.agent < 3) != (e.peer < 3) for _, e in found(result, "message.unreachable"))
    assert [e.agents for _, e in found(result, "fault.began")] == [[0, 1, 2]]


def test_a_straggler_takes_its_factor_of_time_while_it_lasts():
    fault = {"kind": "straggler", "agent": 3, "factor": 5, "at": 0.03, "duration": 0.3}
    result = lawful(**{"network.pacing": "free", "fault": [fault]})
    ends = [t for t, e in found(result, "dual.updated") if e.agent == 3]
    np.testing.assert_allclose(np.diff([0.0, *ends]), [0.02] * 2 + [0.1] * 3 + [0.02] * 7)


def test_churn_is_in_the_log_and_has_the_means_it_was_given():
    churn = {"kind": "churn", "up": 0.2, "down": 0.05, "agents": [0, 1]}
    result = lawful(rounds=40, **{"network.pacing": TICKS, "fault": [churn]})
    down = {e.agent for _, e in found(result, "fault.began")}
    assert down == {0, 1}
    spans = [next(each) for each in [alternating(np.random.default_rng(0), 0.2, 0.05)] for _ in range(5000)]
    lasting = [end - start for start, end in spans]
    without = [start - end for (start, _), end in zip(spans[1:], [end for _, end in spans], strict=False)]
    assert np.mean(lasting) == pytest.approx(0.05, rel=0.05)
    assert np.mean(without) == pytest.approx(0.2, rel=0.05)


def test_one_fault_changes_nothing_about_the_times_of_another():
    churn = {"kind": "churn", "up": 0.2, "down": 0.05, "agents": [0]}
    slow = {"kind": "straggler", "agent": 5, "every": 0.1, "duration": 0.1}
    alone = lawful(**{"network.pacing": TICKS, "fault": [churn]})
    both = lawful(**{"network.pacing": TICKS, "fault": [churn, slow]})
    times = [[t for t, e in found(each, "fault.began") if e.fault == "crash"] for each in (alone, both)]
    shared = min(map(len, times))
    assert shared > 0
    assert times[0][:shared] == times[1][:shared]


def test_what_was_spent_before_a_crash_stays_spent():
    crash = {"kind": "crash", "agent": 0, "at": 0.07, "duration": 0.1, "state": "lost"}
    private = {"algorithm": {"name": "pp-admm", "eta": 0.05}, "privacy.epsilon": 50.0, "network.pacing": TICKS}
    result = lawful(**private, fault=[crash])
    row = result.agents.row(0, named=True)
    spent = [e for _, e in found(result, "privacy.spent") if e.agent == 0]
    assert row["releases"] == len(spent) >= 10
    assert row["proven_epsilon"] <= 50.0 + 1e-9
    assert row["proven_epsilon"] == pytest.approx(
        result.agents["proven_epsilon"][1] if row["releases"] == 12 else row["proven_epsilon"]
    )


def test_a_crash_in_the_middle_of_work_loses_the_round():
    crash = {"kind": "crash", "agent": 0, "at": 0.01, "duration": 0.05, "state": "lost"}
    result = lawful(fault=[crash])
    skipped = [(e.agent, e.round, e.reason) for _, e in found(result, "broadcast.skipped")]
    assert skipped == [(0, 1, "crash")]


def test_an_agent_that_asks_for_its_state_does_not_wait_for_a_neighbour_that_is_down_itself():
    faults = [
        {"kind": "crash", "agent": 1, "at": 0.05},
        {"kind": "crash", "agent": 2, "at": 0.09, "duration": 0.2, "state": "lost"},
    ]
    result = lawful(
        **{
            "topology": {"kind": "ring", "agents": 6},
            "algorithm.duals": "healing",
            "network.pacing": TICKS,
            "network.link.latency": 0.02,
            "fault": faults,
        }
    )
    asked = min(t for t, e in found(result, "message.sent") if e.carries == "request")
    goes_on = min(t for t, e in found(result, "dual.updated") if e.agent == 2 and t > asked)
    assert goes_on <= asked + 0.08 + 0.1 + 1e-9, "two round trips, and the tick after"


def test_the_queue_of_a_dead_host_dies_with_it():
    """A message takes seconds on the line: what had not left at 0.31 s never does, and was not on the wire."""
    crash = {"kind": "crash", "agent": 0, "at": 0.31}
    result = lawful(**{"network.link.bandwidth": 1000.0, "network.pacing": TICKS, "fault": [crash]})
    of_the_dead = [t for t, e in found(result, "message.delivered") if e.peer == 0]
    assert not [t for t in of_the_dead if t > 0.31]
    lost = [e for _, e in found(result, "message.lost") if e.reason == "sender-down"]
    assert sum(e.unsent_bytes for e in lost) > 0


def test_agents_are_up_in_the_intervals_of_a_file_and_down_between_them(tmp_path):
    (tmp_path / "up.csv").write_text("agent,from,to\n0,0.05,0.3\n0,0.5,\n2,0,0.2\n2,0.4,0.7\n")
    fault = {"kind": "availability", "file": str(tmp_path / "up.csv")}
    result = lawful(**{"network.pacing": TICKS, "fault": [fault]})
    assert [(t, e.agent) for t, e in found(result, "fault.began")] == [(0.0, 0), (0.2, 2), (0.3, 0), (0.7, 2)]
    assert [(t, e.agent) for t, e in found(result, "fault.ended")] == [(0.05, 0), (0.4, 2), (0.5, 0)]
    assert {e.fault for _, e in found(result, "fault.began")} == {"crash"}
    rounds = result.agents["rounds"].to_list()
    assert rounds[2] < 12, "after its last interval it is down for good"
    assert rounds[:2] + rounds[3:] == [12] * 5


def test_a_day_repeats_itself(tmp_path):
    (tmp_path / "up.csv").write_text("1,0,100\n1,150,300\n")
    fault = {"kind": "availability", "file": str(tmp_path / "up.csv"), "unit": "ms", "period": 0.4, "state": "lost"}
    result = lawful(**{"network.pacing": TICKS, "fault": [fault]})
    began = [t for t, _ in found(result, "fault.began")]
    assert began[:4] == pytest.approx([0.1, 0.3, 0.5, 0.7])
    assert result.agents["rounds"].to_list() == [12] * 6


def test_links_are_up_in_the_intervals_of_a_file_and_the_neighbours_stay(tmp_path):
    (tmp_path / "contacts.csv").write_text("1,0,0.15,0.35\n1,2,0,0.5\n")
    fault = {"kind": "contacts", "file": str(tmp_path / "contacts.csv"), "others": "down"}
    ring = {"topology": {"kind": "ring", "agents": 4}, "network.pacing": TICKS, "rounds": 6}
    result = lawful(**ring, fault=[fault])
    heard = {frozenset((e.agent, e.peer)) for _, e in found(result, "message.delivered")}
    assert heard == {frozenset((0, 1)), frozenset((1, 2))}
    for t, event in found(result, "message.delivered"):
        if {event.agent, event.peer} == {0, 1}:
            assert 0.15 <= t <= 0.35
    assert traffic(result)["messages"] == 6 * 8, "an agent speaks to all its neighbours, whether they can hear or not"
    assert traffic(result)["unreachable"] == traffic(result)["messages"] - traffic(result)["delivered"] > 0
    without = lawful(**ring, fault=[fault | {"others": "up"}])
    assert traffic(without)["delivered"] > traffic(result)["delivered"]


@pytest.mark.parametrize(
    ("text", "fields", "sentence"),
    [
        ("0,2,0,1\n", {}, "agents 0 and 2 share no link in this topology"),
        ("0,1,0,5\n", {"period": 4}, r"fault\.0\.period = 4: at least 5, the last time in"),
        ("0,9,0,5\n", {}, "line 1 is about '9', and there is no such agent"),
    ],
)
def test_contacts_that_cannot_be_are_refused_in_a_sentence(tmp_path, text, fields, sentence):
    (tmp_path / "contacts.csv").write_text(text)
    fault = {"kind": "contacts", "file": str(tmp_path / "contacts.csv")} | fields
    with pytest.raises(ScenarioError, match=sentence):
        lawful(topology={"kind": "ring", "agents": 4}, fault=[fault])


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ScenarioError, match=r"fault\.0\.file = nowhere\.csv: cannot be read"):
        lawful(fault=[{"kind": "availability", "file": "nowhere.csv"}])


def test_what_the_own_queue_refuses_has_overflowed_also_on_a_link_that_is_down():
    link = {"bandwidth": "1 kbit/s", "queue": 0}
    fault = {"kind": "link-down", "link": [0, 1], "at": 0.001}
    changes = {"topology": {"kind": "ring", "agents": 4}, "network.link": link, "network.uplink": "shared"}
    result = lawful(rounds=3, fault=[fault], **changes, **{"network.pacing": TICKS})
    refused = {event.message for _, event in found(result, "message.sent") if event.wire_bytes == 0}
    assert refused == {event.message for _, event in found(result, "message.overflowed")}
    assert any({event.agent, event.peer} == {0, 1} for _, event in found(result, "message.overflowed"))


def test_a_message_that_waits_for_its_opportunity_when_its_host_dies_has_not_left(tmp_path):
    (tmp_path / "cell.txt").write_text("100\n")
    trace = {"kind": "mahimahi", "file": str(tmp_path / "cell.txt")}
    fault = {"kind": "crash", "agent": 0, "at": 0.05, "duration": 0.1}
    changes = {"topology": {"kind": "ring", "agents": 4}, "network.link.bandwidth": trace}
    result = lawful(rounds=1, fault=[fault], **changes)
    lost = [event for _, event in found(result, "message.lost")]
    assert [(event.agent, event.reason) for event in lost] == [(0, "sender-down")] * 2
    sent = {event.message: event.wire_bytes for _, event in found(result, "message.sent")}
    assert [event.unsent_bytes for event in lost] == [sent[event.message] for event in lost]


def test_nobody_waits_for_the_stream_of_an_agent_that_is_never_available_again(tmp_path):
    (tmp_path / "up.csv").write_text("agent,from,to\n3,0,0.021\n")
    link = {"bandwidth": 1e5, "latency": 0.01}
    fault = {"kind": "availability", "file": str(tmp_path / "up.csv")}
    result = lawful(fault=[fault], **{"network.link": link, "network.transport": {"kind": "reliable", "attempts": 3}})
    assert result.agents["rounds"].to_list() == [12, 12, 12, 0, 12, 12]
    assert {e.reason for _, e in found(result, "message.lost") if e.agent == 3} == {"sender-down"}
