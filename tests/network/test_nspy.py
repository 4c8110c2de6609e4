"""The same packets through ns.py, an independent simulator with a process per port and per wire."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.streams import Streams
from tests.network.models import bernoulli, uniform

pytest.importorskip("ns.port.port", reason="ns.py (PyPI ns.py) is the peer of this comparison")

import simpy
from ns.packet.packet import Packet
from ns.port.port import Port
from ns.port.wire import Wire

PACKETS = 10_000
RATE = 1e6
LATENCY = uniform(0.001, 0.03)
LOSS = bernoulli(0.1)


def through_nspy(arrivals, sizes, delays, lost, qlimit):
    """Departure and arrival of each packet; infinite if ns.py dropped it."""
    env = simpy.Environment()
    departs, arrives = np.full(PACKETS, inf), np.full(PACKETS, inf)
    current = None

    class Tap:
        def __init__(self, times, out=None):
            self.times, self.out = times, out

        def put(self, packet):
            self.times[packet.packet_id] = env.now
            if self.out is not None:
                self.out.put(packet)

    def loss(packet_id):
        nonlocal current
        current = packet_id
        return float(lost[packet_id])

    # A lost packet draws no delay in ns.py; so a delay is looked up for the packet whose loss was asked for last.
    wire = Wire(env, lambda: delays[current], loss_dist=loss)
    wire.out = Tap(arrives)
    port = Port(env, RATE, qlimit=qlimit)
    port.out = Tap(departs, wire)

    def source():
        for k in range(PACKETS):
            yield env.timeout(arrivals[k] - env.now)
            port.put(Packet(env.now, int(sizes[k]), k))

    env.process(source())
    env.run()
    return departs, arrives


@pytest.mark.parametrize("load", [0.6, 1.3])
@pytest.mark.parametrize("qlimit", [None, 2, 10])
def test_departures_arrivals_and_drops_agree_packet_by_packet(load, qlimit):
    rng = Streams(5).generator("packets")
    sizes = rng.integers(40, 1500, PACKETS)
    arrivals = np.cumsum(rng.exponential(8 * 770 / RATE / load, PACKETS))
    delays = LATENCY.draw(Streams(7).generator("latency", "0>1"), PACKETS)
    lost = Streams(7).generator("loss", "0>1").random(PACKETS) < LOSS.p
    departs, arrives = through_nspy(arrivals, sizes, delays, lost, qlimit)

    queue = None if qlimit is None else qlimit - 1  # ns.py counts the packet on the line
    link = Link(
        LinkModel(latency=LATENCY, loss=LOSS, bandwidth=RATE, queue=queue, order="fifo", overhead=0), Streams(7), "0>1"
    )
    ours = [link.send(now, size) for now, size in zip(arrivals.tolist(), sizes.tolist(), strict=True)]

    np.testing.assert_allclose([p.departs for p in ours], departs, rtol=0, atol=1e-9)
    np.testing.assert_allclose([p.arrives for p in ours], arrives, rtol=0, atol=1e-9)
    assert (np.isinf(departs).sum() > 0) == (qlimit is not None)
    assert [p.fate == "overflowed" for p in ours] == np.isinf(departs).tolist()
