"""What to simulate: typed, validated, loaded from TOML.

>>> from simnet import Scenario
>>> Scenario.loads('[algorithm]\\nname = "admm"').with_(**{"algorithm.eta": 0.02}).algorithm.eta
0.02
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import tomli_w
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from simnet.agent.outputs import AnyOutput
from simnet.agent.pacing import AnyPacing, Compute, Ideal, Pacing
from simnet.errors import ScenarioError
from simnet.learning.data_section import Data
from simnet.learning.metric_parts import AnyMetric
from simnet.learning.task import Task
from simnet.learning.task_parts import AnyTask, default_task
from simnet.methods import METHODS
from simnet.methods.method import Method, Surroundings
from simnet.network.codec import FLOAT64, AnyCodec, CodecKind, TopKSettings, unsurvived
from simnet.network.model import Access, Lines, LinkModel, Override, WayOut, way_out
from simnet.network.queueing import Intake
from simnet.network.topology import AnyTopology, Random
from simnet.network.underlay import Underlay
from simnet.parts.fields import Count, FrozenTable, Name, PositiveSeconds, Whole
from simnet.parts.foreign import Loading
from simnet.parts.part import OneOf, Section
from simnet.printable import escaped
from simnet.privacy.budget import Privacy
from simnet.record.fitness import DEALT_BY, LONG_ROWS, PREPARED_BY, TIMES_TELL
from simnet.record.metrics import Cost
from simnet.record.thinning import Log
from simnet.scenario.limits import SizeLimits
from simnet.scenario.toml import parse, shown
from simnet.sim.faults import AnyFault
from simnet.sim.radio import AnyChannel
from simnet.sim.transport import AnyTransport, Datagram

__all__ = ["Scenario"]


_ON_A_CHANNEL = {
    "bandwidth": "a shared channel has its own bit rate",
    "queue": "what may wait at a station of a shared channel is `channel.queue`",
    "mtu": "a shared channel cuts messages into frames of its own",
    "framing": "a frame of a shared channel has its own header",
}
"""Fields of a link's line, and what a shared channel has in their place."""


