from __future__ import annotations

import tracemalloc
from itertools import islice

import numpy as np

from simnet.network.draws import LARGEST, one_by_one, uniform
from simnet.network.latency import Lognormal
from simnet.network.link import Link
from simnet.network.loss import Bernoulli
from simnet.network.model import LinkModel
from simnet.streams import Streams


def test_the_numbers_are_those_of_the_stream_in_order():
    numbers = list(islice(one_by_one(Streams(1), "loss", "0>1", uniform), 1000))
    np.testing.assert_array_equal(numbers, Streams(1).generator("loss", "0>1").random(1000))


def test_blocks_double_up_to_the_largest():
    blocks = []

    def draw(rng, n):
        blocks.append(n)
        return rng.random(n)

    numbers = one_by_one(Streams(1), "loss", "0>1", draw)
    assert blocks == []
    next(numbers)
    assert blocks == [1, 2, 4, 8, 16]
    list(islice(numbers, 150))
    # The first generator is let go; another makes the same draws before it goes on.
    assert blocks == 2 * [1, 2, 4, 8, 16] + 4 * [LARGEST]


def test_a_link_that_has_carried_thirty_messages_takes_little_memory():
    """A network of 10⁵ agents with six neighbours each has 6·10⁵ of them; generators would take 2 KB more."""
    model = LinkModel(Lognormal(0.04, 0.5), Bernoulli(0.05))
    links = []
    tracemalloc.start()
    try:
        for name in range(200):
            links.append(Link(model, Streams(1), f"{name}>0"))
            for round in range(30):
                links[-1].offer(float(round), 100)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / len(links) < 2600
