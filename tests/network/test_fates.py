"""Links that share their luck: each meets the delays and losses of its own streams, whoever was asked before it."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network.draws import PLAIN
from simnet.network.fates import Luck
from simnet.network.model import LinkModel
from simnet.streams import Streams
from tests.network.models import (
    bernoulli,
    constant,
    empirical,
    gamma,
    gilbert_elliott,
    lognormal,
    no_loss,
    normal,
    pareto,
    uniform,
)

DELAYS = [
    *(constant(0.1), uniform(0.1, 0.3), normal(0.1, 0.2), lognormal(0.04, 0.5), pareto(0.01, 1.5)),
    *(gamma(0.05, 0.3), gamma(0.05, 4.5), empirical(0.1, 0.2, 0.3)),
]


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
    luck = Luck(latency, p, Streams(seed))
    links = [(f"0>{peer}", luck.of(f"0>{peer}"), n) for peer, n in enumerate(lengths)]
    random.shuffle(links)
    for name, delays, n in links:
        np.testing.assert_array_equal(list(islice(delays, n)), expected(latency, p, seed, name, n))


class Watched(Streams):
    """Streams that tell who was opened."""

    def generator(self, role, name=""):
        self.__dict__.setdefault("opened", []).append(f"{role}/{name}")
        return super().generator(role, name)

    def visits(self, role, names):
        self.__dict__.setdefault("visited", []).extend(f"{role}/{name}" for name in names)
        return super().visits(role, names)


def test_the_first_message_opens_the_streams_of_all_links_of_one_luck_and_keeps_none():
    streams = Watched(1)
    luck = Luck(uniform(0, 1), 0.5, streams)
    one, two = luck.of("0>1"), luck.of("0>2")
    assert "visited" not in vars(streams)
    (first,), block = PLAIN
    list(islice(one, first))
    list(islice(two, first))
    assert streams.visited == ["latency/0>1", "latency/0>2", "loss/0>1", "loss/0>2"]
    assert "opened" not in vars(streams)
    # Who sends more than most gets generators of its own, once.
    list(islice(two, 2 * block))
    assert streams.opened == ["latency/0>2", "loss/0>2"]


def test_a_link_that_comes_after_the_first_message_has_its_own_streams_too():
    luck = Luck(uniform(0, 1), 0.5, Streams(3))
    early = luck.of("0>1")
    assert next(early) == pytest.approx(expected(uniform(0, 1), 0.5, 3, "0>1", 1)[0], nan_ok=True, abs=0)
    late = luck.of("0>2")
    np.testing.assert_array_equal(list(islice(late, 9)), expected(uniform(0, 1), 0.5, 3, "0>2", 9))


def test_only_links_that_lose_packets_independently_can_share_their_luck():
    assert Luck.on(LinkModel(latency=uniform(0, 1), loss=bernoulli(0.5)), Streams(1)) is not None
    for loss in (no_loss(), bernoulli(0.0), gilbert_elliott(0.1, 0.5)):
        assert Luck.on(LinkModel(latency=uniform(0, 1), loss=loss), Streams(1)) is None
