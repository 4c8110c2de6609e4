"""An agent's port in real time: waits, frames from outside, and a round that is done again."""

from __future__ import annotations

import asyncio
import time
from collections import deque

import numpy as np
import pytest

from simnet.agent.neighbourhood import Neighbourhood
from simnet.errors import FrameError, LiveError
from simnet.live.live_port import LivePort, RepeatedRound
from simnet.live.shim import Clock, Numbering
from simnet.methods.peer import Proposal, within
from simnet.network import frame
from simnet.network.frame import Writer
from simnet.network.link import Passage
from simnet.record import events
from simnet.streams import Streams
from tests.network.models import a_codec

NUMBERING = Numbering({0: [1, 2], 1: [0, 2], 2: [0, 1]})
AT_ONCE = Passage("delivered", 0.0, 0.0, 0.0, 1, 0, False, ())


class Surroundings:
    """Remembers and carries, and keeps the order in which it was asked to."""

    def __init__(self) -> None:
        self.story: list[object] = []

    def event(self, t, event):
        self.story.append(event)

    def heard(self, t, event, raw):
        self.story.append(event)

    def sending(self, round, frames):
        self.story.append(("safe", round))

    def finished(self, round, theta, dual):
        self.story.append(("finished", round))

    def offer(self, now, sizes):
        return dict.fromkeys(sizes, AT_ONCE)

    def launch(self, round, frames, passages):
        self.story.append(("left", round, sorted(frames)))


def opened(replay=None, work_time=None, admits=lambda round, parts: True):
    around, hood = Surroundings(), Neighbourhood([1, 2], (np.zeros(3),), aligned=True, admits=admits)
    known = {1: set(), 2: set()}
    writer = Writer(Streams(1), 0, a_codec("float64"))
    clock = Clock(time.time())
    port = LivePort(0, clock, hood, writer, around, around, NUMBERING, 5, 3, work_time, known, replay)
    return port, around, hood


def value(sender, round, *lengths):
    parts = tuple(np.ones(length) for length in lengths or (3,))
    payload = Writer(Streams(1), sender, a_codec("float64"))._model.encode(parts)
    return frame.encode(frame.Kind.VALUE, sender=sender, round=round, codec=1, payload=payload)


def test_a_wait_ends_with_the_arrival_that_it_is_for():
    async def story():
        port, _, hood = opened()
        waiting = asyncio.create_task(port.until(lambda: hood.missing(1) == 0, port.now + 60))
        await asyncio.sleep(0)
        port.receive(1, value(1, 1))
        await asyncio.sleep(0)
        assert not waiting.done()
        port.receive(2, frame.encode(frame.Kind.NOTICE, sender=2, round=1))
        assert await waiting is True

    asyncio.run(story())


def test_a_wait_in_vain_ends_at_its_deadline():
    async def story():
        port, _, _ = opened()
        end = port.now + 0.03
        assert await port.until(lambda: False, end) is False
        assert port.now >= end - 0.002

    asyncio.run(story())


class Busy:
    """A peer that works for some time."""

    def __init__(self, until):
        self._until = until

    def propose(self, t):
        while not self._until():
            pass
        return Proposal(None)


def test_work_that_was_done_already_is_part_of_the_time_that_work_takes():
    async def story():
        port, _, _ = opened(work_time=lambda work: 0.05)
        begin = port.now
        await port.work(Busy(until=lambda: port.now >= begin + 0.03), 1)
        assert 0.045 <= port.now - begin < 0.079

    asyncio.run(story())


@pytest.mark.parametrize("entry", [1e9, -1e300])
def test_values_that_may_not_be_used_are_remembered_as_refused_and_not_heard(entry):
    async def story():
        port, around, hood = opened(admits=lambda round, parts: within(parts, (1e6,)))
        raw = value(1, 1)
        payload = frame.decode(raw).payload.replace(np.ones(1).tobytes(), np.array([entry]).tobytes(), 1)
        port.receive(1, frame.encode(frame.Kind.VALUE, sender=1, round=1, codec=1, payload=payload))
        port.receive(1, raw)
        port.receive(2, value(2, 1))
        kinds = [entry.kind for entry in around.story]
        assert kinds == ["message.refused", "message.duplicated", "message.delivered"]
        assert around.story[0] == events.MessageRefused(0, 1, 1, NUMBERING(1, 0, 1))
        hood.enter(1)
        assert [hood.of(peer).round for peer in (1, 2)] == [0, 1]

    asyncio.run(story())


def test_frames_leave_only_after_everything_about_them_is_safe():
    async def story():
        port, around, _ = opened()
        port.emit(events.PrivacySpent(0, 1, "release", "m", {}))
        port.broadcast(1, b"payload")
        kinds = [entry if isinstance(entry, tuple) else entry.kind for entry in around.story]
        assert kinds == ["privacy.spent", "message.sent", "message.sent", ("safe", 1), ("left", 1, [1, 2])]

    asyncio.run(story())


