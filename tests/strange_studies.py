"""Study folders as a stranger might send them: bombs, forgeries with right sums, damage, links."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from simnet.studies import PLAN
from simnet.studies.pool import Record
from simnet.studies.runs import plan
from simnet.studies.spec import Study
from simnet.studies.store import DONE, ROUNDS, RUNS, SUMS, Store
from tests.worlds import study_content

SUMMARY = {
    "accuracy": {"test_error": 0.25, "train_loss": 0.5},
    "privacy": {"proven_epsilon": None, "basis": "none"},
    "communication": {"wire_bytes": 100},
    "time": {"simulated": 1.5},
}
Harm = Callable[[Path], object]


def honest(folder: Path) -> Path:
    """A study of six runs: four in the tables, two in files of their own."""
    study, store = Study.of(study_content()), Store(folder)
    runs = plan(study)
    with store.locked():
        store.write_plan(study, runs)
        for number, run in enumerate(runs):
            rounds = [{"round": t, "t": t / 2, "test_error": 0.5 / t, "wire_bytes": 50 * t} for t in (1, 2)]
            store.add(Record(run.key, "code", run.scenario.resolved(), run.seed, summary=SUMMARY, rounds=rounds))
            if number == 3:
                store.compact()
    return folder


def keys(folder: Path) -> list[str]:
    return [run["key"] for run in json.loads((folder / PLAN).read_bytes())["runs"]]


def seal(folder: Path, name: str, content: bytes) -> None:
    """A table with the sum that a forger writes beside it."""
    (folder / name).write_bytes(content)
    sums = {each: [sha256((folder / each).read_bytes()).hexdigest()] for each in (RUNS, ROUNDS)}
    (folder / SUMS).write_text(json.dumps(sums))


def forged(name: str, change: Callable[[pl.DataFrame], pl.DataFrame], **how: Any) -> Harm:
    """A table with something in it that no sweep writes."""

    def harm(folder: Path) -> None:
        out = io.BytesIO()
        change(pl.read_parquet(folder / name)).write_parquet(out, compression="zstd", **how)
        seal(folder, name, out.getvalue())

    return harm


def cut(name: str, change: Callable[[bytes], bytes]) -> Harm:
    return lambda folder: seal(folder, name, change((folder / name).read_bytes()))


def column(name: str, values: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(values.alias(name))


def repeated(rows: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """As many rounds as nobody can hold, which take a few kilobytes as long as they are packed."""
    return lambda table: table.select(pl.col("key").first(), pl.col("round").first()).select(
        pl.repeat(pl.col("key").first(), rows), pl.repeat(pl.lit(1, pl.Int64), rows).alias("round")
    )


def nested(levels: int) -> pl.Expr:
    found = pl.lit(1)
    for _ in range(levels):
        found = pl.struct(found.alias("a"))
    return found


def planned(**changes: Any) -> Harm:
    """study.json with other fields."""
    return lambda folder: (folder / PLAN).write_text(
        json.dumps(json.loads((folder / PLAN).read_bytes()) | changes, ensure_ascii=True)
    )


def settings(value: Any, field: str = "algorithm.eta") -> Harm:
    def harm(folder: Path) -> None:
        content = json.loads((folder / PLAN).read_bytes())
        for run in content["runs"]:
            run["settings"] = {field: value}
        (folder / PLAN).write_text(json.dumps(content | {"fields": [field]}))

    return harm


def done(**changes: Any) -> Harm:
    """Finished runs that say something else."""

    def harm(folder: Path) -> None:
        for path in (folder / DONE).iterdir():
            path.write_text(json.dumps(json.loads(path.read_bytes()) | changes))

    return harm


def many_columns(folder: Path) -> None:
    rounds = [{"round": number, f"x{number}": 1} for number in range(20_000)]
    done(rounds=rounds)(folder)


def text(path: str, content: bytes) -> Harm:
    return lambda folder: (folder / path).write_bytes(content)


def link(name: str, target: str) -> Harm:
    def harm(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return harm


def fifo(name: str) -> Harm:
    def harm(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return harm


def away(folder: Path) -> None:
    """The folder of finished runs is a link to somebody else's."""
    elsewhere = folder.with_name(f"{folder.name}-elsewhere")
    (folder / DONE).rename(elsewhere)
    (elsewhere / "secret.json").write_text('{"token": "hunter2"}')
    (folder / DONE).symlink_to(elsewhere)


