"""What cannot be live; and many journals, one record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode

from simnet.build import build
from simnet.errors import LiveError, ScenarioError
from simnet.learning.evaluation import State
from simnet.live.journal import Journal, RecordKind, RoundResult, Start, event_body
from simnet.live.run import check, in_order, merge
from simnet.record import events
from simnet.record.bus import Bus
from tests.worlds import live_world


def sent(agent, peer, number):
    return events.MessageSent(agent, 1, peer, number, "value", 1, 1)


def arrived(agent, peer, number):
    return events.MessageDelivered(agent, 1, peer, number)


def test_events_come_by_time_and_at_one_instant_by_agent():
    a = [(0.0, events.RoundStarted(0, 1)), (2.0, events.DualUpdated(0, 1))]
    b = [(0.0, events.RoundStarted(1, 1)), (1.0, events.DualUpdated(1, 1))]

    assert [(t, event.agent) for t, event in in_order([a, b])] == [(0.0, 0), (0.0, 1), (1.0, 1), (2.0, 0)]


def test_where_clocks_differ_an_arrival_waits_for_its_sending_and_takes_its_time():
    slow = [(5.0, sent(0, 1, 1))]
    fast = [(1.0, arrived(1, 0, 1)), (2.0, events.DualUpdated(1, 1)), (6.0, events.RoundStarted(1, 2))]

    found = list(in_order([slow, fast]))

    assert [event.kind for _, event in found] == ["message.sent", "message.delivered", "dual.updated", "round.started"]
    assert [t for t, _ in found] == [5.0, 5.0, 5.0, 6.0]


def kept(folder, agent, told, finished, *, run="run"):
    """An agent's folder with a journal of these events, and results of this many rounds."""
    folder.mkdir()
    journal = Journal(folder / "journal")
    journal.add(RecordKind.START, encode(Start(agent, run, "1", 100.0 + agent)))
    for t, event in told:
        journal.add(RecordKind.EVENT, event_body(t, event))
    for round in range(1, finished + 1):
        journal.add(RecordKind.RESULT, encode(RoundResult.of(round, State(np.full(3, float(agent)), np.zeros(3)))))
    journal.close()
    return folder


def rounds(agent, count):
    return [
        (float(t), kind(agent, t)) for t in range(1, count + 1) for kind in (events.RoundStarted, events.DualUpdated)
    ]


def merged(*folders):
    told = []
    world = build(live_world(rounds=2, topology={"kind": "complete", "agents": 2}))
    merge(world, list(folders), Bus(lambda seq, t, event: told.append((t, event))))
    return told


def test_an_agent_that_never_came_back_counts_with_its_last_state(tmp_path):
    whole, cut = kept(tmp_path / "0", 0, rounds(0, 2), 2), kept(tmp_path / "1", 1, rounds(1, 1), 1)

    told = merged(cut, whole)

    assert [event.round for _, event in told if isinstance(event, events.EvaluationDone)] == [1, 2]
    assert [event.agent for _, event in told if isinstance(event, events.FaultBegan)] == [1]
    assert told[-1][1].rounds == [2, 1]


def test_clocks_are_counted_from_the_first_agents_start(tmp_path):
    told = merged(kept(tmp_path / "0", 0, rounds(0, 2), 2), kept(tmp_path / "1", 1, rounds(1, 2), 2))

    assert [t for t, event in told if isinstance(event, events.RoundStarted)] == [1.0, 2.0, 2.0, 3.0]


def test_journals_that_do_not_belong_together_are_refused(tmp_path):
    one, other = kept(tmp_path / "0", 0, [], 0), kept(tmp_path / "1", 1, [], 0, run="another")

    with pytest.raises(LiveError, match="of different runs, 'another' and 'run'"):
        merged(one, other)
    with pytest.raises(LiveError, match="agent 1's journal is missing"):
        merged(one)


def test_a_message_that_nobody_sent_is_an_error():
    with pytest.raises(LiveError, match="never sent"):
        list(in_order([[], [(1.0, arrived(1, 0, 1))]]))


@given(
    skews=st.lists(st.floats(-5, 5), min_size=3, max_size=3),
    hops=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2)), max_size=30),
)
def test_whatever_the_clocks_say_causes_come_before_effects(skews, hops):
    """Messages one after another, each noted by its sender's and its receiver's own clock."""
    streams = [[], [], []]
    for number, (sender, step) in enumerate(hops, start=1):
        receiver = (sender + step) % 3
        streams[sender].append((number + skews[sender], sent(sender, receiver, number)))
        streams[receiver].append((number + 0.5 + skews[receiver], arrived(receiver, sender, number)))

    found = list(in_order(streams))

    order = [(event.kind, event.message) for _, event in found]
    assert len(order) == 2 * len(hops)
    assert all(
        order.index(("message.sent", n)) < order.index(("message.delivered", n)) for n in range(1, len(hops) + 1)
    )
    assert [t for t, _ in found] == sorted(t for t, _ in found)
    for agent, stream in enumerate(streams):
        assert [event for _, event in found if event.agent == agent] == [event for _, event in stream]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"network.pacing": "ideal"}, "no real agent knows"),
        ({"until": 5.0}, "only simulated time can end a run"),
        ({"network": {"pacing": {"kind": "free"}, "peers": 1}}, "a live agent speaks to all its neighbours"),
        ({"fault": [{"kind": "availability", "file": "up.csv"}]}, "live agents break for real"),
        ({"fault": [{"kind": "crash", "agent": 0, "at": 1.0}]}, "break for real"),
        ({"algorithm": {"name": "pdml"}}, "there are no live users"),
        ({"algorithm": {"name": "dp-admm"}, "topology": {"kind": "star", "agents": 3}}, "untrusted hub can be live"),
        ({"network.transport": "reliable"}, "TCP repeats on its own"),
        ({"network.inbox.service": "1 ms"}, "as fast as it can"),
        ({"network.underlay": {"graph": {"kind": "ring"}}}, "no shim routes packets"),
    ],
)
def test_what_cannot_be_live_is_refused_with_the_reason(changes, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        check(live_world(**changes), shim=True)


def test_without_the_shim_the_network_is_what_it_is_and_its_models_do_not_matter():
    check(live_world(**{"network.transport": "reliable", "network.inbox.service": "1 ms"}), shim=False)