def test_both_ends_give_a_message_the_same_number():
    async def story():
        port, around, _ = opened()
        port.broadcast(2, b"x")
        assert [event.message for event in around.story[:2]] == [NUMBERING(0, 1, 2), NUMBERING(0, 2, 2)] == [3, 4]
        port.receive(1, value(1, 2))
        assert around.story[-1] == events.MessageDelivered(0, 2, 1, NUMBERING(1, 0, 2))

    asyncio.run(story())


def test_a_message_that_comes_again_is_known_by_sender_and_round():
    async def story():
        port, around, hood = opened()
        port.receive(1, value(1, 1))
        port.receive(1, value(1, 1))
        assert [entry.kind for entry in around.story] == ["message.delivered", "message.duplicated"]
        hood.enter(1)
        assert hood.of(1).round == 1

    asyncio.run(story())


def test_copies_without_end_are_refused_and_do_not_fill_the_record():
    async def story():
        port, around, _ = opened()
        refused = 0
        for _ in range(1000):
            try:
                port.receive(1, value(1, 1))
            except FrameError:
                refused += 1
        assert len(around.story) + refused == 1000
        assert len(around.story) < 12

    asyncio.run(story())


@pytest.mark.parametrize(
    "raw",
    [
        value(1, 6),
        value(1, 0),
        value(1, 1, 4),
        value(1, 1, 3, 2),
        value(1, 1, 3, 3, 1, 1),
        frame.encode(frame.Kind.VALUE, sender=1, round=1, codec=1, payload=b"nonsense"),
        frame.encode(frame.Kind.VALUE, sender=1, round=1, codec=255, payload=frame.decode(value(1, 1)).payload),
        frame.encode(frame.Kind.NOTICE, sender=1, round=1, payload=b"x"),
        frame.encode(frame.Kind.REQUEST, sender=1, round=1),
        b"",
    ],
    ids=[
        "too late",
        "too early",
        "too long",
        "odd company",
        "too much",
        "no parts",
        "another codec",
        "talkative",
        "question",
        "empty",
    ],
)
def test_a_frame_that_has_no_place_is_refused_and_leaves_no_trace(raw):
    async def story():
        port, around, hood = opened()
        with pytest.raises(FrameError):
            port.receive(1, raw)
        assert around.story == []
        assert hood.missing(1) == 2

    asyncio.run(story())


def again(frames, noted):
    return RepeatedRound(1, deque(noted), frames, dict.fromkeys(frames, AT_ONCE))


def test_a_repeated_round_notes_nothing_twice_and_sends_the_same_frames():
    async def story():
        first, around, _ = opened()
        first.emit(events.RoundStarted(0, 1))
        first.emit(events.PrivacySpent(0, 1, "release", "m", {}))
        first.broadcast(1, b"payload")
        noted = [event for event in around.story[:2] if isinstance(event, events.Event)]
        raw = frame.encode(frame.Kind.VALUE, sender=0, round=1, codec=1, payload=b"payload")
        port, around, hood = opened(again({1: raw, 2: raw}, noted))
        port.emit(events.RoundStarted(0, 1))
        port.receive(1, value(1, 1))
        assert hood.missing(1) == 2, "what comes in meanwhile is heard after the frames have left, as it was before"
        port.emit(events.PrivacySpent(0, 1, "release", "m", {}))
        port.broadcast(1, b"payload")
        assert [event.kind for event in around.story if isinstance(event, events.Event)] == ["message.delivered"]
        assert around.story[-1] == ("left", 1, [1, 2])
        assert hood.missing(1) == 1

    asyncio.run(story())


def test_a_round_that_cannot_be_repeated_to_the_letter_lets_nothing_out():
    async def story():
        raw = frame.encode(frame.Kind.VALUE, sender=0, round=1, codec=1, payload=b"payload")
        port, around, _ = opened(again({1: raw, 2: raw}, [events.PrivacySpent(0, 1, "release", "m", {})]))
        with pytest.raises(LiveError, match="cannot repeat round 1"):
            port.emit(events.PrivacySpent(0, 1, "release", "m", {"sigma": 2.0}))
        port, around, _ = opened(again({1: raw, 2: raw}, []))
        with pytest.raises(LiveError, match="its message differs"):
            port.broadcast(1, b"fresh noise")
        assert around.story == []

    asyncio.run(story())


def test_a_clock_never_goes_backwards():
    clock = Clock(time.time() + 100, floor=3.0)

    assert clock.now == clock.now == 3.0
