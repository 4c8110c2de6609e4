"""PP/IPP-ADMM, Figure 3: the clipping C_loss of the test.

python -m analysis.papers.pp_figure_3
"""

from __future__ import annotations

from analysis.papers import scan
from analysis.papers.drawing import Drawing, main
from simnet.studies.results import StudyResult


def draw(study: StudyResult, controls: StudyResult) -> Drawing:
    return scan.draw(study, "ipp-admm", "algorithm.clip", "C_loss, clipping of a row's loss", controls)


if __name__ == "__main__":
    main("pp-figure-3", draw, __doc__, ["pp-figure-3", "pp-control"])
