"""Two or three agents, real sockets, real TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from simnet.errors import FrameError, LiveError
from simnet.live import certificates
from simnet.live.certificates import Certificates
from simnet.live.chain import ORIGIN
from simnet.live.channel import Channel
from simnet.live.connection import Limits
from simnet.live.envelope import Envelope, EnvelopeKind, Greeting, encode, run_id
from tests.live.party import (
    HOST,
    NOWHERE,
    PATIENCE,
    QUICK,
    RUN,
    Caller,
    Party,
    Proxy,
    caller,
    counts,
    data,
    hello,
    pair,
    run,
    running,
    value,
)


def test_frames_arrive_once_and_in_order_in_both_directions(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        async with running(left, right):
            left.send(1, *range(200))
            right.send(0, *range(100))
            await right.has(*((0, round) for round in range(200)))
            await left.has(*((1, round) for round in range(100)))
            await left.is_rid_of_all()
            await right.is_rid_of_all()
        assert counts(left) == counts(right) == {}

    run(story)


def test_loopback_needs_no_certificates() -> None:
    async def story() -> None:
        left, right = pair(None)
        async with running(left, right):
            left.send(1, 7)
            await right.has((0, 7))

    run(story)


def test_what_was_sent_before_the_neighbour_was_there_waits_for_it(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        await left.channel.start()
        left.send(1, 1, 2, 3)
        async with running(right):
            left.peers[1] = right.channel.address
            await right.has((0, 1), (0, 2), (0, 3))
            await left.is_rid_of_all()
        await left.channel.close()

    run(story)


def test_a_connection_cut_at_any_place_costs_no_frame_and_doubles_none(deployment: Path) -> None:
    """Cuts fall into handshakes, hellos, headers and contents; each connection gets a little further."""

    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        cuts = list(range(200, 9000, 431))
        proxy = Proxy(lambda: right.channel.address, cuts)
        left.peers[1] = await proxy.start()
        async with running(right, left):
            for round in range(60):
                left.channel.send(1, value(0, round, bytes(97 * (round % 11))), ORIGIN)
            await right.has(*((0, round) for round in range(60)))
            await left.is_rid_of_all()
            assert proxy.cuts >= 10
            assert counts(right).keys() <= {"handshake", "truncated"}
            assert counts(left) == {}
        await proxy.close()

    run(story)


def test_a_frame_cut_in_its_middle_is_sent_again(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        proxy = Proxy(lambda: right.channel.address, [200_000])
        left.peers[1] = await proxy.start()
        async with running(right, left):
            left.channel.send(1, value(0, 5, bytes(1_000_000)), ORIGIN)
            left.send(1, 6)
            await right.has((0, 5), (0, 6))
            assert proxy.cuts == 1
            assert counts(right).keys() <= {"truncated"}
        await proxy.close()

    run(story)


def test_everyone_hears_whether_frames_can_leave(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        async with running(left):
            async with running(right):
                left.peers[1] = right.channel.address
                await left.until(lambda: left.states == [(1, True)])
            await left.until(lambda: left.states == [(1, True), (1, False)])

    run(story)


def test_a_restarted_receiver_gets_what_its_crashed_process_had_not_acknowledged(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK, keep=True)
        async with running(left):
            async with running(right):
                left.peers[1] = right.channel.address
                left.send(1, 1, 2)
                await right.has((0, 1), (0, 2))
                right.channel.confirm(right.channel.seen)
                await left.is_rid_of_all()
                left.send(1, 3, 4)
                await right.has((0, 1), (0, 2), (0, 3), (0, 4))
            left.send(1, 5)
            again = Party(deployment, 1, {0: left.channel.address}, incarnation=2, keep=True)
            async with running(again):
                left.peers[1] = again.channel.address
                await again.has((0, 3), (0, 4), (0, 5))
                assert len(left.channel.pending[1]) == 3
                again.channel.confirm(again.channel.seen)
                await left.is_rid_of_all()

    run(story)


def test_a_live_receiver_that_has_not_confirmed_gets_nothing_twice_after_a_cut(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK, keep=True)
        proxy = Proxy(lambda: right.channel.address, [])
        left.peers[1] = await proxy.start()
        async with running(right, left):
            left.send(1, 1, 2)
            await right.has((0, 1), (0, 2))
            proxy.cut()
            await left.until(lambda: left.states[-2:] == [(1, False), (1, True)])
            left.send(1, 3)
            await right.has((0, 1), (0, 2), (0, 3))
            right.channel.confirm(right.channel.seen)
            await left.is_rid_of_all()
        await proxy.close()

    run(story)


def test_a_restarted_sender_counts_anew_and_its_earlier_process_is_out_of_date(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        async with running(left, right):
            left.send(1, 1, 2)
            await right.has((0, 1), (0, 2))
            again = Party(deployment, 0, {1: right.channel.address}, incarnation=2)
            async with running(again):
                again.send(1, 3)
                await right.has((0, 1), (0, 2), (0, 3))
                left.send(1, 4)
                await right.refuses("out of date")
                assert right.refused[-1] == (0, "out of date")
                again.send(1, 5)
                await right.has((0, 1), (0, 2), (0, 3), (0, 5))

    run(story)


def test_what_a_crashed_process_had_yet_to_send_can_be_sent_by_the_next(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=QUICK)
        left.send(1, 1, 2)
        saved = left.channel.pending
        assert saved == {1: (value(0, 1), value(0, 2))}
        again = Party(deployment, 0, {1: NOWHERE}, incarnation=2)
        for frame in saved[1]:
            again.channel.send(1, frame, ORIGIN)
        async with running(again, right):
            await right.has((0, 1), (0, 2))
            await again.is_rid_of_all()
            assert again.channel.pending == {1: ()}

    run(story)


def test_a_client_without_a_certificate_gets_nowhere(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        async with running(left, right):
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            tls.load_verify_locations(deployment / "ca.pem")
            client = await Caller.dial(right.channel.address, tls, "agent-1.simnet")
            client.say(hello(0), data(0, 1))
            assert await client.hears_the_end() == b""
            await right.refuses("stranger")
            assert right.got == []

    run(story)


def test_a_client_with_a_certificate_of_another_authority_gets_nowhere(deployment: Path, elsewhere: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        async with running(left, right):
            tls = Certificates(deployment / "ca.pem", elsewhere / "agent-0.pem", elsewhere / "agent-0.key").client()
            client = await Caller.dial(right.channel.address, tls, "agent-1.simnet")
            client.say(hello(0), data(0, 1))
            assert await client.hears_the_end() == b""
            await right.refuses("stranger")
            assert right.got == []

    run(story)


def test_an_agent_of_the_deployment_that_is_no_neighbour_gets_nowhere(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        async with running(left, right):
            for name in (2, 0):
                client = await caller(right, deployment, 2)
                client.say(hello(name), data(name, 1))
                assert await client.hears_the_end() == b""
            await right.refuses("stranger", 2)
            assert right.got == []

    run(story)


def test_a_neighbour_under_another_neighbours_name_gets_nowhere(deployment: Path) -> None:
    async def story() -> None:
        right = Party(deployment, 1, {0: NOWHERE, 2: NOWHERE})
        async with running(right):
            client = await caller(right, deployment, 2)
            client.say(hello(0), data(0, 1))
            assert await client.hears_the_end() == b""
            await right.refuses("impostor")
            client = await caller(right, deployment, 2)
            client.say(hello(2), data(0, 1))
            await right.refuses("impostor", 2)
            assert right.refused == [(2, "impostor"), (2, "impostor")]
            assert right.got == []

    run(story)


def test_older_tls_gets_nowhere(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        async with running(left, right):
            tls = certificates.load(deployment, 0).client()
            tls.minimum_version = tls.maximum_version = ssl.TLSVersion.TLSv1_2
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await Caller.dial(right.channel.address, tls, "agent-1.simnet")
            await right.refuses("handshake")

    run(story)


def test_nothing_is_sent_to_an_agent_that_is_not_the_one_that_was_dialled(deployment: Path, elsewhere: Path) -> None:
    """The peer file sends agent 0 to agent 2 of the deployment, then to agent 1 of another one."""

    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE}, limits=QUICK)
        neighbour = Party(deployment, 2, {0: NOWHERE, 1: NOWHERE})
        namesake = Party(elsewhere, 1, {0: NOWHERE})
        async with running(left, neighbour, namesake):
            left.send(1, 1)
            left.peers[1] = neighbour.channel.address
            await left.refuses("impostor")
            left.peers[1] = namesake.channel.address
            await left.refuses("stranger")
            assert neighbour.got == namesake.got == []
            assert left.channel.pending == {1: (value(0, 1),)}

    run(story)


def test_a_neighbour_that_sends_anothers_frame_is_refused_the_frame_and_keeps_its_connection(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        async with running(left, right):
            left.channel.send(1, value(3, 1), ORIGIN)
            left.channel.send(1, b"no frame", ORIGIN)
            left.send(1, 2)
            await right.has((0, 2))
            await left.is_rid_of_all()
            assert right.refused == [(0, "impostor"), (0, "unusable")]
            assert left.states == [(1, True)]

    run(story)


def test_a_frame_that_the_agent_cannot_read_does_not_stop_it(deployment: Path) -> None:
    def picky(peer: int, raw: bytes) -> None:
        if raw == value(0, 1):
            raise FrameError("a codec that nobody knows")

    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE})
        right = Party(deployment, 1, {0: NOWHERE}, on_frame=picky)
        async with running(left, right):
            left.send(1, 1, 2)
            await right.has((0, 2))
            assert right.refused == [(0, "unusable")]

    run(story)


def test_an_agent_that_fails_while_it_takes_a_frame_stops_and_the_frame_is_not_lost(deployment: Path) -> None:
    """A full disk, say. The frame is neither received nor acknowledged, and comes to the next process."""

    def full(peer: int, raw: bytes) -> None:
        if raw == value(0, 2):
            raise OSError(28, "No space left on device")

    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE}, limits=QUICK)
        right = Party(deployment, 1, {0: NOWHERE}, on_frame=full)

        async def live() -> None:
            await right.channel.start()
            left.peers[1] = right.channel.address
            try:
                await asyncio.Event().wait()
            finally:
                assert right.channel.seen == {0: (1, 1)}
                await right.channel.close()

        async with running(left):
            left.send(1, 1, 2, 3)
            with pytest.raises(OSError, match="No space left on device"):
                await live()
            assert right.got == [(0, 1)]
            again = Party(deployment, 1, {0: left.channel.address}, incarnation=2)
            async with running(again):
                left.peers[1] = again.channel.address
                await again.until(lambda: again.got[-2:] == [(0, 2), (0, 3)])  # 1 may not have been acknowledged

    run(story)


def test_an_agent_that_fails_while_it_is_connected_both_ways_comes_to_its_end(deployment: Path) -> None:
    """The end of its own connection was told to an agent that had failed already, which hid that it was cancelled."""

    def full(peer: int, raw: bytes) -> None:
        raise OSError(28, "No space left on device")

    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE}, limits=QUICK)
        right = Party(deployment, 1, {0: NOWHERE}, on_frame=full, limits=QUICK)

        async def live() -> None:
            await right.channel.start()
            left.peers[1], right.peers[0] = right.channel.address, left.channel.address
            try:
                await right.until(lambda: (0, True) in right.states)
                left.send(1, 1)
                await asyncio.Event().wait()
            finally:
                await right.channel.close()

        async with running(left), asyncio.timeout(PATIENCE):
            with pytest.raises(OSError, match="No space left on device"):
                await live()

    run(story)


def test_a_failing_report_of_a_refusal_or_a_state_stops_the_agent_too(deployment: Path) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("the agent's own mistake")

    def ignore(*_: object) -> None:
        pass

    async def live(on_refusal: Callable[..., None], on_state: Callable[..., None]) -> None:
        right = Party(deployment, 1, {0: NOWHERE})
        async with running(right):
            peers = {1: right.channel.address}
            tls = certificates.load(deployment, 0)
            left = Channel(0, (HOST, 0), peers, tls, RUN, 1, ignore, on_refusal, on_state, ignore)
            await left.start()
            garbage = await Caller.dial(left.address, None)
            garbage.say(bytes(100))
            try:
                await asyncio.Event().wait()
            finally:
                garbage.hang_up()
                await left.close()

    for callbacks in ((fail, ignore), (ignore, fail)):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(live(*callbacks))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (hello(0, run="another run"), "other run"),
        (data(0, 1), "oversized"),
        (encode(Envelope(EnvelopeKind.RECEIPT, run_id(RUN), 0, 1, 0)), "malformed"),
        (hello(0) + data(0, 2), "gap"),
        (hello(0) + data(0, 1) + data(0, 1), "replayed"),
        (hello(0, sequence=7) + data(0, 7), "replayed"),
        (hello(0) + data(0, 1, run="another run"), "other run"),
        (hello(0) + data(0, 1, incarnation=0), "out of date"),
        (hello(0) + data(3, 1), "impostor"),
        (hello(0) + hello(0), "malformed"),
        (hello(0) + encode(Envelope(EnvelopeKind.ACK, run_id(RUN), 0, 1, 0)), "malformed"),
        (hello(0)[:30], "truncated"),
        (hello(0) + data(0, 1)[:-1], "truncated"),
        (hello(0) + b"\xff" * 48, "malformed"),
    ],
    ids=lambda said: said if isinstance(said, str) else "",
)
def test_a_neighbour_that_breaks_a_rule_loses_its_connection(deployment: Path, said: bytes, reason: str) -> None:
    async def story() -> None:
        right = Party(deployment, 1, {0: NOWHERE})
        async with running(right):
            client = await caller(right, deployment, 0)
            client.say(said)
            if reason == "truncated":
                client.writer.close()
            await right.refuses(reason)
            await client.hears_the_end()
            assert right.refused == [(0, reason)]

    run(story)


def test_a_neighbour_that_calls_again_replaces_its_connection(deployment: Path) -> None:
    async def story() -> None:
        right = Party(deployment, 1, {0: NOWHERE})
        async with running(right):
            first = await caller(right, deployment, 0)
            first.say(hello(0), data(0, 1, round=1))
            await right.has((0, 1))
            second = await caller(right, deployment, 0)
            second.say(hello(0))
            answer = await second.hear()
            assert (answer.kind, answer.sender, answer.sequence) == (EnvelopeKind.HELLO, 1, 1)
            await first.hears_the_end()
            second.say(data(0, 2, round=2))
            await right.has((0, 1), (0, 2))
            assert counts(right) == {}

    run(story)


def test_a_process_that_was_put_back_is_told_so_by_whom_it_dials(deployment: Path) -> None:
    """Nobody else would: the neighbour may take its connection to the later process for alive, and never dial again."""

    async def story() -> None:
        right = Party(deployment, 1, {0: NOWHERE})
        async with running(right):
            later = await caller(right, deployment, 0)
            later.say(hello(0, incarnation=2))
            await later.hear()
            back = await caller(right, deployment, 0)
            back.say(hello(0, incarnation=1))
            answer = await back.hear()
            assert answer.kind is EnvelopeKind.HELLO
            assert Greeting.decode(answer.content).incarnation == 2
            back.writer.close()
            await right.refuses("out of date")
            later.say(data(0, 1, incarnation=2, round=1))
            await right.has((0, 1))

    run(story)


def test_a_crowd_of_silent_callers_does_not_keep_a_neighbour_out(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=Limits(introductions=8, introduction=3600))
        await right.channel.start()
        crowd = [await Caller.dial(right.channel.address, None) for _ in range(40)]
        await right.refuses("crowded", 32)
        left.peers[1] = right.channel.address
        async with running(left):
            left.send(1, 1)
            await right.has((0, 1))
        for client in crowd:
            client.hang_up()
        await right.channel.close()

    run(story)


def test_a_caller_that_takes_its_time_with_the_introduction_is_sent_away(deployment: Path) -> None:
    async def story() -> None:
        right = Party(deployment, 1, {0: NOWHERE}, limits=Limits(introduction=0.2))
        async with running(right):
            silent = await Caller.dial(right.channel.address, None)
            await silent.hears_the_end()
            await right.refuses("slow")
            assert right.refused == [(None, "slow")]

    run(story)


def test_an_envelope_that_does_not_end_in_time_costs_its_sender_the_connection(deployment: Path) -> None:
    async def story() -> None:
        right = Party(deployment, 1, {0: NOWHERE}, limits=Limits(envelope=0.2))
        async with running(right):
            client = await caller(right, deployment, 0)
            client.say(hello(0), data(0, 1)[:-1])
            await client.hears_the_end()
            assert right.refused == [(0, "slow")]

    run(story)


class Host:
    """A neighbour of our own making: it greets with `greeting` and then says what it is told to."""

    def __init__(self, folder: Path, agent: int, greeting: bytes) -> None:
        self._tls = certificates.load(folder, agent).server()
        self._greeting = greeting
        self.calls: asyncio.Queue[Caller] = asyncio.Queue()

    async def start(self) -> tuple[str, int]:
        self._server = await asyncio.start_server(self._greet, HOST, 0, ssl=self._tls)
        host, port = self._server.sockets[0].getsockname()
        return host, port

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Caller(reader, writer)
        await client.hear()
        client.say(self._greeting)
        await self.calls.put(client)

    async def close(self) -> None:
        self._server.close()


def test_a_neighbour_that_takes_frames_and_never_says_so_is_dialled_again(deployment: Path) -> None:
    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE}, limits=Limits(silence=0.2, first_pause=0.01))
        mute = Host(deployment, 1, hello(1))
        left.peers[1] = await mute.start()
        async with running(left):
            left.send(1, 1)
            for _ in range(3):
                client = await mute.calls.get()
                again = await client.hear(1000)
                assert (again.sequence, again.content) == (1, ORIGIN + value(0, 1))
                client.hang_up()
        await mute.close()

    run(story)


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (hello(1, sequence=5), "malformed"),
        (hello(1, run="another run"), "other run"),
        (hello(2), "impostor"),
        (hello(1) + encode(Envelope(EnvelopeKind.ACK, run_id(RUN), 1, 1, 9)), "malformed"),
        (hello(1) + encode(Envelope(EnvelopeKind.ACK, run_id(RUN), 1, 7, 0)), "out of date"),
        (hello(1) + data(1, 1), "oversized"),
    ],
    ids=lambda said: said if isinstance(said, str) else "",
)
def test_a_neighbour_that_answers_nonsense_is_refused_and_nothing_is_forgotten(
    deployment: Path, greeting: bytes, reason: str
) -> None:
    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE}, limits=QUICK)
        liar = Host(deployment, 1, greeting)
        left.peers[1] = await liar.start()
        async with running(left):
            left.send(1, 1)
            await left.refuses(reason)
            assert left.channel.pending == {1: (value(0, 1),)}
            assert set(left.refused) == {(1, reason)}
        await liar.close()

    run(story)


def test_when_too_much_waits_for_a_neighbour_the_oldest_goes_and_is_reported(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=Limits(outbox_bytes=5 * (len(ORIGIN + value(0, 0)) + 128)))
        left.send(1, *range(12))
        assert left.overflowed == list(range(7))
        async with running(left, right):
            await right.has(*((0, round) for round in range(7, 12)))
            await left.is_rid_of_all()
            assert counts(right) == {}

    run(story)


def test_a_full_window_opens_with_the_acknowledgements(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment, limits=Limits(window_bytes=3 * 128))
        async with running(left, right):
            left.send(1, *range(50))
            await right.has(*((0, round) for round in range(50)))
            assert left.overflowed == []

    run(story)


def test_without_tls_only_loopback_will_do(deployment: Path) -> None:
    for listen, peer in (("0.0.0.0", HOST), (HOST, "192.0.2.1"), ("192.0.2.1", "::1"), (HOST, "example.org")):
        with pytest.raises(LiveError, match=r"agent 0 would speak without TLS at .*: only loopback goes without"):
            _channel(None, (listen, 0), {1: (peer, 1)})
    _channel(None, ("localhost", 0), {1: ("::1", 1)})
    _channel(certificates.load(deployment, 0), ("0.0.0.0", 0), {1: ("192.0.2.1", 1)})


def test_a_frame_that_is_too_long_is_told_in_a_sentence() -> None:
    with pytest.raises(FrameError, match="a frame of 4194305 bytes is too long for the channel: 4194304 at most"):
        _channel(None, (HOST, 0), {1: NOWHERE}).send(1, bytes(4194305), ORIGIN)


def test_a_port_that_is_taken_is_named(deployment: Path) -> None:
    async def story() -> None:
        left = Party(deployment, 0, {1: NOWHERE})
        async with running(left):
            taken = Party(deployment, 1, {0: NOWHERE}, listen=left.channel.address)
            with pytest.raises(LiveError, match=r"agent 1 cannot listen on 127\.0\.0\.1:\d+ \(.*in use.*\): give it"):
                await taken.channel.start()

    run(story)


def test_closing_leaves_nothing_behind(deployment: Path) -> None:
    async def story() -> None:
        left, right = pair(deployment)
        before = asyncio.all_tasks()
        async with running(left, right):
            left.send(1, 1)
            await right.has((0, 1))
        assert asyncio.all_tasks() == before
        with pytest.raises(ConnectionRefusedError):
            await Caller.dial(left.peers[1], None)

    run(story)


def _channel(tls: Certificates | None, listen: tuple[str, int], peers: dict[int, tuple[str, int]]) -> Channel:
    return Channel(0, listen, peers, tls, RUN, 1, *[lambda *_: None] * 4)
