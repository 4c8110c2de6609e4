"""The regression guard: counts of work, not seconds, so that it holds on any machine."""

import json

from benchmarks.work import STORED, count, judge


def test_a_fixed_run_is_no_more_work_than_it_was():
    found = count()
    assert judge(found, json.loads(STORED.read_text(encoding="utf-8"))) == []


def test_a_tenth_more_is_too_much_and_a_tenth_less_asks_for_a_tighter_guard():
    assert judge({"calls": 1100}, {"calls": 1000}) == []
    assert "more than a tenth more work" in judge({"calls": 1101}, {"calls": 1000})[0]
    assert "--refresh" in judge({"calls": 899}, {"calls": 1000})[0]
