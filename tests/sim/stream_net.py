"""Hosts on a physical network and streams between them: what is handed over when."""

from __future__ import annotations

from typing import Any

from simnet.network.frame import HEADER_BYTES, Frame, Kind
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.network.underlay import PhysicalNetwork
from simnet.record.bus import Bus
from simnet.record.events import Event
from simnet.sim.engine import VirtualEngine
from simnet.sim.routed_packets import RoutedPackets
from simnet.sim.transport import Acknowledged
from simnet.streams import Streams


class _Host:
    """What a stream sees of an agent."""

    def __init__(self, net: StreamNet, agent: int) -> None:
        self._net, self._agent = net, agent
        self.down, self.inbox = 0, None

    def admits(self, message: object) -> bool:
        return True

    def receive(self, frame: Frame, parts: object) -> None:
        self._net.heard.append((self._net.engine.now, frame.sender, self._agent, frame.round))


class StreamNet:
    """An agent per place of the network, and a reliable transport for all of them."""

    def __init__(self, physical: PhysicalNetwork, *, fragile: bool = False, **rule: Any) -> None:
        self.heard: list[tuple[float, int, int, int]] = []
        """When which agent got which message, as (time, sender, receiver, number)."""
        self.record: list[tuple[float, Event]] = []
        agents, model = range(len(physical.places)), LinkModel()
        links = {a: {b: Link(model, Streams(1), f"{a}>{b}") for b in agents if b != a} for a in agents}
        bus = Bus(lambda seq, t, event: self.record.append((t, event)))
        self.engine = VirtualEngine(links, bus, None, len(agents))  # type: ignore[arg-type]
        self.engine.fragile = fragile
        self.packets = self.engine.packets = RoutedPackets(self.engine, physical, [], Streams(1))
        self.transport = self.engine.transport = Acknowledged(kind="reliable", **rule).made(self.engine)
        self.hosts = {agent: _Host(self, agent) for agent in agents}
        self.engine.ports.update(self.hosts)  # type: ignore[arg-type]

    def send(self, sender: int, receiver: int, number: int, size: int, at: float = 0.0) -> None:
        """Hand over a message of so many bytes, frame included, at a point in time."""
        payload = bytes(size - HEADER_BYTES)
        self.engine.at(at, lambda: self.engine.send(sender, (receiver,), number, Kind.VALUE, payload))

    def crash(self, agent: int, at: float, until: float, *, lost: bool = False) -> None:
        def fall() -> None:
            self.hosts[agent].down = 1
            self.engine.silence(agent, lost=lost)

        self.engine.at(at, fall)
        self.engine.at(until, lambda: setattr(self.hosts[agent], "down", 0))

    def told(self, kind: str) -> list[tuple[float, Any]]:
        return [(t, event) for t, event in self.record if event.kind == kind]
