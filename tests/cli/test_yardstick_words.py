"""What a terminal says beside a test error."""

from __future__ import annotations

from simnet import run
from simnet.cli import yardstick_words
from simnet.cli.explain import explain
from simnet.cli.terminal import compare_table, run_table
from simnet.learning.yardsticks import Yardsticks
from tests.worlds import world

WHOLE = Yardsticks(0.25, 0.1695, 1e-4, 0.1568, 1e-6)


def test_a_run_tells_both_and_what_another_regulariser_would_give():
    constant, optimum = yardstick_words.rows(WHOLE.figures())
    assert constant[1] == "0.2500"
    assert optimum[1:] == ("0.1695", "all rows in one place, no privacy; at best 0.1568, λ = 1e-06")


def test_what_is_missing_is_told_in_a_sentence():
    nothing = Yardsticks(0.25, absent="its loss is not convex")
    assert yardstick_words.rows(nothing.figures())[1] == ("· optimum", "–", "its loss is not convex")
    (topic,) = yardstick_words.facts(nothing.figures()).values()
    assert topic["what is missing"] == "its loss is not convex"
    assert yardstick_words.rows(None) == []  # a published record


def test_a_table_of_several_runs_has_one_line_for_all_and_a_range_where_they_differ():
    other = Yardsticks(0.25, 0.1712, 1e-2, 0.1568, 1e-6)
    line = yardstick_words.line([WHOLE.figures(), other.figures()])
    assert line == "constant answer 0.2500; optimum without privacy 0.1695 to 0.1712; at best 0.1568"
    assert len(line) <= 80
    assert yardstick_words.line([{}, {}]) == ""


def test_run_compare_and_explain_show_the_same_numbers():
    result = run(world())
    optimum = f"{result.summary['yardsticks']['optimum']:.4f}"
    assert optimum in list(run_table(result).columns[1].cells)
    assert f"optimum without privacy {optimum}" in str(compare_table([result]).title)
    (topic,) = (facts for name, facts in explain(world()).items() if name.startswith("yardsticks"))
    assert str(topic["optimum without privacy"]).startswith(f"{optimum}: ")
