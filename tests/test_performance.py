"""docs/performance.md tells the stored numbers and no others."""

import json

from benchmarks.page import BLOCK, PAGE, block, filled, ratios
from benchmarks.report import RESULTS


def test_the_page_is_filled_from_the_stored_results():
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text) == text, "run: python -m benchmarks.page"


def test_every_stored_result_has_its_place_on_the_page():
    named = {found["name"] for found in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))}
    assert {path.stem for path in RESULTS.glob("*.json")} <= named
    assert all("|" in block(path.stem) for path in RESULTS.glob("*.json"))


def test_a_goal_that_is_missed_is_said_to_be_missed():
    found = {
        "ratios": {"a (goal: at least 10)": 9.9, "b (goal: at most 1.5)": 1.4, "c (goal: at least 1/3)": 0.4, "d": 2}
    }
    verdicts = [line.split("|")[4].strip() for line in ratios(found).splitlines()[2:]]
    assert verdicts == ["**no**", "yes", "yes", ""]


def test_stored_results_say_what_they_were_measured_on():
    for path in RESULTS.glob("*.json"):
        assert {"python", "machine"} <= json.loads(path.read_text(encoding="utf-8")).keys()
