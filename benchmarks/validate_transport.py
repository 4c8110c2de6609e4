"""How long a message takes over the reliable transport, and what it weighs on the wire, to be compared with ns-3.

`python -m benchmarks.validate_transport` sends one message over 10 Mbit/s, 20 ms each way, with a queue of 100 packets,
and prints the mean of many runs beside what ns-3 measured (benchmarks/results/validation.json).
"""

from __future__ import annotations

import json

import numpy as np

from benchmarks.report import RESULTS
from simnet.network.frame import HEADER_BYTES, Kind
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.record import events
from simnet.record.bus import Bus
from simnet.sim.engine import VirtualEngine
from simnet.sim.transport import Acknowledged
from simnet.streams import Streams

PPP_BYTES = 2
"""What ns-3's link adds to a packet of IP."""
LINE = {"bandwidth": "10 Mbit/s", "latency": "20 ms", "queue": 100, "mtu": 1500, "overhead": 28, "framing": PPP_BYTES}


class _Listener:
    """A port that notes when its message arrives."""

    inbox = None
    down = 0

    def __init__(self, engine: VirtualEngine) -> None:
        self._engine = engine
        self.heard: float | None = None

    def admits(self, message: object) -> bool:
        return True

    def receive(self, frame: object, parts: object) -> None:
        self.heard = self._engine.now


class _Bytes:
    """Counts what left agent 0's host, with the headers of IP and without what the link adds."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        if isinstance(event, events.MessageSent | events.MessageRetransmitted | events.PacketsSent) and not event.agent:
            packets = event.segments if isinstance(event, events.PacketsSent) else 1
            self.total += event.wire_bytes - packets * PPP_BYTES


def one(size: int, loss: float, seed: int) -> tuple[float, float]:
    """IP bytes per byte of the message, and seconds until the receiver has it; acknowledgements are not lost."""
    there, back = (LinkModel.model_validate(LINE | {"loss": p}) for p in (loss, 0.0))
    streams, counted = Streams(seed), _Bytes()
    links = {0: {1: Link(there, streams, "0>1")}, 1: {0: Link(back, streams, "1>0")}}
    engine = VirtualEngine(links, Bus(counted), None, 2)  # type: ignore[arg-type]
    engine.transport = Acknowledged(kind="reliable").made(engine)
    listeners = {agent: _Listener(engine) for agent in (0, 1)}
    engine.ports.update(listeners)  # type: ignore[arg-type]
    engine.send(0, (1,), 1, Kind.VALUE, bytes(size - HEADER_BYTES))
    while engine.env.peek() < float("inf"):
        engine.env.step()
    engine.transport.tell()
    heard = listeners[1].heard
    assert heard is not None
    return counted.total / size, heard


def transfer(size: int, loss: float, seeds: int) -> tuple[float, float]:
    """The mean of so many runs: wire bytes per byte, seconds."""
    found = np.array([one(size, loss, seed) for seed in range(1, seeds + 1)])
    wire, seconds = found.mean(axis=0)
    return float(wire), float(seconds)


def main() -> None:
    """Print the table."""
    reference = json.loads((RESULTS / "validation.json").read_text())["transfers"]
    print("message     loss   bytes per byte   ns-3   apart   seconds    ns-3   apart")
    for theirs in (row["ns3"] for row in reference if not row["ns3"]["ack_loss"]):
        wire, seconds = transfer(theirs["size"], theirs["loss"], theirs["runs"])
        apart = [mine / theirs[name] - 1 for mine, name in ((wire, "wire_bytes_per_byte"), (seconds, "seconds"))]
        print(
            f"{theirs['size']:9,}  {100 * theirs['loss']:4.1f} %  {wire:13.4f}  {theirs['wire_bytes_per_byte']:7.3f}"
            f"  {100 * apart[0]:+5.1f} %  {seconds:8.4f}  {theirs['seconds']:7.4f}  {100 * apart[1]:+5.1f} %"
        )


if __name__ == "__main__":
    main()
