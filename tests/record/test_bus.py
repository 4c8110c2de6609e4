import numpy as np

from simnet.record import events as ev
from simnet.record.bus import Bus
from simnet.record.log import read
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