_LONG = pl.lit("x" * 100_000)
TABLES: dict[str, Harm] = {
    "bomb-rows": forged(ROUNDS, repeated(20_000_000)),
    "bomb-runs": forged(RUNS, lambda table: pl.concat([table.head(1)] * 50_000)),
    "bomb-groups": forged(ROUNDS, repeated(9_000_000), row_group_size=9_000_000),
    "bomb-dictionary": forged(ROUNDS, lambda table: repeated(1_000)(table).with_columns(_LONG.alias("x"))),
    "bomb-columns": forged(RUNS, lambda table: table.with_columns(pl.lit(1).alias(f"x{n}") for n in range(5_000))),
    "deep": forged(RUNS, column("deep", nested(60))),
    "lists": forged(RUNS, column("x", pl.lit(1).implode().repeat_by(3))),
    "binary": forged(RUNS, column("x", pl.lit(b"\xff"))),
    "dates": forged(ROUNDS, column("x", pl.lit("2026-01-01").str.to_date())),
    "no-key": forged(RUNS, lambda table: table.drop("key")),
    "key-number": forged(RUNS, column("key", pl.lit(1))),
    "keys-twice": forged(RUNS, lambda table: pl.concat([table] * 500)),
    "key-null": forged(RUNS, column("key", pl.lit(None, pl.String))),
    "final-null": forged(RUNS, column("final", pl.lit(None, pl.Boolean))),
    "order": forged(RUNS, lambda table: table.select(sorted(table.columns, reverse=True))),
    "figure-text": forged(RUNS, column("test_error", pl.lit("[red]x[/] \u202e\x1b[31m"))),
    "round-text": forged(ROUNDS, column("test_error", pl.lit("x"))),
    "infinite": forged(RUNS, column("wire_bytes", pl.lit(float("inf")))),
    "nan": forged(ROUNDS, column("test_error", pl.lit(float("nan")))),
    "huge": forged(RUNS, column("wire_bytes", pl.lit(1e308))),
    "names": forged(RUNS, lambda table: table.with_columns(pl.lit(1).alias(n) for n in ("study", "run", "=x", "'=x"))),
    "round-names": forged(
        ROUNDS, lambda table: table.with_columns(pl.lit(1).alias(n) for n in ("study", "run", "seed"))
    ),
    "round-errorless": forged(ROUNDS, lambda table: table.drop("test_error")),
    "round-costs": forged(ROUNDS, lambda table: table.with_columns(wire_bytes=pl.lit("x"), t=pl.lit(True))),
    "no-rounds": forged(ROUNDS, lambda table: table.clear()),
    "footer": cut(RUNS, lambda raw: raw[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1"),
    "cut": cut(ROUNDS, lambda raw: raw[: len(raw) // 2] + raw[-8:]),
    "spoilt": cut(RUNS, lambda raw: raw[:100] + bytes(byte ^ 0x55 for byte in raw[100:400]) + raw[400:]),
    "zeros": cut(ROUNDS, lambda raw: b"PAR1" + bytes(10_000) + b"PAR1"),
}
"""Tables that a forger has sealed."""
REST: dict[str, Harm] = {
    "bomb-plan": planned(question=[[]] * 2_000_000),
    "bomb-long-plan": text(PLAN, b" " * 50_000_000 + b"{}"),
    "bomb-fields": planned(fields=[f"f{n}" for n in range(100_000)]),
    "bomb-plan-cells": planned(
        fields=[f"f{n}" for n in range(1000)],
        runs=[{"key": str(n), "seed": 1, "settings": {}} for n in range(20_000)],
    ),
    "bomb-done": done(rounds=[[[]] * 100] * 50_000),
    "bomb-done-columns": many_columns,
    "bomb-sums": text(SUMS, b"[" + b"[]," * 5_000_000 + b"1]"),
    "bomb-device": link(RUNS, "/dev/zero"),
    "plan-deep": settings(json.loads('{"a":' * 900 + "1" + "}" * 900)),
    "plan-huge": settings(10**400),
    "plan-long": settings(2**70),
    "plan-mixed": settings([1, {"x": None}]),
    "plan-surrogate": planned(name="\ud800", question="\x1b[31m"),
    "plan-escape": planned(name="[red]x[/] \u202e", question="\x1b]0;owned\x07"),
    "plan-seed": planned(runs=[{"key": "a", "seed": 10**400, "settings": {}}]),
    "plan-keys": lambda folder: planned(
        runs=[{"key": keys(folder)[0], "seed": 1, "settings": {}} for _ in range(3000)]
    )(folder),
    "plan-figure": settings(1, "test_error"),
    "plan-round": settings("x", "round"),
    "plan-study": settings("x", "study"),
    "done-key": done(summary={"key": 5, "seed": "x", "final": None}),
    "done-round-key": done(rounds=[{"round": 1, "key": 5}]),
    "done-text": done(summary={"accuracy": {"test_error": "x"}, "communication": {"wire_bytes": [1]}}),
    "done-huge": done(summary={"accuracy": {"test_error": 10**400}}, rounds=[{"round": 10**400}]),
    "done-long": done(summary={"communication": {"wire_bytes": 2**70}}, rounds=[{"round": 2**70}]),
    "done-deep": done(summary={"x": json.loads("[" * 900 + "]" * 900)}),
    "sums-list": text(SUMS, b"[1]"),
    "sums-types": text(SUMS, b'{"runs.parquet": 5}'),
    "sums-fifo": fifo(SUMS),
    "runs-fifo": fifo(RUNS),
    "plan-fifo": fifo(PLAN),
    "plan-link": link(PLAN, "../secret.json"),
    "plan-circle": link(PLAN, PLAN),
    "runs-link": link(RUNS, "../honest/runs.parquet"),
    "rounds-link": link(ROUNDS, "/etc/passwd"),
    "sums-link": link(SUMS, "../secret.json"),
    "done-away": away,
}


def folders(place: Path, harms: dict[str, Harm]) -> Iterator[Path]:
    """A folder for each harm, beside an honest one."""
    model = honest(place / "honest")
    (place / "secret.json").write_text(json.dumps({"token": "hunter2"}))
    for name, harm in harms.items():
        folder = place / name
        (folder / DONE).mkdir(parents=True)
        for file in (path for path in model.rglob("*.*") if path.is_file()):
            (folder / file.relative_to(model)).write_bytes(file.read_bytes())
        harm(folder)
        yield folder
