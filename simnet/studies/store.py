"""The study's folder: nothing in it is ever half there, whenever the process is killed.

    study.json       the study's name, fields and runs, in order
    done/KEY.json    a finished run, written as a whole and then renamed into place
    rounds.parquet   rounds of the runs in runs.parquet, and perhaps of others
    runs.parquet     finished runs

Compaction moves runs from `done` into the two tables: first it replaces rounds.parquet, then runs.parquet, and only
then does it delete the files. A run is in the tables when runs.parquet has it; rounds of other runs are ignored, and a
file in `done` counts before the tables. So every state between two steps reads as the same study.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec
import polars as pl

from simnet.errors import SimnetError
from simnet.record.atomic import refusing, sweep, write_file
from simnet.record.formats import json_text
from simnet.record.metrics import Row
from simnet.studies import PLAN, frames
from simnet.studies.pool import Record
from simnet.studies.runs import PlannedRun
from simnet.studies.spec import Study

RUNS, ROUNDS, DONE = "runs.parquet", "rounds.parquet", "done"
_FAILURE = "the study cannot be stored"


class Store:
    """One study's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps out; the system takes the lock away from a process that dies."""
        with refusing(self.folder, _FAILURE):
            (self.folder / DONE).mkdir(parents=True, exist_ok=True)
            handle = (self.folder / ".lock").open("w")
        with handle:
            _lock(handle, self.folder)
            for folder in (self.folder, self.folder / DONE):
                sweep(folder)
            yield

    def write_plan(self, study: Study, runs: list[PlannedRun]) -> None:
        """Say what the study is."""
        about = {"name": study.name, "question": study.question, "fields": study.fields, "together": study.together}
        listed = [{"key": run.key, "seed": run.seed, "settings": run.settings} for run in runs]
        self._write(self.folder / PLAN, json_text(about | {"runs": listed}).encode())

    def read_plan(self) -> Row:
        """What the study is."""
        path = self.folder / PLAN
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError):
            raise SimnetError(f"{self.folder} is not a study's folder: it holds no {PLAN}") from None
        assert isinstance(found, dict)
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
        if not (self.folder / RUNS).exists():
            return final
        table = pl.read_parquet(self.folder / RUNS, columns=["key", "final"])
        return (set(table.filter("final")["key"]) - {row["key"] for row in loose}) | final

    def tables(self, *, rounds: bool = True) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Finished runs and their rounds, as they are stored.

        Files are read before the tables, and runs before rounds: compaction goes the other way, so a run that moves
        meanwhile is seen in one place or in both, never in none.
        """
        loose = self._loose()
        fresh = frames.runs_frame(loose)
        old = frames.read(self.folder / RUNS, frames.RUNS).join(fresh, on="key", how="anti", maintain_order="left")
        runs = frames.stacked(old, fresh)
        if not rounds:
            return runs, frames.rounds_frame([])
        moved = frames.read(self.folder / ROUNDS, frames.ROUNDS)
        moved = moved.join(old, on="key", how="semi", maintain_order="left")
        return runs, frames.stacked(moved, frames.rounds_frame(loose))

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
        self._write(self.folder / ROUNDS, frames.parquet(rounds))
        self._write(self.folder / RUNS, frames.parquet(table))
        for path in loose:
            path.unlink(missing_ok=True)

    def _loose(self) -> list[Row]:
        """Runs that are still files. What cannot be read is no finished run."""
        found = []
        for path in sorted((self.folder / DONE).glob("*.json")):
            with suppress(OSError, ValueError):
                row = json.loads(path.read_bytes())
                if isinstance(row, dict) and row.get("key") == path.stem:
                    found.append(row)
        return found

    def _write(self, path: Path, content: bytes) -> None:
        with refusing(path, _FAILURE):
            write_file(path, content)


def _lock(handle: IO[str], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such lock on this system: two sweeps at once would only do some runs twice
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SimnetError(f"{folder}: another sweep is at work on this study; wait for it to end") from None
