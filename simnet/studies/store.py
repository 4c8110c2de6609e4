"""The study's folder: nothing in it is ever half there, whenever the process is killed.

    study.json       the study's name, fields and runs, in order
    done/KEY.json    a finished run, written as a whole and then renamed into place
    sums.json        SHA-256 of the two tables: of those that are there, and of those that are about to take their place
    rounds.parquet   rounds of the runs in runs.parquet, and perhaps of others
    runs.parquet     finished runs

Compaction moves runs from `done` into the two tables: first it replaces sums.json, then rounds.parquet, then
runs.parquet, and only then does it delete the files. A run is in the tables when runs.parquet has it; rounds of other
runs are ignored, and a file in `done` counts before the tables. So every state between two steps reads as the same
study.

A table that something else has cut or overwritten is refused by its sum, before the Parquet reader sees it: that reader
may end the whole process over a wrong byte, or find another number in it. A file in `done` that does not read as a run
counts as not done, and the next sweep does it again.

Whoever forges a folder forges its sums. A sweep takes the folder for its own; others read it as a stranger's, with
little memory, and another process tries every table first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
import polars as pl

from simnet.allowance import Allowance, read_own
from simnet.diagnostics import warn
from simnet.errors import SimnetError
from simnet.record.atomic import refusing, sweep, write_file
from simnet.record.data_frames import CELL
from simnet.record.formats import json_text
from simnet.record.metrics import Row
from simnet.studies import PLAN, frames
from simnet.studies.pool import Record
from simnet.studies.runs import PlannedRun
from simnet.studies.spec import Study
from simnet.studies.taster import taste

RUNS, ROUNDS, DONE, SUMS = "runs.parquet", "rounds.parquet", "done", "sums.json"
_FAILURE = "the study cannot be stored"
_OWN = 1e9
"""Megabytes for what this machine has made itself: there is no limit."""
_FIELDS = 1000
"""Fields that a study may vary."""
_PACKED = 2
"""How much less than its table a file may hold."""
_DO_AGAIN = f"remove {RUNS}, {ROUNDS} and {SUMS}, and `simnet sweep` does their runs again"


class _StoredRun(msgspec.Struct):
    key: str
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    settings: dict[str, Any]


class _StoredPlan(msgspec.Struct):
    """What study.json holds."""

    name: str
    question: str | None
    fields: Annotated[list[str], msgspec.Meta(max_length=_FIELDS)]
    together: list[list[str]]
    runs: list[_StoredRun]
    target: float | None = None


class Store:
    """One study's folder: one's own, or a stranger's if it comes with an allowance."""

    def __init__(self, folder: Path, allowance: Allowance | None = None) -> None:
        self.folder = Path(folder)
        self._strange = allowance is not None
        self._tasted: set[str] = set()
        self._allowance = allowance or Allowance(SimnetError, _OWN)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps out; the system takes the lock away from a process that dies."""
        with refusing(self.folder, _FAILURE):
            self._refuse_link()
            (self.folder / DONE).mkdir(parents=True, exist_ok=True)
            handle = (self.folder / ".lock").open("w")
        with handle:
            _lock(handle, self.folder)
            for folder in (self.folder, self.folder / DONE):
                sweep(folder)
            yield

    def write_plan(self, study: Study, runs: list[PlannedRun]) -> None:
        """Say what the study is."""
        about: Row = {
            "name": study.name,
            "question": study.question,
            "fields": study.fields,
            "together": study.together,
        }
        about |= {} if study.target is None else {"target": study.target}
        listed = [{"key": run.key, "seed": run.seed, "settings": run.settings} for run in runs]
        self._write(self.folder / PLAN, json_text(about | {"runs": listed}).encode())

    def read_plan(self) -> Row:
        """What the study is."""
        path = self.folder / PLAN
        try:
            found: Row = msgspec.to_builtins(msgspec.json.decode(self._json(PLAN), type=_StoredPlan))
        except (FileNotFoundError, NotADirectoryError):
            why = f"it holds no {PLAN}; `simnet sweep` makes such folders"
            raise SimnetError(f"{self.folder} is not a study's folder: {why}") from None
        except OSError as error:
            raise SimnetError(f"{path} cannot be read ({error.strerror or error})") from None
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise SimnetError(f"{path} is damaged ({error}); `simnet sweep` writes it again") from None
        if not frames.plan_fits(found):
            raise SimnetError(
                f"{path} is damaged (two of its runs or columns have one name); `simnet sweep` writes it again"
            )
        self._allowance.need(CELL * len(found["fields"]) * len(found["runs"]), f"what {PLAN} lists")
        return found

    def add(self, record: Record) -> None:
        """Keep a finished run."""
        # The workers need the processor more than the parent does: this takes a hundredth of the time of `json_text`,
        # and what is not finite becomes null as there.
        self._write(self.folder / DONE / f"{record.key}.json", msgspec.json.encode(vars(record)))

    def finished(self) -> set[str]:
        """The keys of all runs that need not be done again."""
        loose = self._loose()
        final = {row["key"] for row in loose if row["final"]}
        table = self._read(RUNS, frames.RUNS)
        return (set(table.filter("final")["key"]) - {row["key"] for row in loose}) | final

    def tables(self, *, rounds: bool = True) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Finished runs and their rounds, as they are stored.

        Files are read before the tables, and runs before rounds: compaction goes the other way, so a run that moves
        meanwhile is seen in one place or in both, never in none.
        """
        loose = self._loose()
        fresh = frames.runs_frame(loose, self._allowance)
        old = self._read(RUNS, frames.RUNS).join(fresh, on="key", how="anti", maintain_order="left")
        runs = frames.stacked(old, fresh, within=self._allowance)
        if not rounds:
            return runs, frames.rounds_frame([], self._allowance)
        if (self.folder / RUNS).exists() and not (self.folder / ROUNDS).exists():
            raise SimnetError(f"{self.folder / ROUNDS} is gone, and {RUNS} is not: {_DO_AGAIN}")
        moved = self._read(ROUNDS, frames.ROUNDS)
        moved = moved.join(old, on="key", how="semi", maintain_order="left")
        return runs, frames.stacked(moved, frames.rounds_frame(loose, self._allowance), within=self._allowance)

    def compact(self) -> None:
        """Move finished runs from files into the tables."""
        loose = sorted((self.folder / DONE).glob("*.json"))
        runs, rounds = self.tables()
        plan = self.read_plan()
        table = frames.assembled(plan, runs, keep_others=True)
        if not loose and (self.folder / RUNS).exists() and table.equals(runs):
            return
        order = table.select("key").with_row_index("place")
        rounds = rounds.join(order, on="key", how="inner").sort("place", "round").drop("place")
        fresh = {ROUNDS: frames.parquet(rounds), RUNS: frames.parquet(table)}
        sums = {name: [_sum(self.folder / name), sha256(content).hexdigest()] for name, content in fresh.items()}
        self._write(self.folder / SUMS, json_text(sums).encode())
        for name, content in fresh.items():
            self._write(self.folder / name, content)
        for path in loose:
            path.unlink(missing_ok=True)

    def _loose(self) -> list[Row]:
        """Runs that are still files. What does not read as a run is no finished run."""
        self._refuse_link()
        found = []
        for path in sorted((self.folder / DONE).glob("*.json")):
            self._allowance.check()
            try:
                row: Row = msgspec.to_builtins(msgspec.json.decode(self._json(DONE, path.name), type=Record))
            except FileNotFoundError:  # a sweep has moved it into the tables just now
                continue
            except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
                row = {}
            if row and row["key"] == path.stem and frames.readable(row):
                found.append(row)
            else:
                warn("a stored run cannot be read, it counts as not done", key=path.stem)
        return found

    def _read(self, name: str, schema: dict[str, Any]) -> pl.DataFrame:
        """A table; an empty one if there is none."""
        path = self.folder / name
        try:
            content = read_own(path, self._allowance, _PACKED)
            # Read after the table: compaction writes it before.
            sums = self._sums()
            found = sha256(content).hexdigest()
            if sums is not None and found not in sums.get(name, ()):
                raise ValueError("it is not what a sweep has written")
            if self._strange and found not in self._tasted:
                taste(content, self._allowance, str(path))
                self._tasted.add(found)
            return frames.table(content, schema)
        except FileNotFoundError:
            return pl.DataFrame(schema=schema)
        except OSError as error:
            raise SimnetError(f"{path} cannot be read ({error.strerror or error})") from None
        except ValueError as error:
            raise SimnetError(f"{path} is damaged ({error}): {_DO_AGAIN}") from None

    def _sums(self) -> dict[str, list[str | None]] | None:
        """What the tables' sums may be; None in a folder of a version that kept none."""
        path = self.folder / SUMS
        try:
            return msgspec.json.decode(self._json(SUMS), type=dict[str, list[str | None]])
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SimnetError(f"{path} cannot be read ({error.strerror or error})") from None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise SimnetError(f"{path} is damaged: {_DO_AGAIN}") from None

    def _json(self, *name: str) -> bytes:
        """A JSON file of the folder, if what it lists fits into the memory."""
        raw = read_own(self.folder.joinpath(*name), self._allowance)
        self._allowance.json(raw)
        return raw

    def _refuse_link(self) -> None:
        """What a sweep has moved into the tables is removed from `done`: not in somebody else's folder."""
        if (self.folder / DONE).is_symlink():
            raise SimnetError(f"{self.folder / DONE} is a link out of its folder: a study keeps its runs itself")

    def _write(self, path: Path, content: bytes) -> None:
        with refusing(path, _FAILURE):
            write_file(path, content)


def _sum(path: Path) -> str | None:
    return sha256(path.read_bytes()).hexdigest() if path.exists() else None


def _lock(handle: IO[str], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such lock on this system: two sweeps at once would only do some runs twice
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SimnetError(f"{folder}: another sweep is at work on this study; wait for it to end") from None
