"""A channel in a process of its own, for the other side of a network: `python -m tests.live.far_end`.

Agent 1 sends every frame back. Agent 0 sends frames one by one, each after the echo of the one before, and prints how
long each took and how many TCP segments its network namespace sent and sent again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

from simnet.live import certificates
from simnet.live.chain import ORIGIN
from simnet.live.channel import Channel
from simnet.network import frame


async def play(folder: Path, me: int, here: str, there: str, port: int, count: int) -> None:
    arrived: asyncio.Queue[int] = asyncio.Queue()
    ready = asyncio.Event()

    def take(_: int, raw: bytes, head: bytes) -> None:
        arrived.put_nowait(frame.decode(raw).round)
        asyncio.get_running_loop().call_soon(lambda: channel.confirm(channel.seen))

    channel = Channel(
        me,
        (here, port),
        {1 - me: (there, port)},
        certificates.load(folder, me),
        "far away",
        1,
        take,
        lambda *_: None,
        lambda _, up: ready.set() if up else ready.clear(),
        lambda *_: None,
    )
    await channel.start()
    await ready.wait()
    if me == 1:
        while True:
            channel.send(0, _value(me, await arrived.get()), ORIGIN)
    channel.send(1, _value(me, 0), ORIGIN)
    await arrived.get()
    before = _segments()
    trips, rounds = [], []
    for round in range(1, count + 1):
        start = time.perf_counter()
        channel.send(1, _value(me, round), ORIGIN)
        rounds.append(await arrived.get())
        trips.append(time.perf_counter() - start)
    sent, again = (after - earlier for after, earlier in zip(_segments(), before, strict=True))
    await channel.close()
    print(json.dumps({"rounds": rounds, "trips": trips, "sent": sent, "again": again, "refusals": channel.refusals}))


def _value(me: int, round: int) -> bytes:
    return frame.encode(frame.Kind.VALUE, sender=me, round=round, payload=bytes(800))


def _segments() -> tuple[int, int]:
    """TCP segments sent, and sent again, in this network namespace."""
    names, numbers = (
        line.split()
        for line in Path("/proc/self/net/snmp").read_text(encoding="ascii").splitlines()
        if line.startswith("Tcp:")
    )
    tcp = dict(zip(names, numbers, strict=True))
    return int(tcp["OutSegs"]), int(tcp["RetransSegs"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("me", type=int)
    parser.add_argument("here")
    parser.add_argument("there")
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    asyncio.run(play(**vars(parser.parse_args())))
