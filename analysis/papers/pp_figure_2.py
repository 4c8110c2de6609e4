"""PP/IPP-ADMM, Figure 2: the accuracy β of the local solves.

python -m analysis.papers.pp_figure_2
"""

from __future__ import annotations

from analysis.papers import scan
from analysis.papers.drawing import Drawing, main
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    return scan.draw(study, "pp-admm", "algorithm.tolerance", "β, gradient norm at the end of a solve")


if __name__ == "__main__":
    main("pp-figure-2", draw, __doc__)
