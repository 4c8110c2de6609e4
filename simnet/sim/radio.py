"""[network.channel]: the radio channel that all agents share, and how messages travel over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import dist
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.errors import ScenarioError
from simnet.network.airtime import OFDM_PREAMBLE, duty_cycle_left_out, lora_seconds, ofdm_seconds
from simnet.network.draws import one_by_one, uniform
from simnet.network.frame import Frame
from simnet.parts.fields import (
    Bandwidth,
    Count,
    Number,
    Positive,
    PositiveSeconds,
    PositiveShare,
    Seconds,
    Switch,
    Whole,
)
from simnet.parts.part import OneOf, Part, bare_word, table
from simnet.record import events
from simnet.record.bus import Reason
from simnet.sim.air import Air, Use
from simnet.sim.carrier import MessageCarrier
from simnet.sim.stations import Dcf, DcfStation, DeafStation, End, Job, Station, at_once, at_slots, in_turn
from simnet.streams import Streams

if TYPE_CHECKING:
    import networkx as nx

    from simnet.sim.engine import VirtualEngine
    from simnet.sim.sim_events import Message


class ChannelKind(Part):
    """How agents get at the channel."""

    answers: ClassVar[bool] = False
    """Whether a frame for one neighbour is acknowledged, and sent again without it."""

    range: Positive | None = Field(
        None,
        description="how far a transmission is heard, in the units of the topology's positions; absent: everywhere",
    )
    queue: Whole | None = Field(None, description="messages that may wait at a station; unlimited when absent")

    @property
    def header(self) -> int:
        """Bytes of a frame beside its part of the message and the link's overhead."""
        return 0

    @property
    def largest(self) -> int | None:
        """Bytes that a frame may have, header included; None: any number."""
        return None

    def seconds(self, size: int) -> float:
        """How long a frame of so many bytes lasts."""
        raise NotImplementedError

    def station(self, air: Air, agent: int, agents: int, streams: Streams) -> Station:
        """What decides when an agent sends."""
        raise NotImplementedError

    def leaves_out(self, per_round: float, tick: float | None) -> dict[str, str]:
        """What a real channel has and this one has not, where an agent sends for `per_round` seconds each `tick`."""
        return {"capture": "none: of two frames that overlap at a receiver, both are lost, however near one sender is"}

    def frames(self, size: int, overhead: int) -> list[int]:
        """The frames of a message of `size` bytes, by their bytes on the air."""
        extra = self.header + overhead
        room = size if self.largest is None else self.largest - extra
        if room < 1:
            raise ScenarioError(
                f"network.channel.kind = {self.word!r}: a frame of at most {self.largest} bytes has no room for a "
                f"message beside {extra} bytes of headers"
            )
        return [min(room, size - start) + extra for start in range(0, size, room)]


class _Plain(ChannelKind):
    rate: Bandwidth = Field(description="bit rate on the air")

    def seconds(self, size: int) -> float:
        return 8.0 * size / self.rate


class _Slotted(_Plain):
    slot: PositiveSeconds = Field(
        description="length of a slot; a message that does not fit is cut into several frames"
    )

    @property
    def largest(self) -> int | None:
        return int(self.slot * self.rate / 8 + 1e-6)

    slots_left_out: ClassVar[dict[str, str]] = {"slots": "everybody keeps them: clocks agree, there are no guard times"}


class Tdma(_Slotted):
    """Agents send in turn, in slots of their own: nothing collides."""

    kind: Literal["tdma"]

    def leaves_out(self, per_round: float, tick: float | None) -> dict[str, str]:
        return self.slots_left_out

    def station(self, air: Air, agent: int, agents: int, streams: Streams) -> Station:
        return DeafStation(air, agent, self.seconds, self.queue, in_turn(self.slot, agent, agents))


class Aloha(_Plain):
    """Agents send at once, whatever they hear (Abramson 1970). Nothing is repeated."""

    kind: Literal["aloha"]

    def station(self, air: Air, agent: int, agents: int, streams: Streams) -> Station:
        return DeafStation(air, agent, self.seconds, self.queue, at_once)


class SlottedAloha(_Slotted):
    """Agents send at the next boundary of a slot, whatever they hear (Roberts 1975). Nothing is repeated."""

    kind: Literal["slotted-aloha"]

    def leaves_out(self, per_round: float, tick: float | None) -> dict[str, str]:
        return super().leaves_out(per_round, tick) | self.slots_left_out

    def station(self, air: Air, agent: int, agents: int, streams: Streams) -> Station:
        return DeafStation(air, agent, self.seconds, self.queue, at_slots(self.slot))


