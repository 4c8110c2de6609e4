"""What a study found: data frames, curves, and answers to questions in SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from simnet.allowance import Allowance
from simnet.errors import SimnetError
from simnet.record.formats import caveats_html, table_html
from simnet.studies import PLAN, aggregate, reaching
from simnet.studies.frames import assembled, plan_frame, stacked
from simnet.studies.reaching import Reach
from simnet.studies.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADLINES = ("test_error", "wire_bytes", "simulated", "proven_epsilon")
AT_TIMES = ("airtime_sent", "joules", "declared_epsilon")
"""Headlines of studies whose agents share a channel, have prices of power, or whose methods declare what they cost."""
YARDSTICKS = ("constant", "optimum", "best_optimum")
"""What a test error is held against (`simnet.learning.yardsticks`); the table of runs has `yardsticks_constant`, …."""


class StudyResult:
    """A study's tables: `runs` has one row per run, `rounds` one row per round, both with the study's fields and seeds.

    Failed runs are rows of `runs` with an `error` and no figures.
    """

    def __init__(
        self, folder: Path | None, plan: dict[str, Any], runs: pl.DataFrame, store: Store | None = None
    ) -> None:
        self.folder = folder
        self.name: str = plan["name"]
        self.question: str | None = plan["question"]
        self.target: float | None = plan.get("target")
        self.fields: list[str] = plan["fields"]
        self.together: list[list[str]] = plan["together"]
        self.planned: pl.DataFrame = plan_frame(plan)
        self.runs = runs
        self._store = store
        self._rounds: pl.DataFrame | None = None

    @classmethod
    def load(cls, folder: str | Path) -> StudyResult:
        """Read a study's folder, whether its sweep has ended or not; rounds are read when they are asked for.

        The folder may be a stranger's: what would take much memory is refused.
        """
        return cls.of(Store(Path(folder), Allowance(SimnetError)))

    @classmethod
    def of(cls, store: Store) -> StudyResult:
        """What a store holds."""
        plan = store.read_plan()
        return cls(store.folder, plan, assembled(plan, store.tables(rounds=False)[0]), store)

    def in_memory(self) -> StudyResult:
        """The same without its folder, which may go."""
        self._rounds, self.folder = self.rounds, None
        return self

    @property
    def headlines(self) -> list[str]:
        """The figures that a table shows if nobody chooses others."""
        first, *others = HEADLINES
        return [first, *self.outputs, *others, *(name for name in AT_TIMES if name in self.runs.columns)]

    @property
    def outputs(self) -> list[str]:
        """The columns of the errors of outputs beside the one that counts."""
        return [name for name, kind in self.runs.schema.items() if name.startswith("test_error_") and kind.is_numeric()]

    @property
    def rounds(self) -> pl.DataFrame:
        """One row per round of every run."""
        if self._rounds is None:
            assert self._store is not None
            known = pl.exclude([name for name in self.planned.columns if name != "key"])
            # In one expression: a table that nobody holds any more makes room for the next.
            self._rounds = self.planned.join(self._store.tables()[1].select(known), on="key").sort("run", "round")
        return self._rounds

    @property
    def failures(self) -> pl.DataFrame:
        """Runs that gave nothing, and why."""
        return self.runs.filter(self.runs["error"].is_not_null()).select("run", "key", *self.fields, "seed", "error")

    def means(self, *figures: str, by: Sequence[str] | None = None, interval: aggregate.Interval = "t") -> pl.DataFrame:
        """Mean, confidence interval, median and range of figures over the replicates of each setting."""
        return aggregate.means(self.runs, self._by(by), figures or self.headlines, interval)

    def yardsticks(self) -> pl.DataFrame:
        """What the test errors of each setting are held against, means over its seeds: a column per yardstick."""
        known = [name for name in YARDSTICKS if f"yardsticks_{name}" in self.runs.columns]
        return self.runs.group_by(self.fields or [pl.lit(0).alias("all")], maintain_order=True).agg(
            pl.col(f"yardsticks_{name}").mean().alias(name) for name in known
        )

    def differences(self, field: str, baseline: Any, *figures: str, interval: aggregate.Interval = "t") -> pl.DataFrame:
        """What each value of a field changes against its baseline, seed by seed.

        All other settings are equal, but for those that change together with the field.
        """
        others = [name for fields in self.together if field not in fields for name in fields]
        return aggregate.differences(
            self.runs, self.fields, others, field, baseline, figures or self.headlines, interval
        )

    @property
    def caveats(self) -> list[str]:
        """What the runs with a proven ε say that it does not cover; a stranger's table may hold anything there."""
        if not {"caveats", "proven_epsilon"} <= set(self.runs.columns) or self.runs.schema["caveats"] != pl.String:
            return []
        proven = self.runs.filter(pl.col("proven_epsilon").is_not_null())
        found: dict[str, None] = {}
        for text in proven["caveats"].drop_nulls().unique(maintain_order=True):
            try:
                told = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(told, list):
                found |= dict.fromkeys(each for each in told if isinstance(each, str))
        return [*found]

    def reaching(self, target: float, cost: str = "wire_bytes", *, by: Sequence[str] | None = None) -> pl.DataFrame:
        """What it costs until the test error is at most `target`; a run that never gets there is censored."""
        return reaching.costs(self.rounds, self._by(by), target, cost)

    def reach(self, target: float | None = None, by: str = "bytes") -> Reach:
        """What each setting costs until its test error is at most a target, the study's own if none is given."""
        goal = self.target if target is None else target
        if goal is None:
            raise SimnetError("target: the study names none; say which test error is to be reached, such as 0.2")
        return reaching.reach(self, goal, by)

    def plot(self, x: str = "wire_bytes", y: str = "test_error", *, by: Sequence[str] | None = None) -> Figure:
        """Mean of `y` against mean of `x`, round by round, one line per setting, with the confidence band of `y`."""
        return _curves(self.rounds, self._by(by), x, y)

    def _by(self, by: Sequence[str] | None) -> list[str]:
        return list(self.fields if by is None else by)

    def __repr__(self) -> str:
        return f"StudyResult({self._counted()}; varied: {', '.join(self.fields) or 'nothing'})"

    def _counted(self) -> str:
        return f"{self.name}: {self.runs.height} of {self.planned.height} runs, {self.failures.height} failed"

    def _repr_html_(self) -> str:
        about = f"{self._counted()}. Means with their interval, over seeds"
        means = table_html(about, self.means().to_dicts())
        return means + caveats_html(self.caveats) + table_html("Failed", self.failures.to_dicts())


