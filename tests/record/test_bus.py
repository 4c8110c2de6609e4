import numpy as np

from simnet.record import events as ev
from simnet.record.bus import Bus
from simnet.record.counters import Tally
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
        self.tally = Tally()
        self.heard = []

    def __call__(self, seq, t, event):
        self.heard.append(event)


def test_who_only_counts_messages_is_told_of_none_that_an_engine_counts():
    counter, all_of_them = Counter(), []
    bus = Bus(counter, lambda seq, t, event: all_of_them.append(event))
    assert bus.tallies == (counter.tally,)
    for tell in bus.on_delivered:
        tell(1, 0.5, 1, 1, 0, 7)
    bus.emit(0.5, ev.MessageUnreachable(0, 1, 1, 8))
    assert counter.heard == [ev.MessageUnreachable(0, 1, 1, 8)]
    assert all_of_them == [ev.MessageDelivered(1, 1, 0, 7), *counter.heard]


def test_messages_that_are_counted_together_count_as_if_they_were_told_one_by_one():
    messages = [ev.MessageSent(0, 1, peer, peer, carries, 16, 48) for peer in (1, 2) for carries in ("value", "notice")]
    told, counted = Metrics(), Metrics()
    for metrics in (told, counted):
        metrics(1, 0.0, start(3, [(0, 1), (0, 2)]))
    for seq, message in enumerate(messages, 2):
        told(seq, 0.0, message)
    for carries in ("value", "notice"):
        counted.tally.sent(0, carries, 2, 2 * 16, 2 * 48)
    assert counted.agents == told.agents
    assert counted.tally.communication() == told.tally.communication()


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
    assert alone.seq == 2, "a number is taken for each value, also if nobody wants its record"


def emit_two(bus):
    bus.emit(0.5, ev.ValueUsed(0, 3, 1, 0))
    bus.emit(0.5, ev.ValueUsed(0, 3, 2, 2))
