"""Many journals, one record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import LiveError
from simnet.live.merge import in_order
from simnet.record import events


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
