"""[network.link] and its exceptions: what a link is like, the record from which links are built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import dist
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator

from simnet.errors import ScenarioError
from simnet.network.globe import kilometres
from simnet.network.latency import NO_TIME, AnyLatency, Latency
from simnet.network.loss import NO_LOSS, AnyLoss
from simnet.network.queueing import AnyQueue, Transmitter
from simnet.network.rates import AnyRate, read_rate
from simnet.parts.fields import Finder, Probability, Size, Whole
from simnet.parts.part import Section, WordOf
from simnet.streams import Streams

if TYPE_CHECKING:
    import networkx as nx

PRESETS: dict[str, dict[str, Any]] = {
    "lan": {
        "latency": {"kind": "lognormal", "median": "0.2 ms", "sigma": 0.3},
        "bandwidth": "1 Gbit/s",
        "queue": {"limit": 512 * 1024, "unit": "bytes"},
        "order": "fifo",
        "mtu": 1500,
        "overhead": 28,
        "framing": 38,
    },
    "wan": {
        "latency": {"kind": "lognormal", "median": "40 ms", "sigma": 0.25},
        "bandwidth": "100 Mbit/s",
        "queue": {"limit": 500 * 1000, "unit": "bytes"},
        "loss": {"kind": "bernoulli", "p": 0.002},
        "mtu": 1500,
        "overhead": 28,
        "framing": 38,
    },
    "4g": {
        "latency": {"kind": "lognormal", "median": "53 ms", "sigma": 0.4},
        "bandwidth": "13.6 Mbit/s",
        "queue": {"limit": 250 * 1000, "unit": "bytes"},
        "loss": {"kind": "bursts", "rate": 0.005, "length": 3},
        "order": "fifo",
        "mtu": 1428,
        "overhead": 28,
    },
    "satellite": {
        "latency": {"kind": "normal", "mean": "280 ms", "std": "10 ms"},
        "bandwidth": "3 Mbit/s",
        "queue": {"limit": 220 * 1000, "unit": "bytes"},
        "loss": {"kind": "bursts", "rate": 0.01, "length": 5},
        "order": "fifo",
        "mtu": 1500,
        "overhead": 28,
    },
    "lorawan": {
        "latency": {"kind": "uniform", "low": "50 ms", "high": "200 ms"},
        "bandwidth": "5470 bit/s",
        "queue": {"limit": 8},
        "loss": {"kind": "bernoulli", "p": 0.1},
        "order": "fifo",
        "mtu": 255,
        "overhead": 13,
    },
    "lora": {
        "overhead": 13,
    },
    "congested-wifi": {
        "latency": {"kind": "lognormal", "median": "8 ms", "sigma": 1.0},
        "bandwidth": "6 Mbit/s",
        "queue": {"limit": 64, "red": {"low": 16, "high": 48, "chance": 0.1, "weight": 0.02}},
        "loss": {"kind": "gilbert-elliott", "p_good_to_bad": 0.02, "p_bad_to_good": 0.25, "loss_bad": 0.5},
        "duplication": 0.002,
        "mtu": 1500,
        "overhead": 28,
        "framing": 38,
    },
}
"""Links that many people have: named settings of [network.link], with their sources in docs/network.md."""

ACCESS = frozenset({"4g", "satellite", "lorawan", "congested-wifi"})
"""Presets of a user's one way into the network: unless the scenario says otherwise, an agent's links share it."""

ON_AIR = frozenset({"lorawan", "lora", "congested-wifi"})
"""Presets of radios that anybody may use at any time: without a channel, no transmission disturbs another."""

DUTY_CYCLED = frozenset({"lorawan", "lora"})
"""Presets of bands in which a device may send for a small share of the time only."""

WayOut = Literal["channel", "underlay", "access line", "shared", "independent"]


def way_out(medium: str, uplink: str | None, preset: str | None, *, channel: bool, underlay: bool, up: bool) -> WayOut:
    """What an agent's links have in common when they send, by what [network] says of it."""
    if channel or underlay:
        return "channel" if channel else "underlay"
    if medium == "shared":
        return "shared"
    if up:
        return "access line"
    chosen = uplink or ("shared" if preset in ACCESS else "independent")
    return "shared" if chosen == "shared" else "independent"


