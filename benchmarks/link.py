"""How many messages a link takes per CPU second, beside ns.py doing the same.

Poisson arrivals load the line to 80 %; every figure is the best of several runs.

    python -m benchmarks.link
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks.report import publish
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.streams import Streams

MESSAGES = 50_000
REPEATS = 5
SIZE = 1000
BANDWIDTH = 1e7
ARRIVALS = np.cumsum(Streams(1).generator("arrivals").exponential(8 * SIZE / BANDWIDTH / 0.8, MESSAGES)).tolist()

PLAIN: dict[str, Any] = {
    "latency": {"kind": "uniform", "low": 0.01, "high": 0.03},
    "loss": 0.05,
    "bandwidth": BANDWIDTH,
    "queue": 64,
    "order": "fifo",
}
PLAIN_NAME, PEER = "plain: uniform latency, Bernoulli loss, bandwidth, queue", "plain, by ns.py"
MODELS = {
    "perfect": LinkModel(),
    "constant latency, bandwidth": LinkModel.model_validate({"latency": 0.02, "bandwidth": BANDWIDTH, "order": "fifo"}),
    PLAIN_NAME: LinkModel(**PLAIN),
    "plain, queue in bytes": LinkModel(**PLAIN | {"queue": {"limit": 64_000, "unit": "bytes"}}),
    "plain, random early detection": LinkModel(**PLAIN | {"queue": {"limit": 64, "red": {}}}),
    "plain, bursts of loss": LinkModel(**PLAIN | {"loss": {"kind": "bursts", "rate": 0.05, "length": 3}}),
    "plain, duplication and corruption": LinkModel(**PLAIN, duplication=0.01, corruption=0.01),
    "plain, three packets per message": LinkModel(**PLAIN, mtu=400),
}


def ours(model: LinkModel) -> float:
    send = Link(model, Streams(1), "0>1").send
    began = process_time()
    for now in ARRIVALS:
        send(now, SIZE)
    return process_time() - began


def peer() -> float:
    """The plain link by ns.py: a port and a wire, each a process."""
    import simpy
    from ns.packet.packet import Packet
    from ns.port.port import Port
    from ns.port.wire import Wire

    class Sink:
        def put(self, packet: object) -> None:
            pass

    env = simpy.Environment()
    delays = iter(Streams(1).generator("latency", "0>1").uniform(0.01, 0.03, MESSAGES).tolist())
    wire = Wire(env, delays.__next__, loss_dist=lambda packet_id: 0.05)
    wire.out = Sink()
    port = Port(env, BANDWIDTH, qlimit=65)
    port.out = wire

    def source():
        for k, now in enumerate(ARRIVALS):
            yield env.timeout(now - env.now)
            port.put(Packet(env.now, SIZE, k))

    env.process(source())
    began = process_time()
    env.run()
    return process_time() - began


def microseconds(name: str, run: Callable[[], float]) -> float:
    seconds = min(run() for _ in range(REPEATS)) / MESSAGES
    print(f"{1 / seconds:>12,.0f} per CPU second {seconds * 1e6:6.2f} µs each   {name}")
    return seconds * 1e6


def main() -> None:
    found = {name: microseconds(name, lambda model=model: ours(model)) for name, model in MODELS.items()}
    found[PEER] = microseconds(PEER, peer)
    ratios = {"ns.py over ours, the plain link": found[PEER] / found[PLAIN_NAME]}
    publish("link", {"microseconds per message": found, "ratios": ratios})


if __name__ == "__main__":
    main()
