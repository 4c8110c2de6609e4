"""PP/IPP-ADMM, Figure 4: the threshold α of the test.

python -m analysis.papers.pp_figure_4
"""

from __future__ import annotations

from analysis.papers import scan
from analysis.papers.drawing import Drawing, main
from simnet.studies.results import StudyResult


def draw(study: StudyResult, controls: StudyResult) -> Drawing:
    return scan.draw(study, "ipp-admm", "algorithm.threshold", "α, improvement that is worth a broadcast", controls)


if __name__ == "__main__":
    main("pp-figure-4", draw, __doc__, ["pp-figure-4", "pp-control"])
