"""What a study found, as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simnet.study import aggregate, reach
from simnet.study.frames import assembled, plan_frame
from simnet.study.store import Store

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

HEADLINES = ("test_error", "wire_bytes", "simulated", "proven_epsilon")


class StudyResult:
    """A study's tables: `runs` has a row a run, `rounds` a row a round, both with the study's fields and seeds.

    Failed runs are rows of `runs` with an `error` and no figures.
    """

    def __init__(self, folder: Path | None, plan: dict[str, Any], runs: pl.DataFrame) -> None:
        self.folder = folder
        self.name: str = plan["name"]
        self.question: str | None = plan["question"]
        self.fields: list[str] = plan["fields"]
        self.together: list[list[str]] = plan["together"]
        self.planned: pl.DataFrame = plan_frame(plan)
        self.runs = runs
        self._rounds: pl.DataFrame | None = None

    @classmethod
    def load(cls, folder: str | Path) -> StudyResult:
        """Read a study's folder, whether its sweep has ended or not; rounds are read when they are asked for."""
        store = Store(Path(folder))
        plan = store.read_plan()
        return cls(store.folder, plan, assembled(plan, store.tables(rounds=False)[0]))

    @classmethod
    def in_memory(cls, folder: str | Path) -> StudyResult:
        """Read a study's folder as a whole, so that the folder may go."""
        found = cls.load(folder)
        found._rounds, found.folder = found.rounds, None
        return found

    @property
    def rounds(self) -> pl.DataFrame:
        """A row a round."""
        if self._rounds is None:
            assert self.folder is not None
            told = Store(self.folder).tables()[1]
            self._rounds = self.planned.join(told, on="key", how="inner").sort("run", "round")
        return self._rounds

    @property
    def failures(self) -> pl.DataFrame:
        """Runs that gave nothing, and why."""
        return self.runs.filter(self.runs["error"].is_not_null()).select("run", "key", *self.fields, "seed", "error")

    def means(self, *figures: str, by: Sequence[str] | None = None, interval: aggregate.Interval = "t") -> pl.DataFrame:
        """Mean, confidence interval, median and range of figures over the replicates of each setting."""
        return aggregate.means(self.runs, self._by(by), figures or HEADLINES, interval)

    def differences(self, field: str, baseline: Any, *figures: str, interval: aggregate.Interval = "t") -> pl.DataFrame:
        """What each value of a field changes against its baseline, seed by seed.

        All other settings are equal, but for those that change together with the field.
        """
        others = [name for fields in self.together if field not in fields for name in fields]
        return aggregate.differences(self.runs, self.fields, others, field, baseline, figures or HEADLINES, interval)

    def reaching(self, target: float, cost: str = "wire_bytes", *, by: Sequence[str] | None = None) -> pl.DataFrame:
        """What it costs until the test error is at most `target`; a run that never gets there is censored."""
        return reach.costs(self.rounds, self._by(by), target, cost)

    def plot(self, x: str = "wire_bytes", y: str = "test_error", *, by: Sequence[str] | None = None) -> Figure:
        """Mean of `y` against mean of `x`, round by round, a line a setting, with the confidence band of `y`."""
        from simnet.study.plots import curves

        return curves(self.rounds, self._by(by), x, y)

    def _by(self, by: Sequence[str] | None) -> list[str]:
        return list(self.fields if by is None else by)

    def _repr_html_(self) -> str:
        from simnet.record.formats import table_html

        counts = f"{self.runs.height} of {self.planned.height} runs, {self.failures.height} failed"
        about = f"{self.name}: {counts}. Means with their interval, over seeds"
        return table_html(about, self.means().to_dicts()) + table_html("Failed", self.failures.to_dicts())
