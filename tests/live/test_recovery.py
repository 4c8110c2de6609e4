"""What an agent writes down, when that is safe, and where the journal of one that crashed says to go on."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.msgpack import decode, encode

from simnet.errors import LiveError
from simnet.learning.evaluation import State
from simnet.live.chain import Chain
from simnet.live.journal import (
    Heard,
    Journal,
    RecordKind,
    Sending,
    Start,
    compacted,
    event_body,
    event_of,
    read,
)
from simnet.live.recovery import JournalMemory, recover
from simnet.network import frame
from simnet.record import events

CHARGE = events.PrivacySpent(0, 2, "release", "gaussian-output", {"sigma": 1.0})
RELEASE = events.ReleaseMade(0, 2, "")
NOTHING = State(np.zeros(2), np.zeros(2))


def noted(t, event):
    return RecordKind.EVENT, event_body(t, event)


def heard(t, peer, round):
    raw = frame.encode(frame.Kind.NOTICE, sender=peer, round=round)
    event = events.MessageDelivered(0, round, peer, round)
    return RecordKind.HEARD, encode(Heard(event_body(t, event), raw))


BEGUN = [
    (RecordKind.START, encode(Start(0, "run", "1", 100.0))),
    noted(0.0, events.RoundStarted(0, 1)),
    heard(0.1, 1, 1),
    noted(0.2, events.DualUpdated(0, 1)),
    (RecordKind.STATE, b"after round 1"),
]
SECOND = [
    noted(0.3, events.RoundStarted(0, 2)),
    heard(0.4, 1, 2),
    noted(0.5, CHARGE),
    noted(0.5, RELEASE),
    noted(0.5, events.MessageSent(0, 2, 1, 2, "value", 10, 31)),
]
SENDING = (RecordKind.SENDING, encode(Sending(2, {1: b"frame"})))


def told(journal):
    return [found for record in journal if (found := event_of(*record)) is not None]


def kinds(past):
    return [event.kind for _, event in past.events]


def test_nothing_was_begun_where_there_is_no_record():
    assert recover([]) is None


def test_a_round_whose_frames_were_not_safe_begins_again_and_its_charge_is_dropped():
    past = recover([*BEGUN, *SECOND])

    assert past.finished == 1
    assert past.checkpoint == b"after round 1"
    assert past.sending is None
    assert "privacy.spent" not in kinds(past)
    assert kinds(past) == ["round.started", "message.delivered", "dual.updated", "message.delivered"]
    assert [peer for peer, _ in past.heard] == [1]


def test_a_refusal_stands_although_the_round_begins_again():
    past = recover([*BEGUN, *SECOND, noted(0.6, events.MessageRefused(0, 2, 2, 7))])

    assert kinds(past)[-1] == "message.refused"
    assert [peer for peer, _ in past.heard] == [1]


def test_a_round_whose_frames_were_safe_keeps_its_charge_and_its_frames():
    past = recover([*BEGUN, *SECOND, SENDING])

    assert past.sending == Sending(2, {1: b"frame"})
    assert kinds(past).count("privacy.spent") == 1
    assert list(past.noted) == [events.RoundStarted(0, 2), CHARGE, RELEASE]


def test_what_a_round_did_after_its_frames_were_safe_is_done_again():
    end = [heard(0.6, 2, 2), noted(0.7, events.ValueUsed(0, 2, 1, 0)), noted(0.7, events.DualUpdated(0, 2))]

    past = recover([*BEGUN, *SECOND, SENDING, *end])

    assert past.finished == 1
    assert "value.used" not in kinds(past)
    assert kinds(past)[-1] == "message.delivered"
    assert ([peer for peer, _ in past.heard], [peer for peer, _ in past.later]) == ([1], [2])
    assert past.last == 0.6


def test_a_recovered_journal_is_recovered_to_the_same():
    for tail in ([], SECOND, [*SECOND, SENDING], [*SECOND, SENDING, heard(0.6, 2, 2)]):
        once = recover([*BEGUN, *tail])
        assert recover(once.records) == once


def test_compaction_keeps_every_event_and_drops_old_frames_and_checkpoints():
    journal = [*BEGUN, *SECOND, SENDING, noted(0.8, events.DualUpdated(0, 2)), (RecordKind.STATE, b"after round 2")]

    short = list(compacted(journal))

    assert told(short) == told(journal)
    assert [kind for kind, _ in short if kind not in (RecordKind.EVENT, RecordKind.START)] == [RecordKind.STATE]
    assert short[-1] == (RecordKind.STATE, b"after round 2")


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
    memory = JournalMemory(
        journal, lambda: b"state", lambda: {1: (1, 5)}, confirmed.append, lambda round: None, Chain(0)
    )
    return memory, journal, confirmed


def test_frames_are_safe_with_all_that_was_noted_before_them(tmp_path):
    memory, journal, _ = kept(tmp_path)

    memory.event(0.1, events.PrivacySpent(0, 1, "release", "m", {}))
    memory.sending(1, {1: b"frame"})

    assert journal.safe == [3]
    assert [kind for kind, _ in read(journal.path)] == [RecordKind.EVENT, RecordKind.LINK, RecordKind.SENDING]
    assert decode(list(read(journal.path))[2][1], type=Sending) == Sending(1, {1: b"frame"})


def test_neighbours_may_forget_what_came_in_before_it_was_made_safe(tmp_path):
    memory, _, confirmed = kept(tmp_path)

    memory.heard(0.1, events.MessageDelivered(0, 1, 1, 1), b"raw")
    assert confirmed == []
    memory.save()

    assert confirmed == [{1: (1, 5)}]


def test_a_round_is_made_safe_once_whether_it_sends_or_not(tmp_path):
    memory, journal, _ = kept(tmp_path)

    memory.sending(1, {1: b"frame"})
    memory.finished(1, NOTHING)
    memory.finished(2, NOTHING)
    memory.finished(3, NOTHING)
    memory.sending(4, {1: b"frame"})
    memory.finished(4, NOTHING)

    assert journal.safe == [2, 7, 10, 12]


@pytest.mark.parametrize("first", [(RecordKind.START, b"garbage"), (RecordKind.STATE, b"s")])
def test_a_journal_that_does_not_say_whose_it_is_is_refused_in_a_sentence(first):
    with pytest.raises(LiveError, match="does not begin with who keeps it"):
        recover([first, *BEGUN[1:]])
