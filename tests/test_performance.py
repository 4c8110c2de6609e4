"""docs/performance.md and docs/validation.md tell the stored numbers and no others."""

import json

import pytest

from benchmarks.page import BLOCK, PAGES, block, filled, ratios
from benchmarks.report import RESULTS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_is_filled_from_the_stored_results(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "run: python -m benchmarks.page"


def test_every_stored_result_has_its_place_on_a_page():
    named = {found["name"] for page in PAGES for found in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    stored = {path.stem for path in RESULTS.glob("*.json")}
    assert stored <= {name.partition(".")[0] for name in named}
    assert all("|" in block(name) for name in named if name in stored)


def test_a_goal_that_is_missed_is_said_to_be_missed():
    found = {
        "ratios": {"a (goal: at least 10)": 9.9, "b (goal: at most 1.5)": 1.4, "c (goal: at least 1/3)": 0.4, "d": 2}
    }
    verdicts = [line.split("|")[4].strip() for line in ratios(found).splitlines()[2:]]
    assert verdicts == ["**no**", "yes", "yes", ""]


def test_stored_results_say_what_they_were_measured_on():
    for path in RESULTS.glob("*.json"):
        assert {"python", "machine"} <= json.loads(path.read_text(encoding="utf-8")).keys()
