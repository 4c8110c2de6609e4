"""Frames on their way to the channel: the scenario's links decide, real time passes."""

from __future__ import annotations

import asyncio
import time

import pytest

from simnet.live.shim import Carrier, Clock, Numbering, Shim
from simnet.network import frame
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.record import events
from simnet.streams import Streams

NUMBERING = Numbering({0: [1, 2], 1: [0], 2: [0]})


class Way:
    """A shim, and what comes out of it."""

    def __init__(self, model: LinkModel, *, shared: bool = False) -> None:
        self.noted: list[events.Event] = []
        self.sent: list[tuple[int, bytes]] = []
        self.failures: list[BaseException] = []
        self.clock = Clock(time.time())
        links = {peer: Link(model, Streams(1), f"0>{peer}") for peer in (1, 2)}
        self.shim = Shim(self._take, 0, links, self.clock, NUMBERING, self.noted.append, self.failures.append, shared)

    def _take(self, peer: int, raw: bytes) -> None:
        if not raw:
            raise OSError("no way")
        self.sent.append((peer, raw))

    def send(self, round: int, **frames: bytes):
        found = {int(peer.removeprefix("to_")): raw for peer, raw in frames.items()}
        passages = self.shim.offer(self.clock.now, {peer: len(raw) for peer, raw in found.items()})
        self.shim.launch(round, found, passages)
        return passages

    async def empty(self) -> None:
        while self.shim.waiting:
            await asyncio.sleep(0.001)


def test_a_frame_is_handed_over_when_its_link_would_have_delivered_it():
    async def story():
        way = Way(LinkModel(latency=0.05))
        passage = way.send(1, to_1=b"frame")[1]
        assert way.sent == []
        assert way.shim.waiting == {1: (b"frame",)}
        await way.empty()
        assert way.sent == [(1, b"frame")]
        assert passage.arrives <= way.clock.now < passage.arrives + 0.5

    asyncio.run(story())


def test_frames_that_arrive_at_one_instant_keep_their_order():
    async def story():
        way = Way(LinkModel(latency={"kind": "uniform", "low": 0.0, "high": 0.03}, order="fifo"))
        for round in range(1, 200):
            way.send(round, to_1=b"%d" % round)
        await way.empty()
        assert [int(raw) for _, raw in way.sent] == list(range(1, 200))

    asyncio.run(story())


def test_what_a_link_loses_never_leaves_and_is_noted():
    async def story():
        way = Way(LinkModel(loss=1.0))
        way.send(3, to_1=b"a", to_2=b"b")
        while len(way.noted) < 2:
            await asyncio.sleep(0.001)
        assert way.sent == []
        assert way.noted == [events.MessageLost(0, 3, 1, 5), events.MessageLost(0, 3, 2, 6)]

    asyncio.run(story())


def test_on_a_shared_medium_bytes_count_with_the_first_message():
    async def story():
        way = Way(LinkModel(), shared=True)
        passages = way.send(1, to_1=b"frame", to_2=b"frame")
        assert [passages[peer].packets for peer in (1, 2)] == [1, 0]
        await way.empty()

    asyncio.run(story())


def test_a_shim_that_recalls_what_was_sent_draws_what_comes_next():
    async def story():
        model = LinkModel(latency={"kind": "lognormal", "median": 0.01}, loss=0.5, bandwidth=1e5)
        one, other = Way(model), Way(model)
        past = []
        for round in range(1, 20):
            t = round / 10
            one.shim.offer(t, {1: 121, 2: 121})
            past += [(t, events.MessageSent(0, round, peer, 0, "value", 100, 121)) for peer in (1, 2)]
        other.shim.recall(past)
        assert one.shim.offer(2.0, {1: 50, 2: 60}) == other.shim.offer(2.0, {1: 50, 2: 60})

    asyncio.run(story())


def test_a_failure_at_the_time_of_sending_does_not_pass_unnoticed():
    async def story():
        way = Way(LinkModel())
        way.send(1, to_1=b"")
        while not way.failures:
            await asyncio.sleep(0.001)
        assert [str(error) for error in way.failures] == ["no way"]

    asyncio.run(story())


@pytest.mark.parametrize("size", [21, 500])
def test_without_a_shim_everything_leaves_at_once_and_weighs_what_it_is(size):
    sent = []
    direct = Carrier(lambda peer, raw: sent.append((peer, raw)))
    raw = frame.encode(frame.Kind.VALUE, sender=0, round=1, payload=bytes(size - frame.HEADER_BYTES))

    passages = direct.offer(1.0, {1: len(raw)})
    direct.launch(1, {1: raw}, passages)

    assert sent == [(1, raw)]
    assert (passages[1].wire_bytes, passages[1].arrives) == (size, 1.0)
    assert direct.waiting == {}
