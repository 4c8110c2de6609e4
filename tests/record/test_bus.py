from types import SimpleNamespace

import numpy as np
import pytest

from simnet.record import events as ev
from simnet.record.bus import Bus, Counters
from simnet.record.log import read
from simnet.record.metrics import Metrics
from tests.record.stories import start, write


def test_events_are_numbered_and_reach_all_who_listen_in_order():
    heard = []
    bus = Bus(lambda seq, t, event: heard.append(("a", seq, t)), lambda seq, t, event: heard.append(("b", seq, t)))
    bus.emit(0.0, ev.RoundStarted(0, 1))
    bus.emit(0.5, ev.DualUpdated(0, 1))
    assert heard == [("a", 1, 0.0), ("b", 1, 0.0), ("a", 2, 0.5), ("b", 2, 0.5)]


def test_times_are_kept_to_the_nanosecond():
    heard = []
    bus = Bus(lambda seq, t, event: heard.append(t))
    for now in (0.1 + 0.2, 0.3, 1 / 3, 1 / 3, 12345.67890123456):
        bus.emit(now, ev.RoundStarted(0, 1))
    assert heard == [0.3, 0.3, 0.333333333, 0.333333333, 12345.678901235]


def test_a_clock_that_counts_in_integers_or_in_numpy_gives_the_same_log():
    happened = (start(2, [(0, 1)]), ev.RoundStarted(0, 1), ev.RunFinished([0, 0], "", ""))

    def raw(*times):
        return write(list(zip(times, happened, strict=True)))

    plain = raw(0.0, 1.0, 2.5)
    assert raw(0, 1, np.float64(2.5)) == plain
    assert [t for _, t, _ in read(plain[0])] == [0.0, 1.0, 2.5]


class Counter:
    """Counts messages, and remembers what it was told one by one."""

    def __init__(self):
        self.counters = Counters()
        self.counters.open(3)
        self.heard = []

    def __call__(self, seq, t, event):
        self.heard.append(event)


def message(number: int, peer: int = 1, payload: bytes = bytes(16)):
    """A message of agent 0 in round 1."""
    return SimpleNamespace(frame=SimpleNamespace(sender=0, round=1, payload=payload), peer=peer, number=number)


def test_who_only_counts_messages_is_told_of_none():
    counter, all_of_them = Counter(), []
    bus = Bus(counter, lambda seq, t, event: all_of_them.append(event))
    bus.sent(0.1, "value", [message(6), message(7, peer=2), message(8)], [48, 48, 0], [48, 48, 48])
    bus.delivered(0.5, message(7, peer=2))
    bus.lost(0.5, message(6))
    bus.lost(0.5, message(8), "corrupted")
    bus.emit(0.5, ev.MessageUnreachable(0, 1, 1, 9))
    assert counter.heard == [ev.MessageUnreachable(0, 1, 1, 9)]
    assert all_of_them == [
        ev.MessageSent(0, 1, 1, 6, "value", 16, 48, 48),
        ev.MessageSent(0, 1, 2, 7, "value", 16, 48, 48),
        ev.MessageSent(0, 1, 1, 8, "value", 16, 0, 48),
        ev.MessageDelivered(2, 1, 0, 7),
        ev.MessageLost(0, 1, 1, 6),
        ev.MessageLost(0, 1, 1, 8, "corrupted"),
        ev.MessageUnreachable(0, 1, 1, 9),
    ]
    found = counter.counters.communication()
    assert {name: count for name, count in found.items() if count} == {
        "messages": 3, "delivered": 1, "lost": 2, "payload_bytes": 48, "wire_bytes": 96, "offered_bytes": 144,
        "corrupted": 1, "transmissions": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wire_bytes", "offered_bytes"),
    [([48, 50], [48, 50]), ([48, 0], [48, 0]), ([48, 0], [48, 50])],
    ids=["each by itself", "in one transmission", "one refused at the host"],
)
@pytest.mark.parametrize("carries", ["value", "notice"])
def test_messages_that_are_counted_count_as_if_they_were_told(carries, wire_bytes, offered_bytes):
    told, counted, records = Metrics(), Metrics(), []
    for metrics in (told, counted):
        metrics(1, 0.0, start(3, [(0, 1), (0, 2)]))
    bus = Bus(counted, lambda *event: records.append(event))
    for number, tell in enumerate((bus.delivered, bus.lost, lambda *lost: bus.lost(*lost, "corrupted"))):
        both = [message(2 * number), message(2 * number + 1, peer=2)]
        bus.sent(0.1, carries, both, wire_bytes, offered_bytes)
        tell(0.2, both[0])
    assert [seq for seq, _, _ in records] == list(range(1, 10))
    for record in records:
        told(*record)
    assert counted.agents == told.agents
    assert counted.counters.communication() == told.counters.communication()


def test_a_number_is_taken_also_for_what_nobody_wants_to_know():
    bus = Bus()
    bus.sent(0.1, "value", [message(1), message(2)], [48, 48], [48, 48])
    bus.delivered(0.2, message(1))
    bus.lost(0.2, message(2))
    assert bus.events == 4
    bus.sent(0.3, "value", [], [], [])
    assert bus.events == 4, "an agent without neighbours sends nothing"


def test_values_that_are_told_together_are_as_if_they_were_told_one_by_one():
    heard, together, one_by_one = [], Metrics(), Metrics()
    for metrics, tell in ((together, lambda bus: bus.used(0.5, 0, 3, (1, 2), (0, 2))), (one_by_one, emit_two)):
        bus = Bus(lambda *told: heard.append(told), metrics)
        bus.emit(0.0, start(3, [(0, 1), (0, 2)]))
        tell(bus)
        bus.emit(1.0, ev.DualUpdated(0, 3))
    assert heard[: len(heard) // 2] == heard[len(heard) // 2 :]
    assert together.summary("", None)["staleness"] == one_by_one.summary("", None)["staleness"]
    assert together.summary("", None)["staleness"]["max"] == 2
    assert together.agents == one_by_one.agents
    alone = Bus(together)
    alone.used(0.5, 0, 4, (1, 2), (0, 2))
    assert alone.events == 2, "a number is taken for each value, also if nobody wants its record"


def emit_two(bus):
    bus.emit(0.5, ev.ValueUsed(0, 3, 1, 0))
    bus.emit(0.5, ev.ValueUsed(0, 3, 2, 2))
