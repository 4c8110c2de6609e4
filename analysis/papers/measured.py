"""Fill docs/reproduction.md with what we measured, from the tables beside the figures.

    python -m analysis.papers.measured

A passage between `<!-- name -->` and `<!-- /name -->` is what the function of that name in `analysis.papers.passages`
says. So no number of the page is typed by hand; claims and verdicts are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from analysis.papers.passages import all_methods, dp, m, pdml, pp, r
from analysis.papers.passages.reading import FIGURES

PAGE = FIGURES.parent / "reproduction.md"
PASSAGE = re.compile(r"<!-- (?P<name>[\w-]+) -->(?P<text>.*?)<!-- /(?P=name) -->", re.DOTALL)

PASSAGES: tuple[Callable[[], str], ...] = (
    *(all_methods.runs, all_methods.ordering, all_methods.ordering_pairs, all_methods.ordering_control),
    *(all_methods.ordering_yardsticks, all_methods.tuning, all_methods.random_start, all_methods.ordering_gaussian),
    *(pp.pp_1, pp.pp_2, pp.pp_3, pp.pp_4, pp.pp_5, pp.pp_5_adult_41, pp.pp_5_saves, pp.pp_6, pp.pp_7),
    *(pp.pp_printed, pp.pp_gaussian),
    *(r.r_1, r.r_1_gamma, r.r_2, r.r_2_smaller, r.r_2_range, r.r_3, r.r_work),
    *(m.m_1a, m.m_1a_steps, m.m_1b, m.m_2, m.m_2_std, m.m_34, m.m_5, m.m_secret, m.m_own),
    *(
        pdml.pdml_table,
        pdml.pdml_t1,
        pdml.pdml_t1_near,
        pdml.pdml_t1_worst,
        pdml.pdml_t1_tasks,
        pdml.pdml_t1_constant,
        pdml.pdml_tuned,
        pdml.pdml_3a,
        pdml.pdml_3b,
        pdml.pdml_averages,
        pdml.pdml_4a,
        pdml.pdml_4b,
        pdml.pdml_4c,
    ),
    *(
        dp.dp_1,
        dp.dp_1_noise,
        dp.dp_1_utility,
        dp.dp_1_time,
        dp.dp_2_small,
        dp.dp_2_large,
        dp.dp_2_more,
        dp.dp_2_approach,
    ),
)


def filled(text: str) -> str:
    """The page with every passage written anew."""
    said = {passage.__name__.replace("_", "-"): passage for passage in PASSAGES}
    return PASSAGE.sub(lambda found: f"<!-- {found['name']} -->{said[found['name']]()}<!-- /{found['name']} -->", text)


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
