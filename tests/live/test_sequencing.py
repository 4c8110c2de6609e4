"""The numbers of frames: which are let in, and both ends against each other over a connection that often breaks."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simnet.live.envelope import Envelope, EnvelopeKind, Reason, Refused
from simnet.live.sequencing import OVERHEAD, PeerInbox, PeerOutbox

RUN = bytes(16)
SIZE = 8
WINDOW = 4 * (SIZE + OVERHEAD)
ROOM = 6 * (SIZE + OVERHEAD)


def data(sequence: int, incarnation: int = 1) -> Envelope:
    return Envelope(EnvelopeKind.DATA, bytes(16), 0, incarnation, sequence, b"")


@given(st.lists(st.integers(0, 6), max_size=60))
def test_of_any_numbers_exactly_the_next_one_is_let_in(numbers: list[int]) -> None:
    inbox, last = PeerInbox(), 0
    inbox.greet(1)
    for number in numbers:
        if number == last + 1:
            inbox.judge(data(number))
            inbox.take(data(number))
            last += 1
        else:
            with pytest.raises(Refused) as refused:
                inbox.judge(data(number))
            assert refused.value.reason is (Reason.REPLAYED if number <= last else Reason.GAP)
        assert inbox.seen == (1, last)


def test_a_higher_incarnation_counts_anew_and_a_lower_one_is_out_of_date() -> None:
    inbox = PeerInbox()
    inbox.greet(3)
    inbox.start(40)
    inbox.greet(5)
    assert inbox.seen == (5, 0)
    inbox.take(data(1, 5))
    for speak in (lambda: inbox.greet(4), lambda: inbox.judge(data(2, 3))):
        with pytest.raises(Refused) as refused:
            speak()
        assert refused.value.reason is Reason.OUT_OF_DATE
    assert inbox.seen == (5, 1)


def test_what_an_earlier_process_acknowledged_is_not_waited_for() -> None:
    inbox = PeerInbox()
    inbox.greet(1)
    inbox.start(57)
    inbox.judge(data(58))
    inbox.take(data(58))
    assert inbox.seen == (1, 58)


def test_a_checkpoint_confirms_what_it_holds_once_and_nothing_of_another_incarnation() -> None:
    inbox = PeerInbox()
    inbox.greet(1)
    for number in (1, 2, 3):
        inbox.take(data(number))
    assert inbox.confirm(1, 2)
    assert not inbox.confirm(1, 2)
    assert not inbox.confirm(1, 4)
    assert inbox.confirmed == 2
    inbox.greet(2)
    assert not inbox.confirm(1, 3)
    assert inbox.confirmed == 0


class Conversation(RuleBasedStateMachine):
    """One sender, one receiver, a wire in each direction that can be cut, and a receiver that can crash.

    The receiver's durable state is what it had when it last made a checkpoint; a crash takes it back there. What
    comes again is known by what it says.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outbox = PeerOutbox(WINDOW, ROOM)
        self.inbox = PeerInbox()
        self.sent: list[bytes] = []
        self.dropped: set[bytes] = set()
        self.taken: list[bytes] = []
        self.checkpoint = 0
        self.there: deque[Envelope] = deque()
        self.back: deque[tuple[EnvelopeKind, int]] = deque()
        self.up = False

    def _connect(self) -> None:
        self.inbox.greet(1)
        self.inbox.start(self.outbox.acknowledged)
        self.outbox.resume(self.inbox.received)
        self.back.append((EnvelopeKind.ACK, self.inbox.confirmed))
        self.up = True

    def _cut(self) -> None:
        self.there.clear()
        self.back.clear()
        self.up = False

    @rule()
    def send(self) -> None:
        frame = len(self.sent).to_bytes(SIZE, "little")
        self.sent.append(frame)
        self.dropped.update(self.outbox.put(frame))

    @precondition(lambda self: not self.up)
    @rule()
    def connect(self) -> None:
        self._connect()

    @precondition(lambda self: self.up)
    @rule()
    def cut(self) -> None:
        self._cut()

    @precondition(lambda self: self.up)
    @rule()
    def write(self) -> None:
        if (item := self.outbox.next()) is not None:
            self.there.append(Envelope(EnvelopeKind.DATA, RUN, 0, 1, *item))

    @precondition(lambda self: self.there)
    @rule()
    def arrive(self) -> None:
        item = self.there.popleft()
        self.inbox.judge(item)
        self.inbox.take(item)
        if item.content not in self.taken:
            self.taken.append(item.content)
        self.back.append((EnvelopeKind.RECEIPT, self.inbox.received))

    @rule()
    def save(self) -> None:
        self.checkpoint = len(self.taken)
        if self.inbox.confirm(*self.inbox.seen) and self.up:
            self.back.append((EnvelopeKind.ACK, self.inbox.confirmed))

    @precondition(lambda self: self.back)
    @rule()
    def answer(self) -> None:
        kind, sequence = self.back.popleft()
        (self.outbox.acknowledge if kind is EnvelopeKind.ACK else self.outbox.receipt)(sequence)

    @rule()
    def crash(self) -> None:
        self.inbox = PeerInbox()
        del self.taken[self.checkpoint :]
        self._cut()

    @invariant()
    def what_was_taken_is_what_was_sent_without_what_was_dropped(self) -> None:
        kept = [frame for frame in self.sent if frame not in self.dropped]
        assert self.taken == kept[: len(self.taken)]

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every frame is safe at the receiver, still with the sender, or was reported as dropped."""
        safe = self.taken[: self.checkpoint]
        assert {*safe, *self.outbox.pending, *self.dropped} == set(self.sent)

    @invariant()
    def room_is_bounded(self) -> None:
        assert len(self.outbox.pending) <= 4 + 6

    def teardown(self) -> None:
        """When the wire holds at last, everything arrives and is forgotten."""
        self._cut()
        self._connect()
        while self.outbox.pending:
            self.write()
            while self.there:
                self.arrive()
            self.save()
            while self.back:
                self.answer()
        assert self.taken == [frame for frame in self.sent if frame not in self.dropped]
        assert not self.outbox.unheard


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=60, stateful_step_count=60)


def test_the_oldest_that_was_never_written_goes_first() -> None:
    outbox = PeerOutbox(WINDOW, 2 * (1 + OVERHEAD))
    assert outbox.put(b"a") == []
    outbox.resume(0)
    assert outbox.next() == (1, b"a")
    assert [outbox.put(frame) for frame in (b"b", b"c", b"d")] == [[], [], [b"b"]]
    assert outbox.pending == (b"a", b"c", b"d")
    assert outbox.next() == (2, b"c")


def test_a_frame_larger_than_the_room_is_still_taken() -> None:
    outbox = PeerOutbox(WINDOW, 10)
    assert outbox.put(bytes(100)) == []
    assert outbox.put(bytes(50)) == [bytes(100)]
    assert outbox.pending == (bytes(50),)


@pytest.mark.parametrize("sequence", [0, 3, 2**64 - 1])
def test_an_acknowledgement_of_what_was_never_sent_or_long_forgotten_is_refused(sequence: int) -> None:
    outbox = PeerOutbox(WINDOW, ROOM)
    outbox.put(b"a")
    outbox.put(b"b")
    outbox.resume(0)
    outbox.next()
    outbox.next()
    outbox.acknowledge(1)
    for say in (outbox.acknowledge, outbox.receipt, outbox.resume):
        with pytest.raises(Refused) as refused:
            say(sequence)
        assert refused.value.reason is Reason.MALFORMED
    assert outbox.pending == (b"b",)
