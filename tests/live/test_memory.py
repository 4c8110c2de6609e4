from __future__ import annotations

import numpy as np

from simnet.live import records
from simnet.live.journal import Journal, Kind, read
from simnet.live.memory import JournalMemory
from simnet.record import events

NOTHING = np.zeros(2)


class Watched(Journal):
    """A journal that tells when it is made safe, and how much it held then."""

    def __init__(self, path) -> None:
        super().__init__(path)
        self.safe: list[int] = []

    def sync(self) -> None:
        super().sync()
        self.safe.append(len(list(read(self.path))))


def kept(tmp_path):
    confirmed = []
    journal = Watched(tmp_path / "journal")
    memory = JournalMemory(journal, lambda: b"state", lambda: {1: (1, 5)}, confirmed.append, lambda round: None)
    return memory, journal, confirmed


def test_frames_are_safe_with_all_that_was_noted_before_them(tmp_path):
    memory, journal, _ = kept(tmp_path)

    memory.event(0.1, events.PrivacySpent(0, 1, "release", "m", {}))
    memory.sending(1, {1: b"frame"})

    assert journal.safe == [2]
    assert [kind for kind, _ in read(journal.path)] == [Kind.EVENT, Kind.SENDING]
    assert records.sending(list(read(journal.path))[1][1]) == records.Sending(1, {1: b"frame"})


def test_neighbours_may_forget_what_came_in_before_it_was_made_safe(tmp_path):
    memory, _, confirmed = kept(tmp_path)

    memory.heard(0.1, events.MessageDelivered(0, 1, 1, 1), b"raw")
    assert confirmed == []
    memory.save()

    assert confirmed == [{1: (1, 5)}]


def test_a_round_is_made_safe_once_whether_it_sends_or_not(tmp_path):
    memory, journal, _ = kept(tmp_path)

    memory.sending(1, {1: b"frame"})
    memory.finished(1, NOTHING, NOTHING)
    memory.finished(2, NOTHING, NOTHING)
    memory.finished(3, NOTHING, NOTHING)
    memory.sending(4, {1: b"frame"})
    memory.finished(4, NOTHING, NOTHING)

    assert journal.safe == [1, 5, 7, 8]
