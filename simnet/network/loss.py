"""Loss on the wire: which messages never arrive.

A loss gives each link a sampler, `lost(packets) -> bool`, which is called once per message in the order of sending.
The k-th call uses the k-th row of the link's stream `loss` and nothing else, whatever became of the messages before: a
changed probability changes no other draw. A message of several packets is lost when one of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from simnet.errors import ScenarioError
from simnet.network.draws import one_by_one, uniform
from simnet.network.measured_times import read_text
from simnet.parts.fields import FileName, Finder, Number, Probability
from simnet.parts.part import OneOf, Part, table
from simnet.streams import Streams

Sampler = Callable[[int], bool]
Matrix = npt.NDArray[np.float64]


class PacketLoss(Part):
    """Which packets are lost. One of your own implements `fates`."""

    says: ClassVar[tuple[str, ...]] = ("fates", "sampler")

    @property
    def independent(self) -> float | None:
        """The probability with which every packet is lost, if none depends on another; None if they do."""
        return None

    @property
    def leaves_out(self) -> str | None:
        """What real losses have and these have not."""
        return None

    def read(self, find: Finder) -> PacketLoss:
        """The same with the file that it names in memory."""
        return self

    def fates(self, rng: np.random.Generator) -> Iterator[bool]:
        """The fates of the packets of one link, without end: True for a lost one."""
        raise NotImplementedError

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        """The sampler of the link `name`; None if it never loses anything."""
        fates = self.fates(streams.generator("loss", name))

        def lost(packets: int) -> bool:
            met = list(islice(fates, packets))
            if len(met) < packets:
                raise ScenarioError(f"network.link.loss.kind = {self.word!r}: fates has no end, and this one ended")
            return any(met)

        return lost


class NoLoss(PacketLoss):
    """Every message arrives."""

    kind: Literal["none"]

    @property
    def independent(self) -> float:
        return 0.0

    @property
    def leaves_out(self) -> str | None:
        return "none on the way; only a full queue or a fault loses a message"

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        return None


class Bernoulli(PacketLoss):
    """Each packet is lost with the same probability, independently.

    The k-th message compares the same uniform with its threshold 1 − (1 − p)^packets for every p: of two runs of one
    seed, the one with the greater p loses every message that the other loses, and perhaps more.
    """

    kind: Literal["bernoulli"]
    p: Probability = Field(description="probability that a packet is lost")

    @property
    def independent(self) -> float:
        return self.p

    @property
    def leaves_out(self) -> str | None:
        return "every packet by itself: no bursts"

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        p = self.p
        if p == 0:
            return None
        uniforms = one_by_one(streams, "loss", name, uniform)
        return lambda packets: next(uniforms) < (p if packets == 1 else 1 - (1 - p) ** packets)


class Bursts(PacketLoss):
    """Losses come in bursts: everything is lost while the link is bad, nothing while it is good.

    A burst is a run of lost packets. This is the chain of `GilbertElliott` that loses everything when bad and nothing
    when good: it is bad for the share `rate` of all packets, and stays bad for `length` packets on average.
    """

    kind: Literal["bursts"]
    rate: Probability = Field(description="share of packets lost in the long run")
    length: Annotated[float, BeforeValidator(Number("a number of at least 1", 1))] = Field(
        description="mean length of a run of lost packets"
    )

    @model_validator(mode="after")
    def _possible(self) -> Bursts:
        if self.rate > self.length / (self.length + 1):
            raise ValueError("rate: at most length/(length + 1), for a packet gets through between two bursts")
        return self

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        good_to_bad = min(1.0, self.rate / (self.length * (1 - self.rate))) if self.rate < 1 else 1.0
        chain = GilbertElliott(kind="gilbert-elliott", p_good_to_bad=good_to_bad, p_bad_to_good=1 / self.length)
        return chain.sampler(streams, name)


class GilbertElliott(PacketLoss):
    """A good and a bad state, changing from packet to packet, with a loss probability each.

    A Markov chain takes one step per packet: Gilbert 1960 (loss_good = 0) and Elliott 1963. The first packet meets the
    stationary chain.
    """

    kind: Literal["gilbert-elliott"]
    p_good_to_bad: Probability = Field(description="probability of turning bad before a packet")
    p_bad_to_good: Probability = Field(description="probability of turning good before a packet")
    loss_good: Probability = Field(0.0, description="loss probability in the good state")
    loss_bad: Probability = Field(1.0, description="loss probability in the bad state")

    @model_validator(mode="after")
    def _changes(self) -> GilbertElliott:
        if self.p_good_to_bad + self.p_bad_to_good == 0:
            raise ValueError("p_good_to_bad: above 0 if p_bad_to_good is 0, or the state never changes")
        return self

    @property
    def bad(self) -> float:
        """The share of packets that meet the bad state."""
        return self.p_good_to_bad / (self.p_good_to_bad + self.p_bad_to_good)

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        ever = (1 - self.bad) * self.loss_good + self.bad * self.loss_bad > 0
        return _ChainSampler(self, streams, name) if ever else None


class _ChainSampler:
    """The state of the chain on one link.

    A message uses two uniforms however many packets it has. The first gives the state at its last packet, by the n-step
    transition matrix; the second the fate, by the probability that no packet was lost on the way between the states.
    So the states do not depend on the loss probabilities.
    """

    __slots__ = ("_model", "_state", "_tables", "_uniforms")

    def __init__(self, model: GilbertElliott, streams: Streams, name: str) -> None:
        self._model = model
        self._uniforms = one_by_one(streams, "loss", name, uniform)
        self._state = 2  # not known yet: the stationary mixture of 0 (good) and 1 (bad)
        self._tables: dict[int, list[tuple[float, float, float]]] = {}

    def __call__(self, packets: int) -> bool:
        table = self._tables.get(packets)
        if table is None:
            table = self._tables[packets] = _chances(self._model, packets)
        to_bad, lost_if_good, lost_if_bad = table[self._state]
        if next(self._uniforms) < to_bad:
            self._state = 1
            return next(self._uniforms) < lost_if_bad
        self._state = 0
        return next(self._uniforms) < lost_if_good


def _chances(model: GilbertElliott, packets: int) -> list[tuple[float, float, float]]:
    """For each state before (good, bad, unknown): P(ends bad), P(lost | ends good), P(lost | ends bad)."""
    step: Matrix = np.array(
        [
            [1 - model.p_good_to_bad, model.p_good_to_bad],
            [model.p_bad_to_good, 1 - model.p_bad_to_good],
        ]
    )
    start: Matrix = np.array([[1.0, 0.0], [0.0, 1.0], [1 - model.bad, model.bad]])
    reach = start @ np.linalg.matrix_power(step, packets)
    survive = start @ np.linalg.matrix_power(step * [1 - model.loss_good, 1 - model.loss_bad], packets)
    # Where the end state cannot be reached its loss is never asked for; 0 stands in.
    lost = np.divide(reach - survive, reach, out=np.zeros_like(reach), where=reach > 0)
    return [(reach[s, 1].item(), lost[s, 0].item(), lost[s, 1].item()) for s in range(3)]


class Trace(PacketLoss):
    """A recorded sequence of fates, taken again from the start when it ends."""

    kind: Literal["trace"]
    file: FileName = Field(description="text file of 0 (delivered) and 1 (lost), looked up beside the scenario first")

    _fates: tuple[bool, ...] = PrivateAttr(())

    def read(self, find: Finder) -> Trace:
        found = self.model_copy()
        found._fates = _recorded(find(self.file))
        return found

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        assert self._fates, "its file has been read"
        fates = cycle(self._fates)
        return (lambda packets: any(list(islice(fates, packets)))) if any(self._fates) else None


PACKET_LOSSES = table(NoLoss, Bernoulli, Bursts, GilbertElliott, Trace)


def _bare_probability(value: object) -> object:
    """A bare number, or a percentage, stands for a Bernoulli loss."""
    percentage = isinstance(value, str) and value.endswith("%")
    if percentage or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return {"kind": "bernoulli", "p": value}
    return {"kind": value} if isinstance(value, str) else value


AnyLoss = Annotated[PacketLoss, OneOf(PACKET_LOSSES, _bare_probability)]
NO_LOSS = NoLoss(kind="none")


def _recorded(path: Path) -> tuple[bool, ...]:
    """A trace from a text file of 0s and 1s, True for lost; blanks, commas and line ends between them do not matter."""
    text = read_text(path, f"loss.file = {path}")
    entries = "".join(text.replace(",", " ").split())
    strange = next((entry for entry in entries if entry not in "01"), None)
    if strange is not None or not entries:
        found = "is empty" if strange is None else f"holds {strange!r}"
        raise ScenarioError(f"loss.file = {path}: {found}, a trace is made of 0 (delivered) and 1 (lost)")
    return tuple(entry == "1" for entry in entries)
