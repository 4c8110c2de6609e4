"""Two hosts and a stream between them: what is handed over when, packet by packet."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from simnet.network.frame import HEADER_BYTES, Frame, Kind
from simnet.network.link import Link, Passage
from simnet.network.model import LinkModel
from simnet.record.bus import Bus
from simnet.record.events import Event
from simnet.sim.engine import VirtualEngine
from simnet.sim.transport import Acknowledged
from simnet.streams import Streams

LINE = {"bandwidth": 8e6, "latency": 0.02, "mtu": 1052, "overhead": 28}
"""A packet of 1052 bytes with 1000 of a message takes 1.052 ms, and 20 ms more until it arrives."""
PACKET = 1052 / 1e6
WAY = 0.02
ACK = 52 / 1e6


class _Port:
    """What a stream sees of an agent."""

    def __init__(self, pair: StreamPair) -> None:
        self._pair = pair
        self.down = 0
        self.inbox = None

    def admits(self, message: object) -> bool:
        return True

    def receive(self, frame: Frame, parts: object) -> None:
        self._pair.heard.append((self._pair.engine.now, frame.round))


class StreamPair:
    """Agent 0 sends messages to agent 1; `drops` says which of the packets 0→1 vanish, by their place from 0."""

    def __init__(
        self, line: dict[str, Any] | None = None, drops: Callable[[int], bool] = lambda k: False, **rule: Any
    ) -> None:
        self.heard: list[tuple[float, int]] = []
        """When which message was handed over."""
        self.packets: list[tuple[float, int, int]] = []
        """When who sent a packet of how many bytes on the wire."""
        self.record: list[tuple[float, Event]] = []
        model, streams = LinkModel.model_validate(LINE if line is None else line), Streams(1)
        links = {0: {1: Link(model, streams, "0>1")}, 1: {0: Link(model, streams, "1>0")}}
        self.engine = VirtualEngine(links, Bus(lambda seq, t, event: self.record.append((t, event))), None, 2)  # type: ignore[arg-type]
        self.transport = self.engine.transport = Acknowledged(kind="reliable", **rule).made(self.engine)
        self.ports = {0: _Port(self), 1: _Port(self)}
        self.engine.ports.update(self.ports)  # type: ignore[arg-type]
        carry, numbers = self.engine.carry_packet, {0: 0, 1: 0}

        def watched(sender: int, peer: int, size: int, then: Callable[[bool], None], *unsent: Any) -> Passage:
            number, numbers[sender] = numbers[sender], numbers[sender] + 1
            gone = sender == 0 and drops(number)
            passage = carry(sender, peer, size, (lambda arrived: then(False)) if gone else then, *unsent)
            self.packets.append((self.engine.now, sender, passage.wire_bytes))
            return passage

        self.engine.carry_packet = watched  # type: ignore[method-assign]
        self._messages = 0

    def send(self, size: int, at: float = 0.0) -> None:
        """Hand over a message of so many bytes, frame included, at a point in time."""
        self._messages += 1
        number = self._messages
        self.engine.at(at, lambda: self.engine.send(0, (1,), number, Kind.VALUE, bytes(size - HEADER_BYTES)))

    def run(self, until: float = inf) -> list[float]:
        """Go on until nothing is left to do; when each message was handed over."""
        while self.engine.env.peek() < until:
            self.engine.env.step()
        self.transport.tell()
        return [t for t, _ in self.heard]

    def sent(self, agent: int = 0) -> list[float]:
        """When an agent sent its packets."""
        return [t for t, sender, _ in self.packets if sender == agent]

    def told(self, kind: str) -> list[tuple[float, Any]]:
        return [(t, event) for t, event in self.record if event.kind == kind]
