"""[network.underlay]: the physical network under the agents, and the routes that packets take over it.

Agents stand at nodes of a physical graph. What one sends to another goes along a shortest path, link by link, so two
neighbourhoods of the learning topology may share a physical link. Routes are computed once, as in a network without
failures. They depend on the destination alone: of several shortest paths a packet takes one with the fewest links, and
at each node the neighbour with the smallest number.

Delays are added as whole femtoseconds. So paths that are equally long are so exactly, in whichever order their links
stand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from simnet.errors import ScenarioError
from simnet.network.delays import AlikeLinks
from simnet.network.latency import Constant
from simnet.network.link import Link, without_red
from simnet.network.loss import NO_LOSS
from simnet.network.model import Ends, LinkModel, link_models
from simnet.network.queueing import Transmitter
from simnet.network.topology import AnyTopology
from simnet.parts.fields import Finder
from simnet.parts.part import Section
from simnet.streams import Streams

if TYPE_CHECKING:
    import networkx as nx

_WORDS = ("in-order", "random", "spread")
_GRAIN = 1e15
"""Steps per unit of what routing adds up; of seconds, femtoseconds."""


class _Places:
    """Accepts one of the words, or a list of nodes."""

    what = f"one of {', '.join(_WORDS)}, or a list of nodes, each by its name or number, one for each agent"

    def __call__(self, value: object) -> Any:
        if isinstance(value, str) and value in _WORDS:
            return value
        if isinstance(value, list | tuple) and value and all(map(_is_node, value)):
            return tuple(value)
        raise ValueError(self.what)


def _is_node(entry: object) -> bool:
    return isinstance(entry, str) or (isinstance(entry, int) and not isinstance(entry, bool))


class Underlay(Section):
    """A physical network that carries packets hop by hop, so that paths of several neighbours may share a link."""

    graph: AnyTopology = Field(
        description="its nodes and links, as a topology; where that says agents, these are nodes"
    )
    link: LinkModel = Field(
        LinkModel(), description="what every physical link is like, but for what the file of the graph says of it"
    )
    attach: Annotated[tuple[str | int, ...] | str, BeforeValidator(_Places())] = Field(
        "in-order",
        description="the node of each agent, by name or number; `in-order`: agent i at node i; `random`: each at any; "
        "`spread`: as `random`, but no node has two agents while another has none",
    )
    routing: Literal["delay", "hops", "weight"] = Field(
        "delay",
        description="packets take the path of the least total latency, of the fewest links, or of the least total "
        "`weight`, which the file then says of every edge",
    )

    @model_validator(mode="after")
    def _packets_come_once(self) -> Underlay:
        if self.link.duplication:
            raise ValueError("link.duplication: a physical link duplicates nothing; `duplication = 0` would do")
        return self

    def draw(self, agents: int, streams: Streams, find: Finder) -> PhysicalNetwork:
        """The network of these agents."""
        with _own_words():
            graph = self.graph.draw(streams.generator("underlay"), find)
            models = link_models(self.link, (), graph, find)
        names, delays = _names(graph), _delays(models)
        places, costs = self._places(agents, names, streams), self._costs(graph, delays)
        return PhysicalNetwork(Transmitter(self.link, Streams(0), ""), names, models, delays, places, costs)

    def _places(self, agents: int, names: list[str], streams: Streams) -> list[int]:
        """The node of each agent."""
        nodes, rng = len(names), streams.generator("underlay", "attach")
        if self.attach == "random":
            return [int(node) for node in rng.integers(nodes, size=agents)]
        if self.attach == "spread":
            turns = -(-agents // nodes)
            return [int(node) for _ in range(turns) for node in rng.permutation(nodes)][:agents]
        if self.attach == "in-order":
            if agents > nodes:
                raise ScenarioError(
                    f'network.underlay.attach = "in-order": {agents} agents and only {nodes} nodes; "spread", "random" '
                    "or a list would do"
                )
            return list(range(agents))
        if len(self.attach) != agents:
            raise ScenarioError(f"network.underlay.attach: {len(self.attach)} nodes for {agents} agents; one for each")
        return [_node(entry, names, f"network.underlay.attach.{agent}") for agent, entry in enumerate(self.attach)]

    def _costs(self, graph: nx.Graph[int], delays: dict[Ends, float]) -> dict[Ends, int]:
        """What routing adds up, in whole numbers, and one more per link: of equal paths the one with fewest wins."""
        lengths: dict[Ends, float]
        if self.routing == "weight":
            lengths = graph.graph.get("weights", {})
            if missing := sorted(delays.keys() - lengths.keys()):
                a, b = missing[0]
                raise ScenarioError(f'network.underlay.routing = "weight": the edge of nodes {a} and {b} has no weight')
        else:
            lengths = delays if self.routing == "delay" else dict.fromkeys(delays, 0.0)
        return {ends: round(_GRAIN * length) * len(graph) + 1 for ends, length in lengths.items()}


class PhysicalNetwork:
    """Nodes and links of an underlay, where agents stand, and how packets go from one to another."""

    def __init__(
        self,
        cutter: Transmitter,
        names: list[str],
        models: Mapping[Ends, LinkModel],
        delays: dict[Ends, float],
        places: list[int],
        costs: dict[Ends, int],
    ) -> None:
        import networkx as nx

        self.names, self.models, self.places = names, models, places
        self._delays = delays
        self.cutter = cutter
        """Cuts messages into packets: all physical links agree in what that needs."""
        self._costs = costs
        self._backwards: nx.DiGraph[int] = nx.DiGraph()
        self._backwards.add_weighted_edges_from((b, a, cost) for (a, b), cost in costs.items())
        self._onward: dict[int, dict[int, int]] = {}
        """By destination and node, the next node; at the destination there is none."""

    def name(self, ends: Ends) -> str:
        """What one direction of a link is called, on the record and as a stream."""
        return f"{self.names[ends[0]]}>{self.names[ends[1]]}"

    def route(self, sender: int, receiver: int) -> list[Ends]:
        """The links from one agent to another, in their order; none if they stand at one node."""
        here, target = self.places[sender], self.places[receiver]
        onward = self._onward[target] if target in self._onward else self._towards(target)
        path: list[Ends] = []
        while here != target:
            path.append((here, onward[here]))
            here = onward[here]
        return path

    def _towards(self, target: int) -> dict[int, int]:
        import networkx as nx

        left = nx.single_source_dijkstra_path_length(self._backwards, target)
        costs = self._costs
        # Of several the smallest comes last, and stays.
        found = {a: b for a, b in sorted(costs, reverse=True) if left[a] == costs[a, b] + left[b]}
        self._onward[target] = found
        return found

    def shared_by(self, pairs: list[Ends]) -> Counter[Ends]:
        """Over each link, the directions between these agents that use it."""
        return Counter(link for pair in pairs for link in self.route(*pair))

    def models_of(self, pairs: list[Ends]) -> Mapping[Ends, LinkModel]:
        """What the links are like that these agents use; all links if they use none."""
        return {link: self.models[link] for link in self.shared_by(pairs)} or self.models

    def delay(self, sender: int, receiver: int) -> float:
        """Latency of the whole path, where it varies its median."""
        return sum(self._delays[link] for link in self.route(sender, receiver))

    def bottleneck(self, sender: int, receiver: int) -> float:
        """The least bandwidth on the path."""
        lines = (Transmitter(self.models[link], Streams(0), "") for link in self.route(sender, receiver))
        return min((line.bandwidth for line in lines), default=inf)

    def alone(
        self, sender: int, receiver: int, packets: Sequence[int], *, roomy: bool = False, begin: float = 0.0
    ) -> float:
        """How long a message takes if there is no other and its packets are all sent at the time `begin`.

        It is infinite if a queue drops part of it even then; with `roomy` queues have room for all of it.
        """
        sent = [(begin, weight) for packet in packets for weight in self.cutter.weights(packet)]
        for ends in self.route(sender, receiver):
            link = Link(_quiet(self.models[ends], self._delays[ends], roomy), Streams(0), "")
            sent = [(link.send(time, weight).arrives, weight) for time, weight in sent]
            if any(time == inf for time, _ in sent):
                return inf
        return sent[-1][0] - begin

    def alike_paths(self, pairs: list[Ends], packets: Sequence[int], *, roomy: bool = False) -> list[AlikeLinks]:
        """The paths between these agents by how long an idle one takes for a message of these packets."""
        found: dict[tuple[float, float], list[Ends]] = {}
        for pair in pairs:
            found.setdefault((self.delay(*pair), self.alone(*pair, packets, roomy=roomy)), []).append(pair)
        return [
            AlikeLinks(places, LinkModel(latency=Constant(kind="constant", value=delay)), alone - delay)
            for (delay, alone), places in found.items()
            if alone < inf
        ]

    def refuse_above_queues(self, pairs: list[Ends], size: int) -> None:
        """Refuse queues that drop part of every message of `size` bytes, also on an idle path."""
        if not any(model.queue and model.queue.limit is not None for model in self.models.values()):
            return
        # Ways over links that are alike let pass the same.
        alike = {tuple(id(self.models[link]) for link in self.route(*pair)): pair for pair in reversed(pairs)}
        for sender, receiver in alike.values():
            lines = [Transmitter(self.models[link], Streams(0), "") for link in self.route(sender, receiver)]
            # A line may be down at the start.
            begins = {line.opens(0.0) for line in lines} or {0.0}
            if all(self.alone(sender, receiver, [size], begin=begin) == inf for begin in begins):
                raise ScenarioError(
                    f"network.underlay.link.queue: a value makes {self.cutter.packets(size)} packets of "
                    f"{self.cutter.on_wire(size):,} bytes in all, and even an idle path from agent {sender} to agent "
                    f"{receiver} drops some of them, so that no value would ever arrive; a longer queue, a smaller "
                    'codec or `transport = "reliable"` would do'
                )


def _delays(models: Mapping[Ends, LinkModel]) -> dict[Ends, float]:
    """The latency of each link, where it varies its median."""
    found: dict[int, float] = {}
    for model in models.values():
        if id(model) not in found:
            fixed = model.latency.constant
            # The same numbers for all links, so that those that are alike are equally long.
            found[id(model)] = float(np.median(model.latency.times(_draws(), 999))) if fixed is None else fixed
    return {ends: found[id(model)] for ends, model in models.items()}


def _draws() -> np.random.Generator:
    return Streams(0).generator("routing")


def one_packet(model: LinkModel) -> LinkModel:
    """The same link for what is cut into packets, with all that they add, already."""
    return model.model_copy(update={"mtu": None, "overhead": 0, "framing": 0})


def _quiet(model: LinkModel, delay: float, roomy: bool) -> LinkModel:
    """The same without chance."""
    latency, queue = Constant.model_construct(kind="constant", value=delay), without_red(model.queue)
    changes = {"latency": latency, "loss": NO_LOSS, "corruption": 0.0, "queue": None if roomy else queue}
    return one_packet(model).model_copy(update=changes)


def _names(graph: nx.Graph[int]) -> list[str]:
    """What nodes are called; those whose file calls several alike have their number beside the name."""
    found = [str(graph.nodes[node].get("name", node)) for node in range(len(graph))]
    often = Counter(found)
    return [name if often[name] == 1 else f"{name} ({node})" for node, name in enumerate(found)]


def _node(entry: str | int, names: list[str], where: str) -> int:
    if isinstance(entry, int):
        if not 0 <= entry < len(names):
            raise ScenarioError(f"{where} = {entry}: there is no such node, they are 0 to {len(names) - 1}")
        return entry
    if entry not in names:
        close = get_close_matches(entry, names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else f", the first is {names[0]!r}"
        raise ScenarioError(f"{where} = {entry!r}: there is no node of that name{hint}")
    return names.index(entry)


_FIELD = re.compile(r"(?<![\w./-])(topology|network\.link)\.(?=\w+(\.\w+)? (=|is missing))")


@contextmanager
def _own_words() -> Iterator[None]:
    """Let what is wrong with a graph or its links be told of the underlay's fields, not of the topology's."""
    where = {"topology": "network.underlay.graph", "network.link": "network.underlay.link"}
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(_FIELD.sub(lambda found: f"{where[found[1]]}.", str(error))) from error
