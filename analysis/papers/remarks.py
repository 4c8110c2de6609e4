"""What the papers say in passing: tables without a picture.

    python -m analysis.papers.remarks

IPP-ADMM with its test exactly as printed; DVP, M-ADMM and R-ADMM with Gaussian noise; M-ADMM with penalties of the
agents' own and with noise of the agents' own.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from analysis.papers.drawing import errors, finals, options
from analysis.papers.tuning import write
from simnet.studies.results import StudyResult


def printed(study: StudyResult, controls: StudyResult) -> pl.DataFrame:
    on = ("privacy.epsilon", "privacy.calibration", "algorithm.eta")
    return errors(study, "train_loss", "broadcasts", on=on, controls=controls)


def own_penalties(study: StudyResult) -> pl.DataFrame:
    return finals(study, "train_loss", "claimed_epsilon")


def gaussian(study: StudyResult) -> pl.DataFrame:
    return finals(study, "test_error", "train_loss", "yardsticks_constant", "yardsticks_optimum")


TABLES: dict[str, tuple[Callable[..., pl.DataFrame], tuple[str, ...]]] = {
    "pp-as-printed": (printed, ("pp-as-printed", "pp-figures-5-and-6")),
    "m-own-penalties": (own_penalties, ("m-own-penalties",)),
    "pp-gaussian-baselines": (gaussian, ("pp-gaussian-baselines",)),
}
"""Each table, and the studies that it is made of."""


def main() -> None:
    chosen = options(__doc__)
    for name, (table, studies) in TABLES.items():
        if absent := [each for each in studies if not (chosen.results / each / "study.json").exists()]:
            print(f"{name}: skipped, there are no results of {', '.join(absent)}")
            continue
        write(table(*(StudyResult.load(chosen.results / each) for each in studies)), chosen.output, name)
        print(f"wrote {chosen.output / name}.csv")


if __name__ == "__main__":
    main()
