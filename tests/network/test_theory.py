"""Queues whose behaviour is known in closed form (Kleinrock 1975, chapter 3 and section 5.6)."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.streams import Streams

PACKETS = 1_000_000
MEAN_BYTES = 10**6
MEAN_SERVICE = 1.0


def offer(arrival_rate, sizes, queue=None, seed=1):
    """Poisson arrivals over a link that needs one second for a packet of the mean size."""
    rng = Streams(seed).generator("arrivals")
    arrivals = np.cumsum(rng.exponential(1 / arrival_rate, PACKETS))
    model = LinkModel(bandwidth=8 * MEAN_BYTES / MEAN_SERVICE, queue=queue, overhead=0)
    link = Link(model, Streams(seed), "0>1")
    starts = [link.send(now, size).starts for now, size in zip(arrivals.tolist(), sizes.tolist(), strict=True)]
    return arrivals, np.array(starts)


def exponential_sizes(seed=1):
    return np.rint(Streams(seed).generator("sizes").exponential(MEAN_BYTES, PACKETS)).astype(np.int64)


def test_the_mean_wait_of_m_m_1_is_rho_over_1_minus_rho_services():
    arrivals, starts = offer(0.5, exponential_sizes())
    assert (starts - arrivals).mean() == pytest.approx(0.5 / (1 - 0.5) * MEAN_SERVICE, rel=0.02)


def test_the_mean_wait_of_m_d_1_is_half_of_that():
    """Pollaczek and Khinchine."""
    arrivals, starts = offer(0.7, np.full(PACKETS, MEAN_BYTES))
    assert (starts - arrivals).mean() == pytest.approx(0.7 / (2 * (1 - 0.7)) * MEAN_SERVICE, rel=0.02)


@pytest.mark.parametrize("places", [1, 5])
def test_m_m_1_k_blocks_as_often_as_erlang_says(places):
    rho = 0.8
    _, starts = offer(rho, exponential_sizes(), places - 1)
    blocked = (1 - rho) * rho**places / (1 - rho ** (places + 1))
    assert np.isinf(starts).mean() == pytest.approx(blocked, rel=0.02)
