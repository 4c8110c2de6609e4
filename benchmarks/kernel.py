"""How many messages the kernel carries in a CPU second, beside ns.py and beside bare SimPy events.

Workload K: 100 nodes, a random 4-regular graph (networkx, seed 42); every directed edge sends 512 bytes each 0.1 s for
50 simulated seconds through 10 Mbit/s, a queue of 100 packets, 5 to 15 ms of latency and 10 % loss. All contenders get
the same delays and the same losses, and must agree on how many messages arrive. They run in turns: a contender's rate
is that of its best turn, a ratio is the median of the turns, whose two sides met the same minute of the machine.

    simnet            the engine, links and counters of every run; nobody listens to single messages
    simnet, log       the same with the full event log, sealed, on disk
    simnet, payloads  counters only, and each receiver checks and opens its frames
    ns.py             a DistPacketGenerator, a Port and a Wire a directed edge (ns.py 0.4.3)
    ns.py, lean       the same without the generators: one process per node makes the packets of its edges
    SimPy             one `timeout` with a callback per message, and nothing else: no link, no queue, no order

    python -m benchmarks.kernel
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import process_time
from types import SimpleNamespace

import networkx as nx
import simpy

from benchmarks.report import publish
from simnet import Scenario
from simnet.build import build_engine
from simnet.library.delay_kinds import Uniform
from simnet.methods.peer import Parts
from simnet.network import frame
from simnet.network.loss import Bernoulli
from simnet.record import events
from simnet.record.bus import Bus, Subscriber
from simnet.record.log_writer import LogWriter
from simnet.record.metrics import Metrics
from simnet.sim.engine import VirtualEngine
from simnet.streams import Streams

NODES, DEGREE = 100, 4
SIZE, EVERY, ROUNDS = 512, 0.1, 500
BANDWIDTH, PLACES = 1e7, 100
LATENCY, LOSS = Uniform(kind="uniform", low=0.005, high=0.015), Bernoulli(kind="bernoulli", p=0.1)
SEED = 1
TURNS = 5

GRAPH: nx.Graph[int] = nx.random_regular_graph(DEGREE, NODES, seed=42)
NEIGHBOURS = {node: sorted(GRAPH[node]) for node in range(NODES)}
EDGES = [(node, peer) for node in range(NODES) for peer in NEIGHBOURS[node]]
MESSAGES = len(EDGES) * ROUNDS
PAYLOAD = bytes(SIZE - frame.HEADER_BYTES)

SCENARIO = Scenario.of(
    {
        "name": "workload K",
        "seed": SEED,
        "rounds": ROUNDS,
        "data": {"source": "synthetic"},
        "topology": {"kind": "regular", "agents": NODES, "degree": DEGREE},
        "algorithm": {"name": "admm"},
        "network": {
            "link": {
                "latency": {"kind": "uniform", "low": LATENCY.low, "high": LATENCY.high},
                "loss": {"kind": "bernoulli", "p": LOSS.p},
                "bandwidth": BANDWIDTH,
                "queue": PLACES,
                "overhead": 0,
            }
        },
    }
)


@dataclass
class Measured:
    """CPU seconds, and how many of the messages arrived."""

    seconds: float
    delivered: int


class Node:
    """An agent's port that takes frames and does nothing with them, or opens them."""

    def __init__(self, agent: int) -> None:
        self.agent = agent
        self.inbox, self.down, self.done, self.gone, self.slowness = None, 0, False, False, 1.0
        self.heard = 0

    def admits(self, message: object) -> bool:
        return True

    def receive(self, received: frame.Frame, parts: Parts | None) -> None:
        if parts is None:
            assert frame.decode(received.raw).payload == PAYLOAD
        self.heard += 1


def sender(engine: VirtualEngine, node: Node, parts: Parts | None) -> Iterator[simpy.Event]:
    for round in range(1, ROUNDS + 1):
        engine.send(node.agent, NEIGHBOURS[node.agent], round, frame.Kind.VALUE, PAYLOAD, parts)
        yield engine.env.timeout(EVERY)
    engine.retire()


def simnet(*subscribers: Subscriber, opens: bool = False) -> Measured:
    metrics = Metrics()
    scoreboard = SimpleNamespace(last_round=[ROUNDS] * NODES)
    engine = build_engine(SCENARIO, GRAPH, Bus(metrics, *subscribers), scoreboard)
    engine.emit(events.RunStarted(events.SCHEMA, "", False, SCENARIO.resolved(), sorted(GRAPH.edges), [1] * NODES, 1))
    nodes = [Node(node) for node in range(NODES)]
    for node in nodes:
        engine.attach(node, sender(engine, node, None if opens else ()))
    began = process_time()
    engine.run()
    seconds = process_time() - began
    counted = metrics.summary("", None)["communication"]
    assert counted["messages"] == MESSAGES
    assert counted["delivered"] == sum(node.heard for node in nodes)
    assert counted["wire_bytes"] == SIZE * MESSAGES
    return Measured(seconds, counted["delivered"])