class Lora(ChannelKind):
    """LoRa between agents, without a gateway: ALOHA with Semtech's time on air, and a duty cycle if there is one."""

    kind: Literal["lora"]
    spreading_factor: Annotated[int, BeforeValidator(Number("a whole number from 7 to 12", 7, 12, whole=True))] = Field(
        7, description="bits per symbol"
    )
    bandwidth: Positive = Field(125e3, description="width of the channel in hertz")
    coding_rate: Literal["4/5", "4/6", "4/7", "4/8"] = Field("4/5", description="share of the bits that are not repair")
    preamble: Count = Field(8, description="symbols before the header")
    explicit_header: Switch = Field(True, description="whether a frame says its own length and coding rate")
    crc: Switch = Field(True, description="whether a frame ends with a checksum of its own")
    duty_cycle: PositiveShare | None = Field(
        None, description="share of the time for which an agent may send: after a transmission it is silent"
    )

    @property
    def largest(self) -> int | None:
        return 255

    def leaves_out(self, per_round: float, tick: float | None) -> dict[str, str]:
        kept = {} if self.duty_cycle is not None else duty_cycle_left_out(per_round, tick)
        return super().leaves_out(per_round, tick) | kept

    def seconds(self, size: int) -> float:
        return lora_seconds(
            size,
            self.spreading_factor,
            self.bandwidth,
            int(self.coding_rate[-1]) - 4,
            preamble=self.preamble,
            explicit=self.explicit_header,
            checksum=self.crc,
        )

    def station(self, air: Air, agent: int, agents: int, streams: Streams) -> Station:
        duty = 1.0 if self.duty_cycle is None else self.duty_cycle
        return DeafStation(air, agent, self.seconds, self.queue, at_once, duty)


class Csma(ChannelKind):
    """CSMA/CA: the distributed coordination function of IEEE 802.11, with the times of 802.11a.

    A frame for one neighbour is acknowledged and repeated, one for all is sent once.
    """

    kind: Literal["csma"]
    answers: ClassVar[bool] = True
    rate: Bandwidth = Field(6e6, description="bit rate of data and acknowledgements: 6 to 54 Mbit/s in 802.11a")
    slot: PositiveSeconds = Field(9e-6, description="slot of the backoff")
    sifs: PositiveSeconds = Field(16e-6, description="pause before an acknowledgement")
    difs: PositiveSeconds = Field(34e-6, description="pause before the backoff")
    sensing: Seconds = Field(4e-6, description="until a station notices that another has begun to send")
    cw_min: Whole = Field(15, description="smallest window of the backoff, in slots")
    cw_max: Whole = Field(1023, description="largest window of the backoff, in slots")
    attempts: Count = Field(7, description="transmissions after which a frame without acknowledgement is given up")
    mac_header: Whole = Field(36, description="bytes of a frame beside its packet: MAC 24, checksum 4, LLC and SNAP 8")

    @model_validator(mode="after")
    def _makes_sense(self) -> Csma:
        if self.cw_max < self.cw_min:
            raise ValueError(f"cw_max: at least cw_min, which is {self.cw_min}")
        if self.difs <= self.sifs:
            raise ValueError(f"difs: above sifs, which is {self.sifs:g} s")
        if round(self.rate * 4e-6) < 1:
            raise ValueError("rate: at least one bit per symbol of 4 us, which is 250 kbit/s")
        return self

    @property
    def header(self) -> int:
        return self.mac_header

    @property
    def largest(self) -> int | None:
        return 2304 + self.mac_header

    def seconds(self, size: int) -> float:
        return ofdm_seconds(size, self.rate)

    def rules(self) -> Dcf:
        """The times and windows of every station."""
        return Dcf(
            slot=self.slot,
            sifs=self.sifs,
            difs=self.difs,
            preamble=OFDM_PREAMBLE,
            acknowledgement=self.seconds(14),
            sensing=self.sensing,
            smallest=self.cw_min,
            largest=self.cw_max,
            attempts=self.attempts,
        )

    def station(self, air: Air, agent: int, agents: int, streams: Streams) -> Station:
        uniforms = one_by_one(streams, "access", str(agent), uniform)
        return DcfStation(air, agent, self.seconds, self.queue, self.rules(), uniforms)


CHANNELS = table(Tdma, Aloha, SlottedAloha, Csma, Lora)
AnyChannel = Annotated[ChannelKind, OneOf(CHANNELS, short=bare_word)]


def in_range(edges: nx.Graph[int], reach: float | None) -> list[list[int]]:
    """Whom each agent's transmissions reach; neighbours must be among them."""
    if reach is None:
        return [[other for other in edges if other != agent] for agent in sorted(edges)]
    places: list[tuple[float, ...]] = []
    for agent in sorted(edges):
        if "position" not in edges.nodes[agent]:
            raise ScenarioError(
                f"network.channel.range = {reach:g}: needs a topology with positions, such as geometric; "
                "without `range` everybody hears everybody"
            )
        places.append(edges.nodes[agent]["position"])
    for a, b in edges.edges:
        if dist(places[a], places[b]) > reach:
            raise ScenarioError(
                f"network.channel.range = {reach:g}: agents {min(a, b)} and {max(a, b)} are neighbours and "
                f"{dist(places[a], places[b]):.4g} apart"
            )
    return [
        [other for other, there in enumerate(places) if other != agent and dist(here, there) <= reach]
        for agent, here in enumerate(places)
    ]


