"""PP/IPP-ADMM, Figure 5 on all 48,842 rows of Adult in 41 features, the size that the paper states.

python -m analysis.papers.pp_adult_41
"""

from __future__ import annotations

from analysis.papers.drawing import main
from analysis.papers.pp_figure_5 import draw

if __name__ == "__main__":
    main("pp-adult-41", draw, __doc__)
