from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network.model import LinkModel
from simnet.network.wire import Wire
from simnet.streams import Streams
from tests.network.models import bernoulli, constant, gilbert_elliott, lognormal, uniform

seeds = st.integers(0, 10**6)
gaps = st.lists(st.floats(0, 2), min_size=1, max_size=100)


def carry(model, departures, seed=1, packets=1):
    wire = Wire(model, Streams(seed), "0>1")
    return [wire.carry(t, t, packets, 100) for t in departures]


def times(steps):
    return np.cumsum(steps).tolist()


@given(seeds, gaps)
def test_nothing_overtakes_on_an_ordered_wire(seed, steps):
    passages = carry(LinkModel(latency=lognormal(1.0, 1.0), loss=bernoulli(0.3), order="fifo"), times(steps), seed)
    arrivals = [p.arrives for p in passages if p.fate == "delivered"]
    assert arrivals == sorted(arrivals)


@given(seeds, gaps)
def test_an_ordered_wire_only_delays_and_only_behind_somebody(seed, steps):
    departures = times(steps)
    free, fifo = (
        carry(LinkModel(latency=lognormal(1.0, 1.0), loss=bernoulli(0.3), order=order), departures, seed)
        for order in ("free", "fifo")
    )
    latest = -inf
    for loose, strict in zip(free, fifo, strict=True):
        assert strict.fate == loose.fate
        if loose.fate == "delivered":
            latest = max(latest, loose.arrives)
            assert strict.arrives == latest


@given(seeds, gaps)
def test_a_free_wire_adds_the_kth_delay_of_the_stream_to_the_kth_departure(seed, steps):
    departures = times(steps)
    latency = uniform(0.1, 3.0)
    delays = latency.draw(Streams(seed).generator("latency", "0>1"), len(departures))
    passages = carry(LinkModel(latency=latency, order="free"), departures, seed)
    assert [p.arrives for p in passages] == (np.array(departures) + delays).tolist()


@given(seeds, gaps, st.floats(0, 1), st.floats(0, 1), st.sets(st.integers(0, 99)))
def test_no_setting_disturbs_the_draws_of_another(seed, steps, p, corruption, refused):
    """Losses, corruption, copies and messages that the queue refused leave every other message's delay alone."""
    departures = times(steps)
    bare = carry(LinkModel(latency=uniform(0.1, 3.0), order="free"), departures, seed)
    model = LinkModel(
        latency=uniform(0.1, 3.0), loss=bernoulli(p), order="free", corruption=corruption, duplication=0.5
    )
    wire = Wire(model, Streams(seed), "0>1")
    for k, (departs, plain) in enumerate(zip(departures, bare, strict=True)):
        passage = wire.carry(inf, inf, 1, 100) if k in refused else wire.carry(departs, departs, 1, 100)
        assert passage.fate == "overflowed" or passage.fate == "lost" or passage.arrives == plain.arrives
        assert (passage.fate == "overflowed") == (k in refused)


@given(seeds, gaps, st.floats(0, 1), st.floats(0, 1))
def test_a_greater_chance_of_corruption_or_of_copies_only_adds_some(seed, steps, p, q):
    low, high = sorted((p, q))
    some, more = (
        carry(LinkModel(latency=uniform(0, 1), corruption=x, duplication=x), times(steps), seed) for x in (low, high)
    )
    for few, many in zip(some, more, strict=True):
        assert few.corrupted <= many.corrupted
        assert few.copies in ((), many.copies)
        assert few.arrives == many.arrives


@given(seeds, gaps)
def test_a_copy_comes_after_its_first_and_delays_nobody(seed, steps):
    alone, doubled = (
        carry(LinkModel(latency=lognormal(1.0, 1.0), order="fifo", duplication=x), times(steps), seed)
        for x in (0.0, 1.0)
    )
    for single, double in zip(alone, doubled, strict=True):
        assert single.copies == ()
        assert double.arrives == single.arrives
        (copy,) = double.copies
        assert copy >= double.arrives


def test_what_does_not_arrive_has_no_arrival_and_no_copies():
    model = LinkModel(latency=constant(1.0), loss=bernoulli(1.0), duplication=1.0, corruption=1.0)
    wire = Wire(model, Streams(1), "0>1")
    assert wire.carry(0.0, 2.0, 3, 90) == ("lost", 0.0, 2.0, inf, 3, 90, False, ())
    assert wire.carry(inf, inf, 3, 90) == ("overflowed", inf, inf, inf, 3, 0, False, ())


def test_flaws_come_as_often_as_asked():
    passages = carry(LinkModel(duplication=0.1, corruption=0.05), [0.0] * 100_000, packets=3)
    assert np.mean([bool(p.copies) for p in passages]) == pytest.approx(0.1, rel=0.05)
    assert np.mean([p.corrupted for p in passages]) == pytest.approx(1 - 0.95**3, rel=0.05)


class Silent(Streams):
    """Streams that nobody may use."""

    def generator(self, role, name=""):
        raise AssertionError(f"the stream {role}/{name} was opened")

    visit = generator


def test_a_perfect_wire_opens_no_stream_and_others_wait_for_their_first_message():
    wire = Wire(LinkModel(latency=constant(0.5)), Silent(1), "0>1")
    assert wire.carry(1.0, 2.0, 1, 10).arrives == 2.5
    wire = Wire(LinkModel(latency=uniform(0, 1), loss=gilbert_elliott(0.1, 0.5), duplication=0.1), Silent(1), "0>1")
    with pytest.raises(AssertionError, match="latency/0>1 was opened"):
        wire.carry(1.0, 2.0, 1, 10)
