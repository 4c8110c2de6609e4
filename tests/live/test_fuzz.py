"""Ten thousand envelopes that should not be, against an agent that has better things to do."""

from __future__ import annotations

import asyncio
import gc
import ssl
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from simnet.build import build
from simnet.live import certificates
from simnet.live.agent import LiveAgent, Placement, serve
from simnet.live.chain import ORIGIN
from simnet.live.envelope import HEADER_BYTES, Reason
from simnet.live.fleet import free_ports
from simnet.network import frame
from simnet.streams import Streams
from tests.live.party import (
    HOST,
    NOWHERE,
    PATIENCE,
    QUICK,
    RUN,
    Caller,
    Party,
    counts,
    data,
    hello,
    run,
    running,
    value,
)
from tests.network.test_encoders import make
from tests.worlds import live_world

ME, HONEST, HOSTILE = 0, 1, 2

WATCHED = 500
"""The last cases, during which memory is watched; watching makes everything three times slower."""

Case = tuple[bytes, set[Reason]]
"""What is said on a connection of its own, and the words that it may be refused under."""


def _random(chance: np.random.Generator) -> Case:
    raw = b"\0" + chance.bytes(int(chance.integers(200)))
    return raw, {Reason.TRUNCATED if len(raw) < HEADER_BYTES else Reason.MALFORMED}


def _random_after_hello(chance: np.random.Generator) -> Case:
    raw, reasons = _random(chance)
    return hello(HOSTILE) + raw, reasons


def _truncated(chance: np.random.Generator) -> Case:
    raw = data(HOSTILE, 2, content=value(HOSTILE, 2, chance.bytes(100)))
    return hello(HOSTILE) + raw[: int(chance.integers(1, len(raw)))], {Reason.TRUNCATED}


def _flipped(chance: np.random.Generator) -> Case:
    raw = bytearray(data(HOSTILE, 2, content=value(HOSTILE, 2, chance.bytes(100))))
    raw[int(chance.integers(len(raw)))] ^= 1 << int(chance.integers(8))
    faults = {Reason.MALFORMED, Reason.VERSION, Reason.OVERSIZED, Reason.CHECKSUM, Reason.TRUNCATED}
    return hello(HOSTILE) + bytes(raw), faults


def _replayed(chance: np.random.Generator) -> Case:
    return hello(HOSTILE) + data(HOSTILE, 1, content=value(HOSTILE, 1, chance.bytes(100))), {Reason.REPLAYED}


def _skipped(chance: np.random.Generator) -> Case:
    return hello(HOSTILE) + data(HOSTILE, int(chance.integers(3, 2**62))), {Reason.GAP}


def _unknown_peer(chance: np.random.Generator) -> Case:
    return hello(int(chance.integers(3, 2**32))), {Reason.STRANGER, Reason.IMPOSTOR}


def _wrong_peer(_: np.random.Generator) -> Case:
    return hello(HOSTILE) + data(HONEST, 2), {Reason.IMPOSTOR}


def _wrong_run(chance: np.random.Generator) -> Case:
    return hello(HOSTILE, run=str(chance.integers(2**62))), {Reason.OTHER_RUN}


def _old_incarnation(chance: np.random.Generator) -> Case:
    return hello(HOSTILE, incarnation=0, sequence=int(chance.integers(9))), {Reason.OUT_OF_DATE}


def _four_gibibytes(chance: np.random.Generator) -> Case:
    raw = bytearray(data(HOSTILE, 2))
    raw[40:44] = b"\xff\xff\xff\xff"
    return hello(HOSTILE) + bytes(raw) + chance.bytes(1000), {Reason.OVERSIZED}


KINDS: list[Callable[[np.random.Generator], Case]] = [
    _random,
    _random_after_hello,
    _truncated,
    _flipped,
    _replayed,
    _skipped,
    _unknown_peer,
    _wrong_peer,
    _wrong_run,
    _old_incarnation,
    _four_gibibytes,
]


def _cases(count: int) -> Iterator[Case]:
    chance = Streams(1).generator("fuzz", "channel")
    for index in range(count):
        yield KINDS[index % len(KINDS)](chance)


