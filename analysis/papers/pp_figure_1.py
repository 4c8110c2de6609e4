"""PP/IPP-ADMM, Figure 1: the budget's split.

python -m analysis.papers.pp_figure_1
"""

from __future__ import annotations

from analysis.papers import scan
from analysis.papers.drawing import Drawing, main
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    return scan.draw(study, "pp-admm", "algorithm.output_share", "budget share of the output noise (splits)")


if __name__ == "__main__":
    main("pp-figure-1", draw, __doc__)