class Network(Section):
    """Links, and how agents keep pace over them."""

    pacing: AnyPacing = Field(Ideal(kind="ideal"), description="when a round ends")
    transport: AnyTransport = Field(Datagram(kind="datagram"), description="what happens to a lost message")
    medium: Literal["unicast", "shared"] = Field(
        "unicast", description="`unicast`: one transmission per neighbour; `shared`: one that reaches all of them"
    )
    uplink: Literal["independent", "shared"] | None = Field(
        None,
        description="`shared`: all links of an agent take turns on one line out; default: shared with a link preset of "
        "an access network (4g, satellite, lorawan, congested-wifi), else independent",
    )
    peers: Count | None = Field(
        None, description="how many neighbours an agent speaks to in a round, drawn anew each time; absent: all"
    )
    codec: AnyCodec = Field(FLOAT64, description="how numbers are written into a message")
    topk: TopKSettings = Field(TopKSettings(), description="settings of the codec `top-k`")
    inbox: Intake = Field(Intake(), description="how an agent takes in what arrives")
    recovery: PositiveSeconds | None = Field(
        None,
        description="how long an agent that lost its state in a crash waits for its neighbours' answers; default: 1 s",
    )
    link: LinkModel = Field(LinkModel(), description="what every link is like")
    line: Lines = Field(Lines(), description="what every agent has for all its links together")
    channel: AnyChannel | None = Field(
        None, description="a radio channel that all agents share; absent: every agent has lines of its own"
    )
    underlay: Underlay | None = Field(
        None, description="a physical network that carries all packets; absent: links have nothing in common"
    )
    override: tuple[Override, ...] = Field((), description="exceptions, later ones win")
    access: Access = Field(Access(), description="PDML: what the line of each user to its server is like")

    @model_validator(mode="after")
    def _nobody_acknowledges_for_all(self) -> Network:
        if self.medium == "shared" and self.transport.repeats:
            raise ValueError("medium: a reliable transport repeats messages for one neighbour, which is unicast")
        return self

    @model_validator(mode="after")
    def _some_hear_nothing(self) -> Network:
        if self.peers is None:
            return self
        if self.medium == "shared":
            raise ValueError("peers: a shared medium reaches all neighbours at once; leave it out, or use unicast")
        if self.pacing.waits_for_all:
            raise ValueError(
                f"peers: {self.pacing.word} pacing would wait for neighbours that say nothing in this round; use "
                "ideal, deadline, quorum or free"
            )
        if self.codec.entrywise:
            word = self.codec.word
            raise ValueError(f"peers: {word} tells what has changed since the last message, which most have not heard")
        return self

    @model_validator(mode="after")
    def _the_channel_is_the_line(self) -> Network:
        if self.channel is None:
            return self
        if self.transport.repeats:
            raise ValueError("transport: a shared channel carries datagrams only; `csma` repeats unicast frames itself")
        if self.uplink == "shared":
            raise ValueError("uplink: a shared channel has no lines out; leave `uplink` out")
        if self.line.up is not None or self.line.down is not None:
            raise ValueError("line: a shared channel is the way out and in; leave `line` out")
        for field, instead in _ON_A_CHANNEL.items():
            if any(getattr(each, field) for each in (self.link, *self.override)):
                raise ValueError(f"link.{field}: {instead}; leave `{field}` out")
        return self

    @model_validator(mode="after")
    def _the_path_decides(self) -> Network:
        if self.underlay is None:
            return self
        lines = self.line.up is not None or self.line.down is not None
        for misfit, reason in (
            (
                self.channel is not None,
                "channel: packets go over a channel or an underlay; leave one of them out",
            ),
            (self.medium == "shared", "medium: an underlay has links between two nodes, which is unicast"),
            (self.uplink == "shared", "uplink: an underlay has no lines but its links; leave `uplink` out"),
            (lines, "line: an underlay has no lines but its links; attach agents to nodes behind such links"),
            (self.override, "override: the path decides; the file of the underlay's graph has attributes of its links"),
        ):
            if misfit:
                raise ValueError(reason)
        for name, info in LinkModel.model_fields.items():
            if getattr(self.link, name) != info.default:
                raise ValueError(f"link.{name}: the path decides; `{name}` belongs in [network.underlay.link]")
        return self

    @property
    def coding(self) -> CodecKind:
        """The codec with its settings."""
        return self.codec.tuned(self.topk)

    @property
    def loses(self) -> str | None:
        """By what a message may get lost, apart from the links; None if every one gets to the links and from them."""
        if self.peers is not None:
            return "network.peers"
        if self.transport.repeats:
            return None
        if self.channel is not None:
            return "network.channel"
        if self.inbox.service and self.inbox.capacity is not None:
            return "network.inbox.capacity"
        return None if self.line.loses is None else f"network.line.{self.line.loses}"

    @property
    def one_line_out(self) -> bool:
        """Whether everything that an agent sends leaves over one line."""
        return self.line.up is not None or self.links_share_a_line

    @property
    def links_share_a_line(self) -> bool:
        """Whether the links of an agent take turns on a line that is like each of them."""
        return self.medium == "shared" or self.way_out == "shared"

    @property
    def way_out(self) -> WayOut:
        """What an agent's links have in common when they send."""
        channel, underlay, up = (part is not None for part in (self.channel, self.underlay, self.line.up))
        return way_out(self.medium, self.uplink, self.link.preset, channel=channel, underlay=underlay, up=up)

    @property
    def presets(self) -> set[str]:
        """The presets that it names."""
        named = (self.link.preset, *(other.preset for other in self.override))
        return {preset for preset in named if preset is not None}

    @property
    def recovery_time(self) -> float:
        """How long an agent that lost its state waits for answers, in seconds."""
        return 1.0 if self.recovery is None else self.recovery


