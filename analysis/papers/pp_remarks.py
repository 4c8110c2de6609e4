"""PP/IPP-ADMM: IPP-ADMM's test exactly as printed, and the methods before it with Gaussian noise. Tables only.

python -m analysis.papers.pp_remarks
"""

from __future__ import annotations

from analysis.papers.drawing import finals, options
from analysis.papers.tuning import write
from simnet.studies.results import StudyResult

STUDIES = {
    "pp-as-printed": ("test_error", "train_loss", "broadcasts"),
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
