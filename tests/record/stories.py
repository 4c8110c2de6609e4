"""Small lawful runs, written without any engine: what the tests of the record read, alter and break."""

from __future__ import annotations

import heapq
import io
import random
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import numpy as np
import zstandard

from simnet.record import events as ev
from simnet.record.bus import Bus
from simnet.record.folder import RunFolder
from simnet.record.lines import pack
from simnet.record.log_writer import LogWriter
from simnet.record.metrics import Metrics
from simnet.record.sealed import SealedWriter

Story = list[tuple[float, ev.Event]]


TEST = {
    "rows": 100.0,
    "curvature": 0.1,
    "lipschitz": 1.0,
    "smoothness": 0.25,
    "weight": 1.0,
    "clip": 2.0,
    "tolerance": 1e-6,
    "threshold_scale": 1.0,
    "query_scale": 9.0,
    "tests": 30.0,
    "shared_noise": 0.0,
    "regularised": 0.0,
    "redraw": 0.0,
    "printed": 0.0,
}
"""The numbers of a sparse vector test, but for its cap."""


def scenario(pacing: str = "deadline", **changes) -> dict:
    return {
        "name": "a story",
        "seed": 1,
        "rounds": 3,
        "algorithm": {"name": "admm", "eta": 0.01},
        "privacy": {"epsilon": 1.0, "delta": 1e-4},
        "network": {"pacing": {"kind": pacing}, "link": {"loss": {"kind": "bernoulli", "p": 0.05}}},
    } | changes


def start(agents: int, edges: Iterable[tuple[int, int]], pacing: str = "deadline", **changes) -> ev.RunStarted:
    told = scenario(pacing, topology={"kind": "complete", "agents": agents}, **changes)
    return ev.RunStarted(ev.SCHEMA, "0.1.0", False, told, list(edges), [10] * agents, 2)


def ring(agents: int) -> list[tuple[int, int]]:
    return sorted({(min(a, b), max(a, b)) for a, b in ((a, (a + 1) % agents) for a in range(agents))})


def lawful(
    *,
    agents: int = 3,
    rounds: int = 3,
    seed: int = 1,
    pacing: str = "deadline",
    loss: float = 0.2,
    tested: bool = False,
    notices: bool = False,
    cap: int = 100,
) -> Story:
    """A run on a ring whose agents keep different time; messages are lost, dropped, late or still on their way."""
    chance = random.Random(seed)
    edges = ring(agents)
    peers = {a: sorted({x for edge in edges if a in edge for x in edge} - {a}) for a in range(agents)}
    period = {a: 1.0 + 0.3 * chance.random() for a in range(agents)}
    known = {(a, p): {0} for a in range(agents) for p in peers[a]}
    story: Story = [(0.0, start(agents, edges, pacing, rounds=rounds))]
    finished, releases, evaluated = [0] * agents, [0] * agents, 0
    numbers, order = count(1), count()
    agenda: list = [(0.0, next(order), "start", a, 1, 0, True) for a in range(agents)]
    heapq.heapify(agenda)

    def tell(*happened: ev.Event) -> None:
        story.extend((now, each) for each in happened)

    def send(a: int, r: int, carries: str, size: int) -> None:
        for peer in peers[a]:
            message = next(numbers)
            tell(ev.MessageSent(a, r, peer, message, carries, size, size + 32))
            fate = chance.random()
            if fate < loss / 4:
                tell(ev.MessageOverflowed(a, r, peer, message))
            elif fate < loss / 2:
                tell(ev.MessageUnreachable(a, r, peer, message))
            else:
                what = "lost" if fate < loss else "arrives"
                item = (now + 2.5 * chance.random(), next(order), what, a, r, (peer, message), carries == "value")
                heapq.heappush(agenda, item)

    def work(a: int, r: int) -> None:
        tell(ev.SolveFinished(a, r, 4))
        if tested and r == 1:
            tell(ev.PrivacySpent(a, r, "test", "sparse-vector", TEST | {"cap": float(cap)}))
            tell(ev.PrivacySpent(a, r, "test", "bare-model", {}, cap))
        passed = chance.random() < 0.6
        if tested and releases[a] < cap:
            if passed:
                tell(ev.PrivacySpent(a, r, "release", "bare-model", {}))
            tell(ev.SvtTested(a, r, passed))
        elif not tested:
            passed = True
            tell(ev.PrivacySpent(a, r, "release", "bare-model", {}))
        else:
            passed = False
            tell(ev.BroadcastSkipped(a, r, "exhausted"))
            return
        if passed:
            releases[a] += 1
            value = np.array([a + r / 7, -r / 3])
            tell(ev.ReleaseMade(a, r, pack(value)), ev.BroadcastSent(a, r, 16))
            send(a, r, "value", 16)
        else:
            tell(ev.BroadcastSkipped(a, r, "test"))
            if notices:
                send(a, r, "notice", 0)

    while agenda and min(finished) < rounds:
        now, _, what, a, r, about, carries_value = heapq.heappop(agenda)
        now = round(now, 9)
        if what == "start":
            tell(ev.RoundStarted(a, r))
            heapq.heappush(agenda, (now + 0.1, next(order), "work", a, r, 0, True))
        elif what == "work":
            work(a, r)
            heapq.heappush(agenda, (now + period[a] - 0.1, next(order), "end", a, r, 0, True))
        elif what == "end":
            for peer in peers[a]:
                usable = [x for x in known[a, peer] if x <= r or pacing == "deadline"]
                tell(ev.ValueUsed(a, r, peer, max(0, r - max(usable))))
            tell(ev.DualUpdated(a, r))
            finished[a] = r
            if min(finished) > evaluated:
                evaluated = min(finished)
                tell(ev.EvaluationDone(evaluated, 0.25, 0.5, 0.5, 0.1, 0.0))
            if r < rounds:
                heapq.heappush(agenda, (now, next(order), "start", a, r + 1, 0, True))
        elif what == "lost":
            tell(ev.MessageLost(a, r, *about))
        else:
            peer, message = about
            tell(ev.MessageDelivered(peer, r, a, message))
            if carries_value:
                known[peer, a].add(r)
    tell(ev.RunFinished(finished, "", ""))
    return story


def write(story: Story, *subscribers) -> tuple[bytes, str]:
    """The story as a log, and its digest."""
    sink = io.BytesIO()
    writer = LogWriter(sink)
    bus = Bus(writer, *subscribers)
    for now, event in story:
        bus.emit(now, event)
    writer.close()
    return sink.getvalue(), writer.digest


def store(story: Story, out: Path, wall: float = 0.5) -> Path:
    """The story as a run folder."""
    metrics = Metrics()
    raw, digest = write(story, metrics)
    with RunFolder(out, "a story") as folder:
        folder.log.write(raw)
        summary = metrics.summary(digest, wall)
        return folder.commit(digest, "name = 'a story'\n", metrics.rounds, metrics.agents, summary)


def lines(raw: bytes) -> list[bytes]:
    """The lines of a log, newlines kept."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(raw).splitlines(keepends=True)


def forge(text: Iterable[bytes]) -> bytes:
    """Lines as a sealed file: a log that was unpacked, edited and packed again with simnet's own tools."""
    sink = io.BytesIO()
    writer = SealedWriter(sink)
    writer.write(b"".join(text))
    writer.close()
    return sink.getvalue()
