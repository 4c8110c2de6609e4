"""The outbox and the inbox against each other, over a connection that breaks whenever it likes."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simnet.live.envelope import Envelope, Kind
from simnet.live.frame_inbox import Inbox
from simnet.live.outbox import OVERHEAD, Outbox
from simnet.live.refusal import Reason, Refused

RUN = bytes(16)
SIZE = 8
WINDOW = 4 * (SIZE + OVERHEAD)
ROOM = 6 * (SIZE + OVERHEAD)


class Conversation(RuleBasedStateMachine):
    """One sender, one receiver, a wire in each direction that can be cut, and a receiver that can crash.

    The receiver's durable state is what it had when it last made a checkpoint; a crash takes it back there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outbox = Outbox(WINDOW, ROOM)
        self.inbox = Inbox(1, 0)
        self.sent: list[bytes] = []
        self.dropped: set[bytes] = set()
        self.taken: list[bytes] = []
        self.checkpoint: tuple[tuple[int, int], int] = ((1, 0), 0)
        self.there: deque[Envelope] = deque()
        self.back: deque[tuple[Kind, int]] = deque()
        self.up = False

    def _connect(self) -> None:
        self.inbox.greet(1)
        self.inbox.start(self.outbox.acknowledged)
        self.outbox.resume(self.inbox.received)
        self.back.append((Kind.ACK, self.inbox.confirmed))
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
            self.there.append(Envelope(Kind.DATA, RUN, 0, 1, *item))

    @precondition(lambda self: self.there)
    @rule()
    def arrive(self) -> None:
        item = self.there.popleft()
        self.inbox.judge(item)
        self.inbox.take(item)
        self.taken.append(item.content)
        self.back.append((Kind.RECEIPT, self.inbox.received))

    @rule()
    def save(self) -> None:
        self.checkpoint = (self.inbox.seen, len(self.taken))
        if self.inbox.confirm(*self.inbox.seen) and self.up:
            self.back.append((Kind.ACK, self.inbox.confirmed))

    @precondition(lambda self: self.back)
    @rule()
    def answer(self) -> None:
        kind, sequence = self.back.popleft()
        (self.outbox.acknowledge if kind is Kind.ACK else self.outbox.receipt)(sequence)

    @rule()
    def crash(self) -> None:
        seen, taken = self.checkpoint
        self.inbox = Inbox(*seen)
        del self.taken[taken:]
        self._cut()

    @invariant()
    def what_was_taken_is_what_was_sent_without_what_was_dropped(self) -> None:
        kept = [frame for frame in self.sent if frame not in self.dropped]
        assert self.taken == kept[: len(self.taken)]

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every frame is safe at the receiver, still with the sender, or was reported as dropped."""
        safe = self.taken[: self.checkpoint[1]]
        assert {*safe, *self.outbox.pending, *self.dropped} == set(self.sent)

    @invariant()
    def room_is_bounded(self) -> None:
        assert len(self.outbox.pending) <= 4 + 6

    def teardown(self) -> None:
        """When the wire holds at last, everything arrives and is forgotten."""
        self._cut()
        self._connect()
        while not self.outbox.empty:
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
    outbox = Outbox(WINDOW, 2 * (1 + OVERHEAD))
    assert outbox.put(b"a") == []
    outbox.resume(0)
    assert outbox.next() == (1, b"a")
    assert [outbox.put(frame) for frame in (b"b", b"c", b"d")] == [[], [], [b"b"]]
    assert outbox.pending == (b"a", b"c", b"d")
    assert outbox.next() == (2, b"c")


def test_a_frame_larger_than_the_room_is_still_taken() -> None:
    outbox = Outbox(WINDOW, 10)
    assert outbox.put(bytes(100)) == []
    assert outbox.put(bytes(50)) == [bytes(100)]
    assert outbox.pending == (bytes(50),)


@pytest.mark.parametrize("sequence", [0, 3, 2**64 - 1])
def test_an_acknowledgement_of_what_was_never_sent_or_long_forgotten_is_refused(sequence: int) -> None:
    outbox = Outbox(WINDOW, ROOM)
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
