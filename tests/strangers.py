"""Folders and logs as a stranger might send them, made by code; and a way to read them with little memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
import zstandard

from simnet import run
from simnet.record import events as ev
from simnet.record.lines import canonical, line, parse
from tests.record.stories import Story, forge, lines, ring, start, write
from tests.worlds import world

ROOT = Path(__file__).parents[1]
MOST = 200_000_000
"""Bytes that a reader may hold."""
LONGEST = 120.0
"""Seconds that all commands together may take on a busy machine."""
_SCRIPT = """
import json, sys
from tests.called import called
def peak():  # of this program alone: what getrusage says begins with the size of the process that started it
    return 1024 * int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
for words in json.loads(sys.argv[1]):
    code, out, refusal = called(*words)
    print(json.dumps([code, out[-1000:], refusal, peak()]))
"""


@dataclass(frozen=True)
class Reading:
    """What a command said of a file, and the most that its process had held by then."""

    words: tuple[str, ...]
    code: int
    out: str
    refusal: str
    memory: int


def read_with(commands: Sequence[Sequence[str]], cwd: Path) -> list[Reading]:
    """Run commands of simnet one after the other in a process that may not grow without end."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(commands)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
        timeout=LONGEST,
    )
    assert done.returncode == 0, done.stderr
    told = map(json.loads, done.stdout.splitlines())
    return [Reading(tuple(words), *each) for words, each in zip(commands, told, strict=True)]


def sealed(packed: bytes) -> bytes:
    """Compressed data with a seal that is right."""
    return packed + b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little") + sha256(packed).digest()


def bomb(blocks: Iterable[bytes], **how: object) -> bytes:
    packer = zstandard.ZstdCompressor(**how).compressobj()
    return sealed(b"".join([*map(packer.compress, blocks), packer.flush()]))


SMALL = world(rounds=1, topology={"kind": "ring", "agents": 3})
HONEST: Story = [(t, event) for _, t, event in run(SMALL).events]
RAW, _ = write(HONEST)
FIRST, *REST = lines(RAW)
_MILLION = 1 << 20


def edited(change: Callable[[dict], object], place: int = 0) -> bytes:
    """The honest log with one line changed, and sealed anew if that can be done."""
    content = json.loads(lines(RAW)[place])
    change(content)
    changed = [*lines(RAW)]
    changed[place] = json.dumps(content, separators=(",", ":")).encode() + b"\n"
    return resealed(changed)


def resealed(text: list[bytes]) -> bytes:
    """Lines with seals as their author would compute them; model values must be as they were."""
    *before, last = text
    head = b"".join(before)
    digest = sha256()
    try:
        for raw in before:
            digest.update(canonical(*parse(raw.rstrip(b"\n")), raw.rstrip(b"\n")) + b"\n")
        seq, t, end = parse(last.rstrip(b"\n"))
        digest.update(canonical(seq, t, end, last) + b"\n")
        checksum = sha256(head).hexdigest()
        last = line(seq, t, msgspec.structs.replace(end, digest=digest.hexdigest(), sha256=checksum)) + b"\n"
    except Exception:
        pass  # no reader gets as far as its seal
    return forge([*before, last])


def story(*events: ev.Event, agents: int = 2, edges: Iterable[tuple[int, int]] = ((0, 1),), **changes: object) -> bytes:
    """A log of these events between an honest start and end."""
    begin = start(agents, edges, **{"rounds": 1} | changes)
    end = ev.RunFinished([1] * agents, "", "")
    return write([(0.0, begin), *((1.0, event) for event in events), (1.0, end)])[0]


def lawful_of_nothing(agents: int, edges: Iterable[tuple[int, int]]) -> bytes:
    """A large run that ends before anybody has done anything: it obeys all laws, and a page can be made of it."""
    begin = start(agents, edges, rounds=1, until=1.0)
    errors = [0.1] * agents
    done = ev.EvaluationDone(0, 0.1, 0.1, 0.1, 0.1, 0.1, agent_test_error=errors, agent_train_loss=errors, at_end=True)
    return write([(0.0, begin), (1.0, done), (1.0, ev.RunFinished([0] * agents, "", ""))])[0]


