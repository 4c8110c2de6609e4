from __future__ import annotations

from itertools import islice

import numpy as np

from simnet.network.draws import LARGEST, one_by_one, uniform
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
    assert blocks == [1]
    list(islice(numbers, 150))
    assert blocks == [1, 2, 4, 8, 16, LARGEST, LARGEST, LARGEST, LARGEST]
