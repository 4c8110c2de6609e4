"""Which settings adult.toml gives each method, by a rule: the least training loss over seeds that no table uses.

    python -m analysis.papers.tuning

Every method with parameters of its own has a study `tuning-…` in scenarios/papers: the same data, network, η = 0.01 and
ε = 1 as adult.toml, seeds 101 to 103. No test row is looked at, and no ε is charged for the search.
"""

from __future__ import annotations

import polars as pl

from analysis.papers.drawing import options
from simnet.studies.results import StudyResult

STUDIES = ("m-admm", "gamma", "r-admm", "ipp-admm", "pdml", "central")
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


def main() -> None:
    chosen = options(__doc__)
    folders = [chosen.results / f"tuning-{name}" for name in STUDIES]
    absent = [folder.name for folder in folders if not (folder / "study.json").exists()]
    if absent:
        print(f"tuning: skipped, there are no results of {', '.join(absent)}")
        return
    table = pl.concat([tried(StudyResult.load(folder)) for folder in folders])
    for row in table.filter("chosen").to_dicts():
        count = table.filter(method=row["method"]).height
        print(f"{row['method']}: {row['setting']} (best of {count}, training loss {row['train_loss']:.4f})")
    chosen.output.mkdir(parents=True, exist_ok=True)
    table.with_columns(pl.selectors.float().round_sig_figs(6)).write_csv(chosen.output / "tuning.csv")


if __name__ == "__main__":
    main()
