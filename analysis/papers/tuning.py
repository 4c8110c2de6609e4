"""Which settings adult.toml gives each method, by a rule: the least training loss over seeds that no table uses.

    python -m analysis.papers.tuning

Every method with parameters of its own has a study `tuning-…` in scenarios/papers: the same data, network, η = 0.01 and
ε = 1 as adult.toml, seeds 101 to 103. No test row is looked at, and no ε is charged for the search. The penalty and the
regulariser of PDML's Table I are chosen by the same rule, on average over its seven data sets.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from analysis.papers.drawing import options
from simnet.studies.results import StudyResult

STUDIES = ("m-admm", "gamma", "r-admm", "ipp-admm", "pdml", "central")
TABLE = "tuning-pdml-table"
SETS = 7
HIDDEN = ("algorithm.name", "topology.kind")


def tried(study: StudyResult) -> pl.DataFrame:
    """One row per method and setting, the chosen one marked."""
    names = [field for field in study.fields if field not in HIDDEN]
    settings = [pl.format(f"{name.removeprefix('algorithm.')} = {{}}", pl.col(name)) for name in names]
    found = study.means("train_loss").select(
        method="algorithm.name",
        setting=pl.concat_str(settings, separator=", "),
        n="n",
        train_loss="mean",
        least="min",
        most="max",
    )
    best = pl.col("train_loss") == pl.col("train_loss").min().over("method")
    return found.with_columns(chosen=best)


def over_sets(study: StudyResult) -> pl.DataFrame:
    """One row per penalty and regulariser: the training loss on average over the data sets and seeds."""
    fields = ["algorithm.eta", "algorithm.regulariser"]
    found = study.runs.group_by(fields, maintain_order=True).agg(
        sets=pl.col("data.source").n_unique(), n=pl.len(), train_loss=pl.col("train_loss").mean()
    )
    return found.with_columns(chosen=pl.col("train_loss") == pl.col("train_loss").min())


def write(table: pl.DataFrame, output: Path, name: str) -> None:
    output.mkdir(parents=True, exist_ok=True)
    table.with_columns(pl.selectors.float().round_sig_figs(6)).write_csv(output / f"{name}.csv")


def of_table_one(results: Path, output: Path) -> None:
    """The choice for PDML's Table I, if all its data sets are here."""
    if not (results / TABLE / "study.json").exists():
        print(f"{TABLE}: skipped, there are no results")
        return
    found = over_sets(StudyResult.load(results / TABLE))
    if found["sets"].min() != SETS:
        print(f"{TABLE}: left as it is, because not all {SETS} data sets are here")
        return
    write(found, output, TABLE)
    row = found.filter("chosen").to_dicts()[0]
    print(f"pdml, Table I: eta = {row['algorithm.eta']:g}, regulariser = {row['algorithm.regulariser']:g}")


def main() -> None:
    chosen = options(__doc__)
    of_table_one(chosen.results, chosen.output)
    folders = [chosen.results / f"tuning-{name}" for name in STUDIES]
    absent = [folder.name for folder in folders if not (folder / "study.json").exists()]
    if absent:
        print(f"tuning: skipped, there are no results of {', '.join(absent)}")
        return
    table = pl.concat([tried(StudyResult.load(folder)) for folder in folders])
    for row in table.filter("chosen").to_dicts():
        count = table.filter(method=row["method"]).height
        print(f"{row['method']}: {row['setting']} (best of {count}, training loss {row['train_loss']:.4f})")
    write(table, chosen.output, "tuning")


if __name__ == "__main__":
    main()
