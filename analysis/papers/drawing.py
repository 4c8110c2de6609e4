"""What the papers' figures share: stored results in, bands over seeds, PNG and CSV out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.controls import with_controls
from analysis.palette import style
from simnet.studies.aggregate import means
from simnet.studies.results import StudyResult

Drawing = tuple[Figure, pl.DataFrame]

SOURCES = ("data.source", "data")
"""What the column of data sets is called."""


NAMES = {"bio/bio.npz": "bio_train"}


def called(source: str) -> str:
    """What a paper calls a data set."""
    return NAMES.get(source, source)


def finals(study: StudyResult, *figures: str) -> pl.DataFrame:
    """One row per setting and figure: statistics over seeds, at the end of the runs."""
    return study.means(*figures)


def errors(
    study: StudyResult, *figures: str, on: Sequence[str] = (), controls: StudyResult | None = None
) -> pl.DataFrame:
    """The same of test errors: with what they are held against, and with the control beside each run of IPP-ADMM.

    The control agrees with it `on` these fields, and may be in a study of its own.
    """
    known = [f"yardsticks_{name}" for name in (*YARDSTICKS, "best_optimum")]
    runs = with_controls(study, *on, controls=controls)
    return means(runs, study.fields, ["test_error", *figures, *known])


def by_round(study: StudyResult, *figures: str) -> pl.DataFrame:
    """One row per setting, round and figure: mean, standard deviation and range over seeds."""
    parts = [
        study.rounds.group_by([*study.fields, "round"], maintain_order=True)
        .agg(
            pl.lit(figure).alias("figure"),
            pl.len().alias("n"),
            pl.col(figure).mean().alias("mean"),
            pl.col(figure).std().alias("std"),
            pl.col(figure).cast(float).min().alias("min"),
            pl.col(figure).cast(float).max().alias("max"),
        )
        .sort([*study.fields, "round"], nulls_last=True, maintain_order=True)
        for figure in figures
    ]
    return pl.concat(parts)


def where(table: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """The rows with these values; `a__b` stands for the field a.b."""
    for name, value in values.items():
        table = table.filter(pl.col(name.replace("__", ".")).eq_missing(pl.lit(value)))
    return table


def band(axes: Axes, table: pl.DataFrame, x: str, label: str, colour: str, **line: Any) -> None:
    """The mean as a line, the range over seeds as a band."""
    axes.plot(table[x], table["mean"], color=colour, label=label, **line)
    axes.fill_between(table[x], table["min"], table["max"], color=colour, alpha=0.15, linewidth=0)


YARDSTICKS = {"constant": ("best constant answer", ":"), "optimum": ("optimum without privacy", "--")}
BEST = {"constant": YARDSTICKS["constant"], "best_optimum": ("optimum without privacy, at best", "--")}
"""Those of a method that has no optimum of its own."""


def held_against(
    axes: Axes, runs: pl.DataFrame, *, across: bool = True, among: Mapping[str, tuple[str, str]] = YARDSTICKS
) -> None:
    """Lines at what test errors are held against, the means over these runs; upright ones unless `across`."""
    for name, (label, dashes) in among.items():
        column = f"yardsticks_{name}"
        found = runs[column].mean() if column in runs.columns else None
        if isinstance(found, float):
            line = axes.axhline if across else axes.axvline
            line(found, color="#888888", linestyle=dashes, linewidth=1.2, label=label)


def panels(rows: int, columns: int, width: float = 3.6, height: float = 3.0, **more: Any) -> tuple[Figure, Any]:
    """A grid of axes in the shared style."""
    style()
    return plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), layout="constrained", squeeze=False, **more
    )


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def options(description: str | None) -> argparse.Namespace:
    """Where results are, and where figures go."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--output", type=Path, default=Path("docs/figures"))
    return parser.parse_args()


def lost(table: pl.DataFrame, stored: Path) -> list[str]:
    """The data sets that a stored table has and a new one has not: their files are not here."""
    if not stored.exists():
        return []
    before = pl.read_csv(stored, infer_schema_length=None)
    return [
        source
        for column in SOURCES
        if column in before.columns and column in table.columns
        for source in before[column].unique(maintain_order=True)
        if source not in table[column]
    ]


def main(
    name: str,
    draw: Callable[..., Drawing],
    description: str | None,
    studies: Sequence[str] = (),
    markdown: Callable[[pl.DataFrame], str] | None = None,
) -> None:
    """Draw from the study of that name, or from several, and write the picture and the table behind it.

    What is stored already and holds data sets that are absent here stays as it is.
    """
    chosen = options(description)
    needed = studies or (name,)
    absent = [each for each in needed if not (chosen.results / each / "study.json").exists()]
    if absent:
        print(f"{name}: skipped, there are no results of {', '.join(absent)}")
        return
    figure, table = draw(*(StudyResult.load(chosen.results / each) for each in needed))
    stored = chosen.output / f"{name}.csv"
    if missing := lost(table, stored):
        print(f"{name}: left as it is, because {stored} has {', '.join(missing)}, which is not here")
        return
    chosen.output.mkdir(parents=True, exist_ok=True)
    figure.savefig(stored.with_suffix(".png"), dpi=110)
    table.with_columns(pl.selectors.float().round_sig_figs(6)).write_csv(stored)
    if markdown is not None:
        stored.with_suffix(".md").write_text(markdown(table), encoding="utf-8")
    print(f"wrote {stored.with_suffix('.png')} and what is behind it")