def deep(levels: int) -> object:
    found: object = 1
    for _ in range(levels):
        found = {"a": found}
    return found


WRONG = {"text": "x", "null": None, "list": [], "table": {}, "negative": -1, "huge": 10**400, "float": 1e308}


def _observed() -> bytes:
    gossip = {"name": "gossip", "averaging": "relayed", "pair_sigma": 0.0, "relay_sigma": 1.0}
    seen = start(2, [(0, 1)], rounds=10**9, algorithm=gossip, privacy={"delta": 1e-4, "observers": ["agent"]})
    return write([(0.0, msgspec.structs.replace(seen, linear_gaussian=True))])[0]


def _numbers() -> bytes:
    """Many events whose numbers cannot be packed."""
    chance = Random(1)
    return story(*(ev.AirUsed(0, chance.random(), chance.random(), chance.random()) for _ in range(1_080_000)))


_WINDOW = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
BOMBS: dict[str, Callable[[], bytes]] = {
    "bomb-line": lambda: bomb([b"x" * _MILLION] * 4096),
    "bomb-later-line": lambda: bomb([FIRST, *[b"x" * _MILLION] * 4096]),
    "bomb-newlines": lambda: bomb([b"\n" * _MILLION] * 280),
    "bomb-later-newlines": lambda: bomb([FIRST, *[b"\n" * _MILLION] * 280]),
    "bomb-window": lambda: bomb([b"x" * _MILLION] * 200, compression_params=_WINDOW),
    "bomb-lists": lambda: story(deep=[[]] * 1_200_000),
    "bomb-agents": lambda: story(agents=700_000),
    "bomb-many-agents": lambda: story(agents=40_000),
    "bomb-links": lambda: story(agents=3_000, edges=[(a, b) for a in range(300) for b in range(a + 1, a + 2_000)]),
    "bomb-lawful-agents": lambda: lawful_of_nothing(42_000, []),
    "bomb-lawful-links": lambda: lawful_of_nothing(2_500, [(a, b) for a in range(24) for b in range(a + 1, 2_500)]),
    "bomb-observers": _observed,
    "bomb-evaluations": lambda: story(*(ev.EvaluationDone(k, 0.1, 0.1, 0.1) for k in range(1, 60_000))),
    "bomb-in-flight": lambda: story(*(ev.MessageSent(0, 1, 1, k, "reply", 0, 0) for k in range(1, 300_000))),
    "bomb-numbers": _numbers,
    "bomb-faults": lambda: story(*(ev.FaultBegan("crash" * 100, 0) for _ in range(100_000))),
}
"""Small files that are large when read."""


