"""What a journal that a crash has ended says about where to go on."""

from __future__ import annotations

from simnet.live import records
from simnet.live.journal import Kind
from simnet.live.recovery import recover
from simnet.network import frame
from simnet.record import events

CHARGE = events.PrivacySpent(0, 2, "release", "gaussian-output", {"sigma": 1.0})
RELEASE = events.ReleaseMade(0, 2, "")


def noted(t, event):
    return Kind.EVENT, records.noted(t, event)


def heard(t, peer, round):
    raw = frame.encode(frame.Kind.NOTICE, sender=peer, round=round)
    event = events.MessageDelivered(0, round, peer, round)
    return Kind.HEARD, records.packed(records.Heard(records.noted(t, event), raw))


BEGUN = [
    (Kind.START, records.packed(records.Start(0, "run", "1", 100.0))),
    noted(0.0, events.RoundStarted(0, 1)),
    heard(0.1, 1, 1),
    noted(0.2, events.DualUpdated(0, 1)),
    (Kind.STATE, b"after round 1"),
]
SECOND = [
    noted(0.3, events.RoundStarted(0, 2)),
    heard(0.4, 1, 2),
    noted(0.5, CHARGE),
    noted(0.5, RELEASE),
    noted(0.5, events.MessageSent(0, 2, 1, 2, "value", 10, 31)),
]
SENDING = (Kind.SENDING, records.packed(records.Sending(2, {1: b"frame"})))


def told(journal):
    return [found for record in journal if (found := records.event(*record)) is not None]


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


def test_a_round_whose_frames_were_safe_keeps_its_charge_and_its_frames():
    past = recover([*BEGUN, *SECOND, SENDING])

    assert past.sending == records.Sending(2, {1: b"frame"})
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
    journal = [*BEGUN, *SECOND, SENDING, noted(0.8, events.DualUpdated(0, 2)), (Kind.STATE, b"after round 2")]

    short = list(records.compacted(journal))

    assert told(short) == told(journal)
    assert [kind for kind, _ in short if kind not in (Kind.EVENT, Kind.START)] == [Kind.STATE]
    assert short[-1] == (Kind.STATE, b"after round 2")