class Radio(MessageCarrier):
    """Carries an engine's messages over the air. Delay, loss and flaws of what the air has carried are the link's."""

    def __init__(
        self,
        engine: VirtualEngine,
        channel: ChannelKind,
        hears: Sequence[Sequence[int]],
        overhead: Callable[[int, int], int],
        streams: Streams,
        *,
        shared: bool,
    ) -> None:
        self.engine, self.channel, self._shared, self._overhead = engine, channel, shared, overhead
        self._air = Air(engine, hears, self._used)
        self._air.stations += [channel.station(self._air, agent, len(hears), streams) for agent in range(len(hears))]

    def carry(self, frame: Frame, messages: Sequence[Message]) -> None:
        """Hand a frame's messages to the sender's station: as one transmission for all, or one for each."""
        engine, now = self.engine, self.engine.now
        for group in [messages] if self._shared and messages else [[message] for message in messages]:
            overhead = max(self._overhead(frame.sender, message.peer) for message in group)
            frames = self.channel.frames(frame.size, overhead)
            station = self._air.stations[frame.sender]
            # What one transmission carries to all is counted with the first message, what never leaves is not.
            rest = [0] * (len(group) - 1)
            offered = sum(frames)
            engine.bus.sent(now, frame.kind.label, group, [0 if station.full else offered, *rest], [offered, *rest])
            job = _Delivery(engine, group, frames, answer=self.channel.answers and not self._shared)
            engine.in_flight += len(group)
            if station.full:
                job.refused()
            else:
                station.offer(job)

    def silence(self, agent: int) -> None:
        """An agent went down, and its station with it."""
        self._air.stations[agent].halt()

    def _used(self, use: Use) -> None:
        self.engine.emit(events.AirUsed(use.sender, round(use.airtime, 9), round(use.heard, 9), round(use.busy, 9)))


class _Delivery(Job):
    """The messages of one frame at the sender's station, until each has met its fate or left the air for its link."""

    def __init__(self, engine: VirtualEngine, messages: Sequence[Message], frames: list[int], *, answer: bool) -> None:
        super().__init__(tuple(message.peer for message in messages), frames, acknowledged=answer)
        self._engine = engine
        self._frame = messages[0].frame
        self._messages = messages
        self._pending = {message.peer: message for message in messages}
        """Messages that have not met their fates here."""
        self._spoilt: dict[int, Reason | None] = {}
        """Receivers that have missed a frame, and why; None: the link lost it."""
        self._got = False
        """The receiver who is to answer has got the present frame already."""
        self._unsent = sum(frames)

    def sent(self, attempt: int, size: int) -> None:
        if attempt == 1:
            self._got = False
            self._unsent -= size
            return
        self._engine.emit(events.MessageRetransmitted(*self._where(self._messages[0]), attempt, size))

    def received(self, target: int) -> bool:
        if self._got:
            return True
        engine, now = self._engine, self._engine.now
        message = self._pending[target]
        if not self.acknowledged or not engine.is_unreachable(message):
            size = self._frame.size
            passage = engine.links[self._frame.sender][target].send(now, size, (now, now, 1, size, 0))
            message.corrupted |= passage.corrupted
            if passage.fate == "delivered":
                self._got = self.acknowledged
                if len(self.frames) == 1 and target not in self._spoilt:
                    engine.carried(self._pending.pop(target), passage)
                return True
        if not self.acknowledged:
            self._spoilt.setdefault(target, None)
        return False

    def missed(self, target: int) -> None:
        if not self.acknowledged:
            self._spoilt.setdefault(target, "collision")

    def over(self, why: End | None) -> None:
        engine = self._engine
        for peer, message in self._pending.items():
            # The bytes of all are counted with the first message, which is pending while some have not left.
            unsent, self._unsent = self._unsent, 0
            if why == "retries" and engine.is_unreachable(message):
                engine.emit(events.MessageUnreachable(*self._where(message), unsent))
            else:
                engine.bus.lost(engine.now, message, why or self._spoilt[peer], unsent)
            engine.landed()

    def refused(self) -> None:
        """Too much waits at the station already."""
        for message in self._messages:
            self._engine.emit(events.MessageOverflowed(*self._where(message)))
            self._engine.landed()

    def _where(self, message: Message) -> tuple[int, int, int, int]:
        return self._frame.sender, self._frame.round, message.peer, message.number