def logs() -> Iterator[tuple[str, bytes]]:
    """Other hostile logs by name: forgeries, damage, wrong types at every level."""
    for name, change in {
        "no-scenario": lambda line: line.update(scenario={}),
        "rounds": lambda line: line["scenario"].update(rounds=10**18),
        "few-rounds": lambda line: line["scenario"].update(rounds=2),
        "privacy": lambda line: line["scenario"].update(privacy="x"),
        "delta": lambda line: line["scenario"]["privacy"].update(delta=0),
        "name": lambda line: line["scenario"].update(name="[red]x[/] \u202eesrever"),
        "escape": lambda line: line.update(version="\x1b[31m\x9b0m", attached=["\x1b]0;owned\x07"], caveats=["\u202e"]),
        "slashes": lambda line: line["scenario"].update(name="../../../etc/passwd"),
        "nested": lambda line: line["scenario"].update(deep=deep(300)),
        "very-nested": lambda line: line["scenario"].update(deep=deep(900)),
        "edges": lambda line: line.update(edges=[[0, 10**6]]),
        "no-agents": lambda line: line.update(rows=[], edges=[]),
        "foreign": lambda line: line["scenario"]["algorithm"].update(name="mine.py:Thing"),
    }.items():
        yield f"forged-{name}", edited(change)
    for field in json.loads(FIRST):
        if field not in ("seq", "t", "event"):
            for name, value in WRONG.items():
                yield f"start-{field}-{name}", edited(lambda line, f=field, v=value: line.update({f: v}))
    seen = set()
    for place, raw in enumerate(REST, start=1):
        line = json.loads(raw)
        if line["event"] in seen:
            continue
        seen.add(line["event"])
        for field in line:
            if field not in ("seq", "event"):
                for name, value in WRONG.items():
                    yield (
                        f"{line['event']}-{field}-{name}",
                        edited(lambda told, f=field, v=value: told.update({f: v}), place),
                    )
    begin = start(3, ring(3), rounds=1, until=1.0)
    loud = [(1.0, ev.AirUsed(0, 1e308, 1e308, 1e308)) for _ in range(3)]
    done = (1.0, ev.EvaluationDone(0, 1e308, 1e308, 1e308, at_end=True))
    yield "sums-to-infinity", write([(0.0, begin), *loud, done, (1.0, ev.RunFinished([0, 0, 0], "", ""))])[0]
    yield "stranger-agent", story(ev.PrivacySpent(10**6, 1, "release", "bare-model", {}))
    yield "huge-charge", story(ev.PrivacySpent(0, 1, "release", "primal-gaussian", {"sigma": 1e-300}, 2**53))
    yield "nan", forge([FIRST, REST[0].replace(b'"t":0.0', b'"t":NaN')])
    yield "twice", forge([FIRST.replace(b'"schema":1', b'"schema":1,"schema":1'), *REST])
    yield "cut", RAW[: len(RAW) // 2]
    yield "empty", b""
    yield "zeros", bytes(1000)
    yield "unsealed", RAW[:-40]
    yield "last-line-cut", forge([FIRST, *REST])[:-3]


def folders(place: Path) -> Iterator[Path]:
    """Hostile run folders: the log is honest, and its company is not."""
    honest = run(SMALL, place / "honest").folder
    assert honest is not None
    secret = place / "secret.json"
    secret.write_text(json.dumps({"digest": honest.name, "token": "hunter2"}))
    for name, harm in {
        "bomb-summary": lambda folder: _write(folder / "summary.json", b"[" + b"[]," * 2_000_000 + b"1]"),
        "bomb-long-summary": lambda folder: _write(folder / "summary.json", b" " * 50_000_000 + b"{}"),
        "summary-deep": lambda folder: _write(folder / "summary.json", b'{"a":' * 900 + b"1" + b"}" * 900),
        "summary-types": lambda folder: _change(folder / "summary.json", privacy="x", time=7, communication=[]),
        "summary-list": lambda folder: _write(folder / "summary.json", b"[]"),
        "summary-nan": lambda folder: _change(folder / "summary.json", seed=float("nan"), rounds=10**400),
        "summary-surrogate": lambda folder: _change(folder / "summary.json", scenario="\ud800\x1b[31m"),
        "summary-link": lambda folder: _link(folder / "summary.json", secret),
        "environment-link": lambda folder: _link(folder / "environment.json", secret),
        "bomb-device": lambda folder: _link(folder / "summary.json", Path("/dev/zero")),
        "summary-circle": lambda folder: _link(folder / "summary.json", folder / "summary.json"),
        "bomb-log": lambda folder: _link(folder / "events.jsonl.zst", Path("/dev/zero")),
        "rounds-fifo": lambda folder: ((folder / "rounds.csv").unlink(), os.mkfifo(folder / "rounds.csv")),
        "bomb-rounds": lambda folder: _write(folder / "rounds.csv", b",\n" * 30_000_000),
        "rounds-binary": lambda folder: _write(folder / "rounds.csv", bytes(range(256))),
        "agents-huge": lambda folder: _write(folder / "agents.csv", b'"' + b"x" * 1_000_000),
        "toml-other": lambda folder: _write(folder / "scenario.toml", b'name = "other"\n'),
        "toml-deep": lambda folder: _write(folder / "scenario.toml", b"a = " + b"[" * 2000 + b"]" * 2000),
        "environment-types": lambda folder: _write(
            folder / "environment.json", b'{"packages": [{"a": {}}], "x": {"y": 1}}'
        ),
    }.items():
        folder = place / name
        folder.mkdir()
        for file in honest.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        harm(folder)
        yield folder


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_bytes()) | fields))


def _link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)
