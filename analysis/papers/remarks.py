"""What the papers say in passing: tables without a picture.

    python -m analysis.papers.remarks

IPP-ADMM with its test exactly as printed; DVP, M-ADMM and R-ADMM with Gaussian noise; M-ADMM with penalties of the
agents' own.
"""

from __future__ import annotations

from analysis.papers.drawing import finals, options
from analysis.papers.tuning import write
from simnet.studies.results import StudyResult

STUDIES = {
    "pp-as-printed": ("test_error", "train_loss", "broadcasts"),
    "m-own-penalties": ("train_loss", "claimed_epsilon"),
    "pp-gaussian-baselines": ("test_error", "train_loss", "yardsticks_constant", "yardsticks_optimum"),
}


def main() -> None:
    chosen = options(__doc__)
    for name, figures in STUDIES.items():
        if not (chosen.results / name / "study.json").exists():
            print(f"{name}: skipped, there are no results of it")
            continue
        write(finals(StudyResult.load(chosen.results / name), *figures), chosen.output, name)
        print(f"wrote {chosen.output / name}.csv")


if __name__ == "__main__":
    main()