def labels(fields: Sequence[str]) -> list[str]:
    """Short names of fields: the last word that says something, or the whole path where two would be alike."""
    short = [field.removesuffix(".name").removesuffix(".kind").rpartition(".")[2] for field in fields]
    return [name if short.count(name) == 1 else field for name, field in zip(short, fields, strict=True)]


def query(sql: str, place: str | Path) -> pl.DataFrame:
    """Ask one study's folder, or a folder of studies."""
    allowance = Allowance(SimnetError)
    found = [StudyResult.of(Store(folder, allowance)) for folder in folders(Path(place))]
    tables = {}
    for table in ("runs", "rounds") if "rounds" in sql.lower() else ("runs",):
        named = (getattr(each, table).select(pl.lit(each.name).alias("study"), pl.exclude("study")) for each in found)
        tables[table] = stacked(*named, within=allowance)
    try:
        with pl.SQLContext(tables, eager=True) as context:
            answer = context.execute(sql)
    except pl.exceptions.PolarsError as error:
        raise SimnetError(f"query: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(answer, pl.DataFrame) or not answer.width:
        raise SimnetError("query: write a statement that answers with a table, such as select * from runs")
    return answer


def folders(place: Path) -> list[Path]:
    """The studies at a place: itself, or those inside."""
    if (place / PLAN).is_file():
        return [place]
    found = sorted(path.parent for path in place.glob(f"*/{PLAN}"))
    for folder in found:
        if folder.is_symlink():
            raise SimnetError(f"{folder} is a link out of the folder of studies; remove it, and ask its own folder")
    if not found:
        raise SimnetError(f"{place}: neither a study's folder nor a folder of studies; `simnet sweep` makes them")
    return found


def _curves(rounds: pl.DataFrame, by: Sequence[str], x: str, y: str) -> Figure:
    """Mean of `y` against mean of `x`, round by round, one line per setting, with the 95 % interval (t) of `y`."""
    from simnet.studies.plot import Plot

    figure = Plot(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for names, group in aggregate.groups(rounds, by):
        table = aggregate.means(group, ["round"], list(dict.fromkeys((x, y)))).sort("round")
        across, up = (table.filter(figure=name) for name in (x, y))
        label = ", ".join(f"{field.rpartition('.')[2]} {value}" for field, value in names.items())
        line = axes.plot(across["mean"], up["mean"], label=label or None)[0]
        low, high = (up[name].to_numpy().astype(np.float64) for name in ("t95_low", "t95_high"))
        axes.fill_between(across["mean"], low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_xlabel(x.replace("_", " "))
    axes.set_ylabel(y.replace("_", " "))
    if by:
        axes.legend(frameon=False)
    return figure
