"""Counts an interval, against counting by hand."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.record import events as ev
from simnet.report.flow import FATES, Flow
from tests.record.stories import lawful


def told(story) -> Flow:
    flow = Flow()
    for seq, (t, event) in enumerate(story, start=1):
        flow(seq, t, event)
    return flow


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_every_fate_is_counted_once_in_the_interval_in_which_it_is_met(seed, count):
    story = lawful(agents=4, rounds=4, seed=seed, notices=True, tested=True)
    found = told(story).intervals(count)
    edges = found["edges"]
    for kind, fate in FATES.items():
        times = [t for t, event in story if type(event) is kind]
        by_hand = [sum(low < t <= high for t in times) for low, high in pairwise(edges)]
        by_hand[0] += times.count(0.0)
        assert found[fate] == by_hand


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_most_messages_under_way_are_those_sent_and_not_met(seed, count):
    story = lawful(agents=4, rounds=4, seed=seed)
    found = told(story).intervals(count)
    edges = found["edges"]
    moments = sorted({t for t, _ in story})

    def under_way(moment: float) -> int:
        sent = sum(t <= moment for t, event in story if isinstance(event, ev.MessageSent))
        return sent - sum(t <= moment for t, event in story if type(event) in FATES)

    for place, (low, high) in enumerate(pairwise(edges)):
        before = [t for t in moments if t <= low][-1:] if place else []
        assert found["under_way"][place] == max(
            under_way(t) for t in [*before, *(t for t in moments if low < t <= high)] or [0.0]
        )


def test_a_run_that_takes_no_time_has_one_interval():
    flow = Flow()
    flow(1, 0.0, ev.MessageSent(0, 1, 1, 1, "value", 16, 48))
    flow(2, 0.0, ev.MessageDelivered(1, 1, 0, 1))
    found = flow.intervals()
    assert (found["delivered"], found["under_way"]) == ([1], [0])


def test_rows_that_travel_before_the_first_round_are_counted_apart():
    flow = Flow()
    flow(1, 0.5, ev.ReportsGathered(0, 10, 9, 1, 160, 480))
    assert flow.reports == 10
    assert sum(flow.intervals()["delivered"]) == 0
