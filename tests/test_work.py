"""The regression guard: counts of work, not seconds, so that it holds on any machine."""

import json

from benchmarks.work import STORED, count, judge


def test_a_fixed_run_is_no_more_work_than_it_was():
    found = count()
    assert judge(found, json.loads(STORED.read_text(encoding="utf-8"))) == []


def test_more_than_a_tenth_more_is_too_much_and_less_is_always_right():
    assert judge({"calls": 1100}, {"calls": 1000}) == []
    assert judge({"calls": 10}, {"calls": 1000}) == []
    assert "more than a tenth more work" in judge({"calls": 1101}, {"calls": 1000})[0]