@pytest.mark.parametrize(("secure", "count"), [(False, 9_000), (True, 1_000)], ids=["plain", "TLS"])
def test_the_agent_answers_its_neighbour_throughout_and_counts_every_refusal(
    deployment: Path, secure: bool, count: int
) -> None:
    folder = deployment if secure else None
    tls = certificates.load(deployment, HOSTILE).client() if secure else None

    async def story() -> None:
        agent = Party(folder, ME, {HONEST: NOWHERE, HOSTILE: NOWHERE}, on_frame=lambda peer, _: agent.send(peer, 1))
        honest = Party(folder, HONEST, {ME: NOWHERE})
        async with running(agent, honest):
            first = await Caller.dial(agent.channel.address, tls, "agent-0.simnet")
            first.say(hello(HOSTILE), data(HOSTILE, 1, round=1))
            await agent.has((HOSTILE, 1))
            first.hang_up()
            spent = Counter[frozenset[Reason]]()
            for index, (said, reasons) in enumerate(_cases(count)):
                await _throw(agent, tls, said, index + 1)
                assert agent.refused[-1][1] in reasons
                spent[frozenset(reasons)] += 1
                if index % 100 == 0:
                    honest.send(ME, index)
                    await honest.until(lambda: len(honest.got) == index // 100 + 1)  # noqa: B023
                if index == count - WATCHED:
                    tracemalloc.start()
            gc.collect()
            kept, peak = tracemalloc.get_traced_memory()
            # TLS takes 256 KiB at either end of the last connection; beyond that, less than 1 KiB a case.
            assert kept < (1 << 19) + (WATCHED << 10)
            assert peak < 16 << 20
            assert sum(counts(agent).values()) == len(agent.refused) == count
            for reasons, total in spent.items():
                assert sum(counts(agent).get(reason, 0) for reason in reasons) >= total
            assert honest.refused == []
            assert honest.states == [(ME, True)]
            assert agent.got == [(HOSTILE, 1), *((HONEST, index) for index in range(0, count, 100))]

    try:
        run(story)
    finally:
        tracemalloc.stop()


def test_garbage_instead_of_a_handshake_is_counted_and_costs_a_neighbour_nothing(deployment: Path) -> None:
    async def story() -> None:
        agent = Party(deployment, ME, {HONEST: NOWHERE}, on_frame=lambda peer, _: agent.send(peer, 1))
        honest = Party(deployment, HONEST, {ME: NOWHERE})
        chance = Streams(1).generator("fuzz", "handshake")
        async with running(agent, honest):
            for index in range(300):
                await _throw(agent, None, chance.bytes(int(chance.integers(400))), index + 1)
            assert counts(agent) == {"handshake": 300}
            honest.send(ME, 1)
            await honest.has((ME, 1))

    run(story)


async def _throw(agent: Party, tls: ssl.SSLContext | None, said: bytes, total: int) -> None:
    client = await Caller.dial(agent.channel.address, tls, "agent-0.simnet")
    client.say(said)
    if client.writer.can_write_eof():
        client.writer.write_eof()
    else:
        client.writer.close()
    await agent.until(lambda: len(agent.refused) == total)
    client.hang_up()


class _Supervisor:
    """Lets an agent begin at once, and leave when it has refused so much; says when its rounds begin and end."""

    def __init__(self, much: int) -> None:
        self.refusals = Counter[str]()
        self.begun = asyncio.Event()
        self.finished = asyncio.Event()
        self._much = much
        self._enough = asyncio.Event()

    async def epoch(self) -> float:
        return time.time()

    def round_finished(self, round: int) -> None:
        self.begun.set()

    def waits_for(self, peers: Sequence[int]) -> None:
        pass

    def refused(self, peer: int | None, reason: str) -> None:
        self.refusals[reason] += 1
        if self.refusals.total() == self._much:
            self._enough.set()

    async def until_dismissed(self, agent: LiveAgent) -> None:
        self.finished.set()
        async with asyncio.timeout(PATIENCE):
            await self._enough.wait()


def _nonsense(chance: np.random.Generator, rounds: int, features: int) -> bytes:
    """A frame in order, from its own sender, that is no message of the run."""
    payload, round = chance.bytes(int(chance.integers(1, 200))), int(chance.integers(1, rounds + 1))
    kind, whole = frame.Kind.VALUE, make("float64").encode((np.zeros(features),))
    match int(chance.integers(8)):
        case 0:
            kind = frame.Kind.NOTICE
        case 1:
            kind, payload = frame.Kind([3, 4, 5][int(chance.integers(3))]), whole
        case 2:
            round, payload = int(chance.choice([0, rounds + 1, 2**32 - 1])), whole
        case 3:
            payload = make("float64").encode((np.zeros(features + 1 + int(chance.integers(100))),))
        case 4:
            payload = whole[: int(chance.integers(len(whole)))]
        case 5:
            payload = whole[:-8] + np.array([np.nan if chance.integers(2) else np.inf]).tobytes()
        case 6:
            payload = bytes([255]) + b"\xff" * 1020 + payload
        case _:
            payload = b"\0" + payload
    return frame.encode(kind, sender=HOSTILE, round=round, codec=1, payload=payload)


def test_agents_with_a_neighbour_that_talks_nonsense_finish_their_rounds(deployment: Path, tmp_path: Path) -> None:
    """Three agents, one of which says nothing that belongs to the run; the two others learn without it."""
    agreed = live_world(rounds=20, network={"pacing": {"kind": "deadline", "period": 0.05}})
    world, count = build(agreed), 2_500
    chance = Streams(1).generator("fuzz", "agent")

    async def story() -> None:
        ports = free_ports(3)
        places = {agent: (HOST, port) for agent, port in enumerate(ports)}
        supervisors = [_Supervisor(count), _Supervisor(count)]
        placements = [
            Placement(me, tmp_path / str(me), RUN, places[me], places, deployment, shim=False) for me in (ME, HONEST)
        ]
        peers = {ME: places[ME], HONEST: places[HONEST]}
        hostile = Party(deployment, HOSTILE, peers, listen=places[HOSTILE], limits=QUICK)
        async with running(hostile), asyncio.TaskGroup() as group:
            for placement, supervisor in zip(placements, supervisors, strict=True):
                group.create_task(serve(world, placement, supervisor))
            for peer, supervisor in enumerate(supervisors):
                await supervisor.begun.wait()
                for _ in range(count):
                    hostile.channel.send(peer, _nonsense(chance, agreed.rounds, world.learning.features), ORIGIN)
        for supervisor in supervisors:
            assert supervisor.finished.is_set()
            assert supervisor.refusals == {"unusable": count}

    run(story)
