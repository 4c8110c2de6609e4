"""PP/IPP-ADMM, Figure 5 on all 48,842 rows of Adult in 41 features, the size that the paper states.

python -m analysis.papers.pp_adult_41
"""

from __future__ import annotations

from analysis.papers import pp_figure_5
from analysis.papers.drawing import Drawing, finals, main
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """As Figure 5; the table also has what errors are held against."""
    figure, _ = pp_figure_5.draw(study)
    known = ("constant", "optimum", "best_optimum")
    return figure, finals(study, "test_error", "proven_epsilon", *(f"yardsticks_{name}" for name in known))


if __name__ == "__main__":
    main("pp-adult-41", draw, __doc__)
