from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network.link import Link, Passage
from simnet.network.model import LinkModel
from simnet.network.queueing import Queue, Red, Transmitter
from simnet.streams import Streams
from tests.network.models import bernoulli, constant, gilbert_elliott, lognormal, no_loss, uniform

models = st.builds(
    LinkModel,
    latency=st.sampled_from([constant(0.5), uniform(0.1, 2.0), lognormal(1.0, 1.0)]),
    loss=st.sampled_from([no_loss(), bernoulli(0.3), gilbert_elliott(0.1, 0.3)]),
    bandwidth=st.sampled_from([None, 800.0, 8000.0]),
    queue=st.builds(
        Queue,
        limit=st.none() | st.integers(0, 50),
        unit=st.sampled_from(["packets", "bytes"]),
        red=st.sampled_from([None, Red(low=1, high=5, chance=0.5, weight=0.2)]),
    ),
    mtu=st.sampled_from([None, 30, 100]),
    overhead=st.sampled_from([0, 8]),
    framing=st.sampled_from([0, 5]),
    order=st.sampled_from(["fifo", "free"]),
    duplication=st.sampled_from([0.0, 0.3]),
    corruption=st.sampled_from([0.0, 0.3]),
)
messages = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 300)), max_size=80)


def send(link, steps):
    now, passages = 0.0, []
    for gap, size in steps:
        now += gap
        passages.append((now, size, link.send(now, size)))
    return passages


@given(models, messages, st.integers(0, 1000))
def test_every_message_has_one_fate_and_its_times_are_in_order(model, steps, seed):
    latest = -inf
    for now, size, passage in send(Link(model, Streams(seed), "0>1"), steps):
        match passage.fate:
            case "overflowed":
                assert model.bandwidth is not None
                assert passage.starts == passage.departs == passage.arrives == inf
                assert 0 <= passage.wire_bytes < passage.offered_bytes
            case "lost":
                assert now <= passage.starts <= passage.departs < passage.arrives == inf
            case "delivered":
                assert now <= passage.starts <= passage.departs < passage.arrives < inf
                assert all(passage.arrives <= copy < inf for copy in passage.copies)
        assert passage.offered_bytes == size + passage.packets * (model.overhead + model.framing)
        if passage.fate != "overflowed":
            assert passage.wire_bytes == passage.offered_bytes
            assert passage.starts >= latest  # one line: no message starts before the one before has left
            latest = passage.departs
        if passage.fate != "delivered":
            assert not passage.corrupted
            assert not passage.copies


@given(models, messages, st.integers(0, 1000))
def test_the_same_seed_gives_the_same_passages(model, steps, seed):
    first, again = (send(Link(model, Streams(seed), "0>1"), steps) for _ in range(2))
    assert first == again


@given(models, messages, messages, st.integers(0, 1000))
def test_links_with_transmitters_of_their_own_do_not_know_of_each_other(model, here, there, seed):
    alone = send(Link(model, Streams(seed), "0>1"), here)
    one, other = (Link(model, Streams(seed), name) for name in ("0>1", "0>2"))
    send(other, there)
    assert send(one, here) == alone


def test_a_broadcast_over_a_shared_uplink_leaves_one_copy_at_a_time():
    streams = Streams(1)
    model = LinkModel(latency=constant(0.5), bandwidth=8000.0, queue=2, overhead=0)
    uplink = Transmitter(model, streams, "0")
    links = [Link(model, streams, f"0>{peer}", uplink) for peer in (1, 2, 3, 4)]
    passages = [link.send(0.0, 1000) for link in links]
    assert [p.arrives for p in passages] == [1.5, 2.5, 3.5, inf]
    assert [p.fate for p in passages] == ["delivered", "delivered", "delivered", "overflowed"]


def test_the_two_directions_may_differ():
    up = Link(LinkModel(latency=constant(0.02), bandwidth=1e6, overhead=0), Streams(1), "0>1")
    down = Link(LinkModel(latency=constant(0.01), bandwidth=1e7, overhead=0), Streams(1), "1>0")
    arrivals = up.send(0.0, 12_500).arrives, down.send(0.0, 12_500).arrives
    assert arrivals == pytest.approx((0.12, 0.02))


def test_one_transmission_may_reach_several_wires():
    """A shared medium: the sender's transmitter once, each neighbour's wire with its own delays and losses."""
    model = LinkModel(latency=uniform(0.1, 0.2), loss=bernoulli(0.5), bandwidth=8000.0, overhead=0)
    links = [Link(model, Streams(1), f"0>{peer}") for peer in range(1, 50)]
    departure = links[0].transmitter.admit(0.0, 1000)
    passages = [link.send(0.0, 1000, departure) for link in links]
    assert {p.departs for p in passages} == {1.0}
    assert {p.fate for p in passages} == {"delivered", "lost"}


seeds = st.integers(0, 10**6)
gaps = st.lists(st.floats(0, 2), min_size=1, max_size=100)


def carry(model, departures, seed=1, packets=1):
    wire = Link(model, Streams(seed), "0>1")
    return [wire.send(0.0, 100, (t, t, packets, 100, 0)) for t in departures]


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
    wire = Link(model, Streams(seed), "0>1")
    for k, (departs, plain) in enumerate(zip(departures, bare, strict=True)):
        time = inf if k in refused else departs
        passage = wire.send(0.0, 100, (time, time, 1, 100, 0))
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
    wire = Link(model, Streams(1), "0>1")
    assert wire.send(0.0, 100, (0.0, 2.0, 3, 90, 0)) == Passage("lost", 0.0, 2.0, inf, 3, 90)
    assert wire.send(0.0, 100, (inf, inf, 3, 30, 60)) == Passage("overflowed", inf, inf, inf, 3, 30, refused_bytes=60)


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
    wire = Link(LinkModel(latency=constant(0.5)), Silent(1), "0>1")
    assert wire.send(0.0, 100, (1.0, 2.0, 1, 10, 0)).arrives == 2.5
    wire = Link(LinkModel(latency=uniform(0, 1), loss=gilbert_elliott(0.1, 0.5), duplication=0.1), Silent(1), "0>1")
    with pytest.raises(AssertionError, match="latency/0>1 was opened"):
        wire.send(0.0, 100, (1.0, 2.0, 1, 10, 0))