_METHOD = OneOf(METHODS)
_OF_STUDIES = ("grid", "zip", "replicates", "base", "scenario")
"""What a study's file has, and no scenario."""


@dataclass(frozen=True)
class _Tables:
    """Accepts a table of tables."""

    what: str

    def __call__(self, value: object) -> Any:
        if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
            raise ValueError(self.what)
        return value


class Scenario(Section):
    """One run, completely described: same scenario and seed, same events."""

    name: Name = Field("unnamed", description="what it is called; names the run's folder")
    seed: Whole = Field(1, description="seed of every random stream")
    rounds: Count = Field(30, description="T, rounds of each agent")
    until: PositiveSeconds | None = Field(
        None, description="simulated time at which the run ends even if rounds are left; only simulated runs have it"
    )
    data: Data = Field(Data(), description="")
    task: AnyTask | None = Field(None, description="what is learned; absent: a linear classifier with `algorithm.loss`")
    metric: tuple[AnyMetric, ...] = Field((), description="further numbers about the models, each begun by [[metric]]")
    output: tuple[AnyOutput, ...] = Field(
        (), description="what counts as an agent's model, side by side, each begun by [[output]]; none: `last` alone"
    )
    topology: AnyTopology = Field(Random(kind="random"), description="who is whose neighbour")
    algorithm: Annotated[Method, _METHOD] = Field(description="the method, with the parameters that it has")
    privacy: Privacy = Field(Privacy(), description="")
    network: Network = Field(Network(), description="")
    compute: Compute = Field(Compute(), description="")
    fault: tuple[AnyFault, ...] = Field((), description="what breaks, each begun by [[fault]]")
    cost: Cost = Field(Cost(), description="")
    log: Log = Field(Log(), description="")
    limits: SizeLimits | None = Field(None, description="how large a run may be; absent: the defaults below")
    methods: Annotated[
        dict[str, dict[str, Any]],
        BeforeValidator(_Tables("a table for each method, with what changes in the scenario under it")),
        AfterValidator(FrozenTable),
    ] = Field({}, description="what changes under a method, for comparisons: [methods.<name>]")

    _loading: Loading = PrivateAttr(Loading())

    def __init__(self, **content: Any) -> None:
        """From sections as objects or dictionaries: `Scenario(rounds=5, algorithm={"name": "admm"})`."""
        try:
            super().__init__(**content)
        except ValidationError as error:
            from simnet.scenario.messages import sentence

            raise ScenarioError(sentence(error, Scenario, content)) from None
        self._settle(Loading())

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # or a context would not reach the parts

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What a notebook shows of it; `to_toml` has all."""
        yield from {"name": self.name, "method": self.algorithm.word, "rounds": self.rounds, "seed": self.seed}.items()

    @model_validator(mode="before")
    @classmethod
    def _a_hub_needs_a_star(cls, content: Any, info: ValidationInfo) -> Any:
        """Where nothing else is said, a method with a hub has its agents in a star."""
        method = content.get("algorithm") if isinstance(content, dict) and "topology" not in content else None
        name = method.get("name") if isinstance(method, dict) else method
        try:
            model = _METHOD.part(name, info.context) if isinstance(name, str) else None
        except ValueError:  # the field itself will say what is wrong
            return content
        return content | {"topology": {"kind": "star"}} if getattr(model, "central", False) else content

    @model_validator(mode="after")
    def _makes_sense(self) -> Scenario:
        """Refuse the first thing that does not go together, as `field: why not`."""
        around = Surroundings(
            topology=self.topology.word,
            medium=self.network.medium,
            entrywise_codec=self.network.codec.entrywise,
            states_get_lost=any(fault.loses_state for fault in self.fault),
        )
        if self.pacing.keeps_time and any(fault.halts for fault in self.fault):
            raise ValueError("network.pacing.send_at: an agent that is down cannot keep it; leave out one of the two")
        method = self.algorithm
        if around.states_get_lost and not method.begins_again:
            raise ValueError(
                f"fault: an agent of {method.name} cannot begin again without its state; keep it (state = 'kept')"
            )
        misfits = (
            method.misfit(around),
            method.misfit_of_privacy(self.privacy),
            method.misfit_of_task(self.task),
            None if self.data.bounds_rows else method.misfit_of_long_rows(self.privacy),
        )
        if reason := next(filter(None, misfits), None):
            raise ValueError(reason)
        self._refuse_the_same_name_twice()
        if reason := self._misfit_of_outputs():
            raise ValueError(reason)
        if reason := self._misfit_of_loss():
            raise ValueError(reason)
        if self.network.peers is not None and self.algorithm.central:
            raise ValueError("network.peers: a hub speaks to all its leaves, and they to nobody else; leave it out")
        return self

    def _refuse_the_same_name_twice(self) -> None:
        for field in ("metric", "output"):
            names = [part.called for part in getattr(self, field)]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{field}: two are called {twice}, and a table has one such column")

    def _misfit_of_outputs(self) -> str | None:
        """Why an output is nothing for the method."""
        if sum(output.headline for output in self.output) > 1:
            return "output: two have headline = true, and test_error is about one of them"
        found = ((output.word, output.misfit(self.algorithm)) for output in self.output)
        return next((f"output: {word} cannot be had: {reason}" for word, reason in found if reason), None)

    def _misfit_of_loss(self) -> str | None:
        """Why codec or method do not go with the rest. What each link may lose is known when the graph is drawn."""
        if self.network.codec.differences and len(self.algorithm.message_lengths(1)) > 1:
            return f"network.codec: it tells differences, and {self.algorithm.word} sends more than its model"
        loses = "fault" if self.fault else self.network.loses
        return None if self.fragile is None or loses is None else f"{self.fragile}: {unsurvived(loses)}"

    @property
    def fragile(self) -> str | None:
        """The field that chose something that needs every message; None if nothing does."""
        if not self.network.codec.survives_loss:
            return "network.codec"
        return None if self.algorithm.survives_loss else "algorithm.name"

    @property
    def learned(self) -> Task:
        """What is learned."""
        return default_task(getattr(self.algorithm, "loss", "logistic")) if self.task is None else self.task

    @property
    def loading(self) -> Loading:
        """Where its parts come from, and those that have been loaded."""
        return self._loading

    @property
    def pacing(self) -> Pacing:
        """When rounds end, and when messages leave."""
        return self.network.pacing.hiding(work_tells=self.compute.tells)

    def caveats(self, *, live: bool = False) -> list[str]:
        """What ε does not cover in a run of it; real work takes its own time, whatever the scenario says of it."""
        found = [TIMES_TELL] if (live or self.compute.tells) and not self.pacing.keeps_time else []
        found += DEALT_BY[self.data.partition.looks_at]
        found += [PREPARED_BY[each] for each in self.data.tells]
        return found + ([LONG_ROWS] if self.privacy.calibration != "none" and not self.data.bounds_rows else [])

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a TOML file; files that it names are looked up beside it first."""
        return cls.loads(cls.read(path), name=str(path), folder=Path(path).parent)

    @staticmethod
    def read(path: str | Path) -> str:
        """The text of a scenario file."""
        try:
            return Path(path).read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise ScenarioError(f"{escaped(str(path))}: the scenario cannot be read ({reason})") from None

    @classmethod
    def loads(cls, text: str, *, name: str = "scenario", folder: str | Path | None = None) -> Scenario:
        """Read TOML text."""
        return cls.of(parse(text, name), folder=folder)

    @classmethod
    def of(
        cls, content: Mapping[str, Any], *, folder: str | Path | None = None, only_reading: bool = False
    ) -> Scenario:
        """Validate plain dictionaries shaped like the TOML file; who is only reading runs no code that they name."""
        return cls._of(content, Loading(None if folder is None else Path(folder), allowed=not only_reading))

    @classmethod
    def _of(cls, content: Mapping[str, Any], loading: Loading) -> Scenario:
        if "audit" in content:
            raise ScenarioError("audit: only `simnet audit` reads this section, because it can make a method lie")
        if (studied := next((field for field in _OF_STUDIES if field in content), None)) is not None:
            raise ScenarioError(f"{studied}: this belongs to a study, and `simnet sweep` does the runs of a study")
        try:
            scenario = cls.model_validate(content, context=loading)
        except ValidationError as error:
            from simnet.scenario.messages import sentence  # here: most scenarios are right

            raise ScenarioError(sentence(error, cls, content, loading)) from None
        scenario._settle(loading)
        return scenario

    def _settle(self, loading: Loading) -> None:
        """Look at what can only be seen when all is there."""
        # What is loaded stays as it was loaded, for all that is derived from this scenario.
        self._loading = replace(loading, given={**loading.given, **{part.reference: part for part in self.foreign()}})
        for method in self.methods:
            try:
                self.with_method(method)
            except ScenarioError as error:
                raise ScenarioError(f"methods.{method}: {error}") from None

    def with_(self, **changes: Any) -> Scenario:
        """The same scenario with some fields changed: `scenario.with_(**{"algorithm.eta": 0.02}, seed=3)`."""
        from simnet.scenario.overrides import set_path

        content = self.content()
        for path, value in changes.items():
            set_path(content, path, value, Scenario)
        return Scenario._of(content, self._loading)

    def method(self, name: str) -> type[Method]:
        """The method of this name; ScenarioError if there is none."""
        from simnet.scenario.messages import unknown_choice

        try:
            model = cast("type[Method] | None", _METHOD.part(name, self._loading))
        except ValueError as error:
            raise ScenarioError(f"algorithm.name = {shown(name)}: {error}") from None
        if model is None:
            raise ScenarioError(unknown_choice("algorithm.name", name, METHODS))
        return model

    def with_method(self, name: str) -> Scenario:
        """The same scenario under another method, with the changes of `[methods.<name>]`.

        Parameters that both methods have stay. A method with a hub takes the same agents to a star; of its parameters
        only the loss means the same elsewhere.
        """
        from simnet.scenario.overrides import merged

        model = self.method(name)
        content = self.content()
        changes = content.pop("methods", {}).get(name, {})
        shared = model.model_fields if model.central == self.algorithm.central else ("loss",)
        content["algorithm"] = {k: v for k, v in content["algorithm"].items() if k in shared} | {"name": name}
        agents = getattr(self.topology, "agents", None)
        if model.central and agents is not None:
            content["topology"] = {"kind": "star", "agents": agents}
        return Scenario._of(merged(content, changes), self._loading)

    def content(self) -> dict[str, Any]:
        """What the user set, as plain dictionaries."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)

    def resolved(self) -> dict[str, Any]:
        """Every field with its value, as plain dictionaries."""
        found = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        if self.task is not None and "loss" not in self.algorithm.model_fields_set:  # the task has one
            found["algorithm"].pop("loss", None)
        absent = [name for name in ("metric", "output") if not getattr(self, name)]
        return {name: value for name, value in found.items() if name not in absent}

    def to_toml(self) -> str:
        """The resolved scenario as a TOML file that loads to the same scenario."""
        return tomli_w.dumps(self.resolved())

    def find(self, path: str) -> Path:
        """A file that the scenario names: beside the scenario, or from the current folder."""
        folder = self._loading.folder
        return folder / path if folder is not None and (folder / path).exists() else Path(path)

    def __reduce__(self) -> Any:
        """With parts of the user's own it is built anew wherever it goes, from their sources, which travel with it."""
        if not self._loading.given:
            return super().__reduce__()
        return _arrived, (self.content(), self._loading)


def _arrived(content: dict[str, Any], loading: Loading) -> Scenario:
    return Scenario._of(content, loading)