def logged() -> Measured:
    """With the log; what closing it takes counts."""
    with tempfile.TemporaryFile() as sink:
        writer = LogWriter(sink)
        found = simnet(writer)
        began = process_time()
        writer.close()
        sink.flush()
        return Measured(found.seconds + process_time() - began, found.delivered)


def luck(edge: tuple[int, int]) -> tuple[Iterator[float], Iterator[bool]]:
    """The delays and losses that the edge's link draws."""
    name, streams = f"{edge[0]}>{edge[1]}", Streams(SEED)
    delays = LATENCY.draw(streams.generator("latency", name), ROUNDS)
    losses = streams.generator("loss", name).random(ROUNDS) < LOSS.p
    return iter(delays.tolist()), iter(losses.tolist())


def nspy(lean: bool = False) -> Measured:
    from ns.packet.dist_generator import DistPacketGenerator
    from ns.packet.packet import Packet
    from ns.port.port import Port
    from ns.port.wire import Wire

    class Sink:
        heard = 0

        def put(self, packet: object) -> None:
            self.heard += 1

    env = simpy.Environment()
    sink = Sink()

    def line(edge: tuple[int, int]) -> Port:
        delays, losses = luck(edge)
        wire = Wire(env, delays.__next__, loss_dist=lambda packet_id: next(losses))
        wire.out = sink
        port = Port(env, BANDWIDTH, qlimit=PLACES + 1)
        port.out = wire
        return port

    def source(node: int) -> Iterator[simpy.Event]:
        ports = [line((node, peer)) for peer in NEIGHBOURS[node]]
        for round in range(ROUNDS):
            for port in ports:
                port.put(Packet(env.now, SIZE, round))
            yield env.timeout(EVERY)

    if lean:
        for node in range(NODES):
            env.process(source(node))
    else:
        for edge in EDGES:
            generator = DistPacketGenerator(env, edge, lambda: EVERY, lambda: SIZE, size=SIZE * ROUNDS)
            generator.out = line(edge)
    began = process_time()
    env.run()
    return Measured(process_time() - began, sink.heard)


def raw_simpy() -> Measured:
    env = simpy.Environment()
    heard = 0

    def arrive(event: simpy.Event) -> None:
        nonlocal heard
        heard += event.value

    def source(node: int) -> Iterator[simpy.Event]:
        lucks = [luck((node, peer)) for peer in NEIGHBOURS[node]]
        for _ in range(ROUNDS):
            for delays, losses in lucks:
                env.timeout(next(delays), not next(losses)).callbacks.append(arrive)
            yield env.timeout(EVERY)

    for node in range(NODES):
        env.process(source(node))
    began = process_time()
    env.run()
    return Measured(process_time() - began, heard)


def main() -> None:
    contenders: dict[str, Callable[[], Measured]] = {
        "simnet": simnet,
        "simnet, log": logged,
        "simnet, payloads": lambda: simnet(opens=True),
        "ns.py": nspy,
        "ns.py, lean": lambda: nspy(lean=True),
        "SimPy": raw_simpy,
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    arrived = set()
    for _ in range(TURNS):
        for name, run in contenders.items():
            found = run()
            seconds[name].append(found.seconds)
            arrived.add(found.delivered)
    assert len(arrived) == 1, f"the contenders delivered {arrived} messages"
    rates = {name: MESSAGES / min(found) for name, found in seconds.items()}

    def over(one: str, other: str) -> float:
        """How many times as fast one contender is as another: the median of the turns."""
        return median(slow / fast for fast, slow in zip(seconds[one], seconds[other], strict=True))

    for name, rate in rates.items():
        print(f"{rate:>10,.0f} per CPU second {1e6 / rate:6.2f} µs each   {name}")
    publish(
        "kernel",
        {
            "messages": MESSAGES,
            "delivered": arrived.pop(),
            "per CPU second": {name: round(rate) for name, rate in rates.items()},
            "ratios": {
                "simnet over ns.py (goal: at least 10)": over("simnet", "ns.py"),
                "simnet over ns.py, lean": over("simnet", "ns.py, lean"),
                "simnet over SimPy (goal: at least 0.4)": over("simnet", "SimPy"),
                "with the log over without (goal: at least 1/3)": over("simnet, log", "simnet"),
            },
        },
    )


if __name__ == "__main__":
    main()