Ends = tuple[int, int]
"""One direction of a link: sender, receiver."""

Order = Literal["free", "fifo"]
Preset = Annotated[str, WordOf(PRESETS)]


class _Preset(Section):
    """A table whose absent fields may come from a preset; they count as absent when the file is changed."""

    @model_validator(mode="wrap")
    @classmethod
    def _filled(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        name = data.get("preset") if isinstance(data, Mapping) else None
        if not isinstance(name, str) or name not in PRESETS:
            return handler(data)
        filled = handler(dict(PRESETS[name]) | dict(data))
        known = {info.alias or field: field for field, info in cls.model_fields.items()}
        filled.__pydantic_fields_set__.intersection_update(known.get(key, key) for key in data)
        return filled


class LinkModel(_Preset):
    """One direction of a link; both directions of every link are alike unless overridden."""

    preset: Preset | None = Field(None, description="where the fields that are absent here come from")
    latency: AnyLatency = Field(NO_TIME, description="propagation delay")
    bandwidth: AnyRate | None = Field(
        None, description="bit rate of serialisation, or the file by which it changes; unlimited when absent"
    )
    queue: AnyQueue | None = Field(
        None, description="what may wait for the line, a bare number in packets; unlimited when absent"
    )
    loss: AnyLoss = Field(NO_LOSS, description="which messages are lost")
    order: Order = Field("free", description="`free`: a message may overtake an earlier one; `fifo`: none does")
    duplication: Probability = Field(0.0, description="probability that a message arrives a second time")
    corruption: Probability = Field(
        0.0, description="probability that a packet arrives damaged, which its checksum shows"
    )
    mtu: Size | None = Field(
        None, description="largest packet, overhead included and framing not; messages are not cut when absent"
    )
    overhead: Whole = Field(
        28, description="bytes that every packet has beside its part of the message; default: IP 20, UDP 8"
    )
    framing: Whole = Field(0, description="bytes that the link layer adds to every packet, outside the mtu")

    @model_validator(mode="after")
    def _something_fits(self) -> LinkModel:
        if self.mtu is not None and self.mtu <= self.overhead:
            raise ValueError(f"mtu: more than the overhead, which is {self.overhead} bytes")
        return self

    @property
    def loses(self) -> str | None:
        """The field by which a message may get lost; None if every one arrives."""
        if self.loss.independent != 0.0:
            return "loss"
        return "corruption" if self.corruption else "queue" if self.queue is not None else None

    @property
    def overtakes(self) -> bool:
        """Whether a message may arrive before one that was sent earlier."""
        return self.order == "free" and self.latency.constant is None

    def read(self, find: Finder) -> Self:
        """The same with the files that it names in memory."""
        read = {"latency": self.latency.read(find), "loss": self.loss.read(find)}
        return self.model_copy(update=read | {"bandwidth": read_rate(self.bandwidth, find)})

    def over(self, length: float) -> Self:
        """The same for a link of this length."""
        return self.model_copy(update={"latency": self.latency.over(length)})


class Line(Section):
    """One side of an agent's access line, which all its links share."""

    bandwidth: AnyRate = Field(description="bit rate, or the file by which it changes")
    queue: AnyQueue | None = Field(
        None, description="what may wait for the line, a bare number in packets; unlimited when absent"
    )

    def read(self, find: Finder) -> Self:
        """The same with the file that it may name in memory."""
        return self.model_copy(update={"bandwidth": read_rate(self.bandwidth, find)})

    def transmitter(self, streams: Streams, name: str) -> Transmitter:
        """The line of one agent; what travels over it is cut into packets already."""
        return Transmitter(LinkModel(bandwidth=self.bandwidth, queue=self.queue, overhead=0), streams, name)


class Lines(Section):
    """Every agent's access line, on top of its links' own lines."""

    up: Line | None = Field(None, description="all that the agent sends passes it before the link; no limit if absent")
    down: Line | None = Field(
        None, description="all that is sent to the agent passes it after the link; no limit if absent"
    )

    @property
    def loses(self) -> str | None:
        """The field by which a message may get lost; None if every one arrives."""
        sides = {"up": self.up, "down": self.down}
        full = (f"{name}.queue" for name, side in sides.items() if side is not None and side.queue is not None)
        return next(full, None)

    def read(self, find: Finder) -> Self:
        """The same with the files that it names in memory."""
        sides = {"up": self.up, "down": self.down}
        return self.model_copy(update={name: line and line.read(find) for name, line in sides.items()})


class Access(LinkModel):
    """The line of a user to its server, one for each user, over which it reports its row."""

    def read(self, find: Finder) -> Self:
        if self.latency.needs_length or self.latency.needs_ends:
            what = "a length" if self.latency.needs_length else "a place in a matrix"
            kind = self.latency.word
            raise ScenarioError(f"network.access.latency.kind = {kind!r}: only links between agents have {what}")
        return super().read(find)


class Override(_Preset):
    """Other values for some links: one link, one direction, all links of an agent, inside a region, between two."""

    link: tuple[Whole, Whole] | None = Field(None, description="both directions between two agents")
    source: Whole | None = Field(None, alias="from", description="one direction: the sender")
    target: Whole | None = Field(None, alias="to", description="one direction: the receiver")
    agent: Whole | None = Field(None, description="both directions of all links of an agent")
    region: tuple[Whole, ...] | None = Field(None, description="all links between these agents")
    across: tuple[Whole, ...] | None = Field(
        None, description="with `region`: not those, but all links between one of them and one of these"
    )
    preset: Preset | None = Field(None, description="where the fields that are absent here come from")
    latency: AnyLatency | None = Field(None, description="propagation delay")
    bandwidth: AnyRate | None = Field(None, description="bit rate of serialisation, or the file by which it changes")
    queue: AnyQueue | None = Field(None, description="what may wait for the line")
    loss: AnyLoss | None = Field(None, description="which messages are lost")
    order: Order | None = Field(None, description="whether messages may overtake")
    duplication: Probability | None = Field(None, description="probability that a message arrives a second time")
    corruption: Probability | None = Field(None, description="probability that a packet arrives damaged")
    mtu: Size | None = Field(None, description="largest packet")
    overhead: Whole | None = Field(None, description="bytes that every packet has beside its part of the message")
    framing: Whole | None = Field(None, description="bytes that the link layer adds to every packet")

    @model_validator(mode="after")
    def _names_one_place(self) -> Override:
        direction = self.source is not None and self.target is not None
        if (self.source is None) != (self.target is None):
            raise ValueError("from: one direction needs both `from` and `to`")
        if self.across is not None and self.region is None:
            raise ValueError("across: stands beside `region`")
        places = [self.link is not None, direction, self.agent is not None, self.region is not None]
        if places.count(True) != 1:
            raise ValueError("link: name exactly one of `link`, `from` with `to`, `agent`, or `region`")
        return self

    def on(self, link: LinkModel, where: str) -> LinkModel:
        """A link like this one, with other values; `where` is the place of the override in the scenario."""
        # The parts themselves, not their tables: a part of the user's own was loaded where the scenario is.
        fields = set(LinkModel.model_fields) - {"preset"}
        new = {name: value for name in fields if (value := getattr(self, name)) is not None}
        try:
            return LinkModel.model_validate({name: getattr(link, name) for name in fields} | new)
        except ValidationError as error:  # two fields that fit the link and the override, but not each other
            raise ScenarioError(f"{where}.{error.errors()[0]['ctx']['error']}") from None

    def places(self, edges: nx.Graph[int], where: str) -> list[Ends]:
        """The directions that it is about."""
        if self.region is not None:
            other = self.region if self.across is None else self.across
            for field, agents in (("region", self.region), ("across", other)):
                known_agents(agents, edges, f"{where}.{field}")
            pairs = {ends for a, b in product(self.region, other) for ends in ((a, b), (b, a))}
            return sorted(ends for ends in pairs if edges.has_edge(*ends))
        if self.agent is not None:
            known_agents([self.agent], edges, f"{where}.agent")
            return [ends for peer in edges[self.agent] for ends in ((self.agent, peer), (peer, self.agent))]
        if self.link is not None:
            a, b = self.link
            known_link(a, b, edges, f"{where}.link")
            return [(a, b), (b, a)]
        assert self.source is not None
        assert self.target is not None
        known_link(self.source, self.target, edges, f"{where}.from")
        return [(self.source, self.target)]


class AlikeModels(Mapping[Ends, LinkModel]):
    """All links are alike: a large network has a million of them, and this has an entry for none."""

    def __init__(self, edges: nx.Graph[int], common: LinkModel) -> None:
        self._edges, self.common = edges, common

    def __getitem__(self, ends: Ends) -> LinkModel:
        if not self._edges.has_edge(*ends):
            raise KeyError(ends)
        return self.common

    def __iter__(self) -> Iterator[Ends]:
        return (ends for a, b in self._edges.edges for ends in ((a, b), (b, a)))

    def __len__(self) -> int:
        return 2 * self._edges.number_of_edges()


def distinct(models: Mapping[Ends, LinkModel]) -> list[LinkModel]:
    """Each of the models once, in the order of the links."""
    if isinstance(models, AlikeModels):
        return [models.common] if len(models) else []
    return list({id(model): model for model in models.values()}.values())


def link_models(
    common: LinkModel, overrides: Sequence[Override], edges: nx.Graph[int], find: Finder
) -> Mapping[Ends, LinkModel]:
    """What each direction of every link is like: as the common one, but for the overrides; later ones win."""
    # One record for all that are alike: a large network has a million links.
    common = common.read(find)
    latency = common.latency
    if not (overrides or edges.graph.get("given") or latency.needs_length or latency.needs_ends):
        return AlikeModels(edges, common)
    models = {ends: common for a, b in edges.edges for ends in ((a, b), (b, a))}
    # What the file of the topology says of its links comes before the scenario's exceptions.
    for ends, given in edges.graph.get("given", {}).items():
        models[ends] = common.model_copy(update=given)
    for index, override in enumerate(overrides):
        where = f"network.override.{index}"
        changed: dict[int, LinkModel] = {}
        for ends in override.places(edges, where):
            before = models[ends]
            if id(before) not in changed:
                changed[id(before)] = override.on(before, where).read(find)
            models[ends] = changed[id(before)]
    for ends, model in models.items():
        if model.latency.needs_length:
            models[ends] = model.over(_length(edges, ends, model.latency))
        elif model.latency.needs_ends:
            models[ends] = model.model_copy(update={"latency": model.latency.between(*ends)})
    return models


def _length(edges: nx.Graph[int], ends: Ends, latency: Latency) -> float:
    """Kilometres where the agents have coordinates, and the unit of their positions elsewhere."""
    nodes = [edges.nodes[end] for end in ends]
    if all("coordinates" in node for node in nodes):
        return kilometres(*(node["coordinates"] for node in nodes))
    if not all("position" in node for node in nodes):
        raise ScenarioError(
            "network.link.latency.kind = 'distance': needs a topology with positions, such as geometric, "
            "or a file with Latitude and Longitude"
        )
    if latency.needs_kilometres:
        raise ScenarioError(
            "network.link.latency.per_unit is missing: only a topology with Latitude and Longitude has kilometres"
        )
    return dist(*(node["position"] for node in nodes))


def known_agents(agents: Iterable[int], edges: nx.Graph[int], where: str) -> None:
    """Refuse agents that are not in the topology."""
    for agent in agents:
        if agent not in edges:
            raise ScenarioError(f"{where} = {agent}: there is no such agent, they are 0 to {len(edges) - 1}")


def known_link(a: int, b: int, edges: nx.Graph[int], where: str) -> None:
    """Refuse a link that is not in the topology."""
    if not edges.has_edge(a, b):
        raise ScenarioError(f"{where}: agents {a} and {b} share no link in this topology")
