from __future__ import annotations

import tracemalloc
from itertools import chain, islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import run
from simnet.network import draws
from simnet.network.draws import MIXED, PLAIN, DelaySampler, JoinedStreams, one_by_one
from simnet.network.link import connect
from simnet.network.model import LinkModel
from simnet.streams import Streams
from tests.network.models import bernoulli, constant, empirical, gamma, lognormal, normal, pareto, uniform
from tests.worlds import TICKS, world

DELAYS = [
    *(constant(0.1), uniform(0.1, 0.3), normal(0.1, 0.2), lognormal(0.04, 0.5), pareto(0.01, 1.5)),
    *(gamma(0.05, 0.3), gamma(0.05, 1.0), gamma(0.05, 4.5), empirical(0.1, 0.2, 0.3), empirical(*((0.1, 0.2) * 300))),
]


def test_the_numbers_are_those_of_the_stream_in_order():
    numbers = list(islice(one_by_one(Streams(1), "loss", "0>1", lambda rng, n: rng.random(n)), 1000))
    np.testing.assert_array_equal(numbers, Streams(1).generator("loss", "0>1").random(1000))


@pytest.mark.parametrize("blocks", [PLAIN, MIXED])
def test_numbers_are_drawn_in_blocks_and_the_first_of_them_twice(blocks):
    (first, block), drawn = blocks, []

    def draw(rng, n):
        drawn.append(n)
        return rng.random(n)

    numbers = one_by_one(Streams(1), "loss", "0>1", draw, blocks)
    assert drawn == []
    next(numbers)
    assert drawn == [*first]
    list(islice(numbers, sum(first) + 2 * block))
    # The first generator is let go; another makes the same draws before it goes on.
    assert drawn == 2 * [*first] + 3 * [block]


@given(st.sampled_from(DELAYS), st.integers(0, 10**6), st.lists(st.integers(1, 40), max_size=8))
def test_a_delay_does_not_depend_on_how_many_are_drawn_at_once(latency, seed, blocks):
    """Which lets a link draw as many at once as it likes."""
    rng, whole = (Streams(seed).generator("latency", "0>1") for _ in range(2))
    parts = [latency.draw(rng, n) for n in blocks]
    np.testing.assert_array_equal(np.concatenate([[], *parts]), latency.draw(whole, sum(blocks)))


@given(st.sampled_from(DELAYS), st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 40))
def test_joined_streams_give_the_delays_of_each_in_its_turn(latency, seed, links, n):
    names = [f"0>{peer}" for peer in range(links)]
    alone = [latency.draw(Streams(seed).generator("latency", name), n) for name in names]
    together = latency.draw(JoinedStreams(Streams(seed), "latency", names), links * n)
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_a_link_that_has_carried_thirty_messages_takes_little_memory():
    """A network of 10⁵ agents with six neighbours each has 6·10⁵ of them; generators would take 2 KB more.

    Of the 560 bytes that a link takes, 256 are the numbers of its first messages.
    """
    model, edges = LinkModel(latency=lognormal(0.04, 0.5), loss=bernoulli(0.05)), nx.random_regular_graph(6, 200, 1)
    models, streams = {ends: model for a, b in edges.edges for ends in ((a, b), (b, a))}, Streams(1)
    tracemalloc.start()
    try:
        every = connect(edges, models, streams, one_line_out=False)
        links = [link for some in every.values() for link in some.values()]
        for round in range(30):
            for link in links:
                link.send(float(round), 100)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / len(links) < 620


def expected(latency, p, seed, name, n):
    """The k-th delay of the stream `latency`, or NaN where the k-th number of the stream `loss` says so."""
    delays = latency.draw(Streams(seed).generator("latency", name), n)
    uniforms = Streams(seed).generator("loss", name).random(n)
    return [float("nan") if u < p else delay for u, delay in zip(uniforms, delays, strict=True)]


@given(
    st.sampled_from(DELAYS),
    st.floats(0.01, 1),
    st.integers(0, 10**6),
    st.lists(st.integers(1, 400), min_size=1, max_size=9),
    st.randoms(use_true_random=False),
)
def test_links_drawn_together_meet_what_each_meets_alone(latency, p, seed, lengths, random):
    sampler = DelaySampler(latency.draw, p, Streams(seed))
    links = [(f"0>{peer}", delays(sampler, f"0>{peer}"), n) for peer, n in enumerate(lengths)]
    random.shuffle(links)
    for name, numbers, n in links:
        np.testing.assert_array_equal(list(islice(numbers, n)), expected(latency, p, seed, name, n))


def delays(sampler, name):
    """The numbers of a link, without end."""
    first = sampler.delays(name)
    return chain.from_iterable(part() for part in (lambda: first, first.others))


class Watched(Streams):
    """Streams that tell who was opened."""

    def generator(self, role, name=""):
        self.__dict__.setdefault("opened", []).append(f"{role}/{name}")
        return super().generator(role, name)

    def visits(self, role, names):
        self.__dict__.setdefault("visited", []).extend(f"{role}/{name}" for name in names)
        return super().visits(role, names)


def test_the_first_message_opens_the_streams_of_all_links_of_one_sampler_and_keeps_none():
    streams = Watched(1)
    sampler = DelaySampler(uniform(0, 1).draw, 0.5, streams)
    one, two = delays(sampler, "0>1"), delays(sampler, "0>2")
    assert "visited" not in vars(streams)
    (first,), block = PLAIN
    list(islice(one, first))
    list(islice(two, first))
    assert streams.visited == ["latency/0>1", "latency/0>2", "loss/0>1", "loss/0>2"]
    assert "opened" not in vars(streams)
    # Who sends more than most gets generators of its own, once.
    list(islice(two, 2 * block))
    assert streams.opened == ["latency/0>2", "loss/0>2"]
    assert sampler.numbers
    next(one)
    assert not sampler.numbers, "what no link needs any more is let go"


def test_a_link_that_comes_after_the_first_message_has_its_own_streams_too():
    sampler = DelaySampler(uniform(0, 1).draw, 0.5, Streams(3))
    early = sampler.delays("0>1")
    assert next(early) == pytest.approx(expected(uniform(0, 1), 0.5, 3, "0>1", 1)[0], nan_ok=True, abs=0)
    late = sampler.delays("0>2")
    np.testing.assert_array_equal(list(islice(late, 9)), expected(uniform(0, 1), 0.5, 3, "0>2", 9))


@pytest.mark.parametrize("latency", DELAYS[:-2], ids=lambda latency: latency.kind)
def test_a_run_that_draws_its_numbers_one_by_one_is_the_same_run(monkeypatch, latency):
    """The plain version: a number is drawn when it is asked for."""
    jittery = TICKS | {"jitter": 0.01}
    lossy = world(rounds=60, network={"link": {"latency": latency.model_dump(), "loss": 0.1}, "pacing": jittery})
    in_blocks = run(lossy).digest
    monkeypatch.setattr(draws, "PLAIN", ((1,), 1))
    monkeypatch.setattr(draws, "LINKS_AT_ONCE", 1)
    assert run(lossy).digest == in_blocks
