from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.network.queueing import Queue, Red
from simnet.network.transmitter import Transmitter
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
    order=st.sampled_from(["fifo", "free"]),
    duplication=st.sampled_from([0.0, 0.3]),
    corruption=st.sampled_from([0.0, 0.3]),
)
messages = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 300)), max_size=80)


def send(link, steps):
    now, passages = 0.0, []
    for gap, size in steps:
        now += gap
        passages.append((now, size, link.offer(now, size)))
    return passages


@given(models, messages, st.integers(0, 1000))
def test_every_message_has_one_fate_and_its_times_are_in_order(model, steps, seed):
    latest = -inf
    for now, size, passage in send(Link(model, Streams(seed), "0>1"), steps):
        match passage.fate:
            case "overflowed":
                assert model.bandwidth is not None
                assert passage.starts == passage.departs == passage.arrives == inf
                assert passage.wire_bytes == 0
            case "lost":
                assert now <= passage.starts <= passage.departs < passage.arrives == inf
            case "delivered":
                assert now <= passage.starts <= passage.departs < passage.arrives < inf
                assert all(passage.arrives <= copy < inf for copy in passage.copies)
        if passage.fate != "overflowed":
            assert passage.wire_bytes == size + passage.packets * model.overhead
            assert passage.starts >= latest  # one line: no message starts before the one before has left
            latest = passage.departs
        if passage.fate != "delivered":
            assert not passage.corrupted
            assert not passage.copies


@given(models, messages, st.integers(0, 1000))
def test_the_same_seed_gives_the_same_passages(model, steps, seed):
    first, again = (send(Link(model, Streams(seed), "0>1"), steps) for _ in range(2))
    assert first == again


@given(models, messages, st.integers(0, 1000))
def test_what_a_message_meets_in_short_is_what_its_passage_tells(model, steps, seed):
    brief = Link(model, Streams(seed), "0>1")
    for now, size, passage in send(Link(model, Streams(seed), "0>1"), steps):
        lost, until, wire_bytes, whole = brief.send(now, size)
        assert lost == (passage.fate == "lost")
        assert wire_bytes == passage.wire_bytes
        if whole is not None:
            assert whole == passage
            continue
        assert until == (passage.departs if lost else passage.arrives)
        assert passage.fate in ("delivered", "lost")
        assert (passage.packets, passage.corrupted, passage.copies) == (1, False, ())


@given(models, messages, messages, st.integers(0, 1000))
def test_links_with_transmitters_of_their_own_do_not_know_of_each_other(model, here, there, seed):
    alone = send(Link(model, Streams(seed), "0>1"), here)
    one, other = (Link(model, Streams(seed), name) for name in ("0>1", "0>2"))
    send(other, there)
    assert send(one, here) == alone


def test_a_broadcast_over_a_shared_uplink_leaves_one_copy_at_a_time():
    streams = Streams(1)
    model = LinkModel(latency=constant(0.5), bandwidth=8000.0, queue=2)
    uplink = Transmitter(model, streams, "0")
    links = [Link(model, streams, f"0>{peer}", uplink) for peer in (1, 2, 3, 4)]
    passages = [link.offer(0.0, 1000) for link in links]
    assert [p.arrives for p in passages] == [1.5, 2.5, 3.5, inf]
    assert [p.fate for p in passages] == ["delivered", "delivered", "delivered", "overflowed"]


def test_the_two_directions_may_differ():
    up = Link(LinkModel(latency=constant(0.02), bandwidth=1e6), Streams(1), "0>1")
    down = Link(LinkModel(latency=constant(0.01), bandwidth=1e7), Streams(1), "1>0")
    arrivals = up.offer(0.0, 12_500).arrives, down.offer(0.0, 12_500).arrives
    assert arrivals == pytest.approx((0.12, 0.02))


def test_one_transmission_may_reach_several_wires():
    """A shared medium: the sender's transmitter once, each neighbour's wire with its own luck."""
    model = LinkModel(latency=uniform(0.1, 0.2), loss=bernoulli(0.5), bandwidth=8000.0)
    links = [Link(model, Streams(1), f"0>{peer}") for peer in range(1, 50)]
    departure = links[0].transmitter.admit(0.0, 1000)
    passages = [link.carry(*departure) for link in links]
    assert {p.departs for p in passages} == {1.0}
    assert {p.fate for p in passages} == {"delivered", "lost"}
