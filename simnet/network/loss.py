"""Loss on the wire: which messages never arrive.

A model gives each link a sampler, `lost(packets) -> bool`, called once a message in the order of sending. The k-th
call uses the k-th row of the link's stream `loss` and nothing else, whatever became of the messages before: a changed
probability changes no other draw. A message of several packets is lost when one of them is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simnet.errors import ScenarioError
from simnet.network.checks import probability
from simnet.network.draws import Source, one_by_one, uniform
from simnet.streams import Streams

Sampler = Callable[[int], bool]
Matrix = npt.NDArray[np.float64]


class Loss(Protocol):
    """What a link asks of a loss model."""

    @property
    def rate(self) -> float:
        """The share of packets lost in the long run."""

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        """The sampler of the link `name`; None if it never loses anything."""


@dataclass(frozen=True)
class NoLoss:
    """Every message arrives."""

    @property
    def rate(self) -> float:
        return 0.0

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        return None


@dataclass(frozen=True)
class Bernoulli:
    """Each packet is lost with probability `p`, independently of all others.

    The k-th message compares the same uniform with its threshold 1 − (1 − p)^packets for every p: of two runs of one
    seed, the one with the greater p loses every message that the other loses, and perhaps more.
    """

    p: float

    def __post_init__(self) -> None:
        probability("loss.p", self.p)

    @property
    def rate(self) -> float:
        return self.p

    def draw(self, rng: Source, n: int) -> npt.NDArray[np.bool_]:
        """The fates of `n` messages of one packet each: True is lost."""
        return uniform(rng, n) < self.p

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        if self.p == 0:
            return None
        uniforms = one_by_one(streams, "loss", name, uniform)
        return lambda packets: next(uniforms) < (self.p if packets == 1 else 1 - (1 - self.p) ** packets)


@dataclass(frozen=True)
class GilbertElliott:
    """Bursts: a two-state Markov chain, one step a packet, with a loss probability in each state.

    Gilbert 1960 (loss_good = 0) and Elliott 1963. The first packet meets the stationary chain.
    """

    p_good_to_bad: float
    p_bad_to_good: float
    loss_good: float = 0.0
    loss_bad: float = 1.0

    def __post_init__(self) -> None:
        for name in ("p_good_to_bad", "p_bad_to_good", "loss_good", "loss_bad"):
            probability(f"loss.{name}", getattr(self, name))
        if self.p_good_to_bad + self.p_bad_to_good == 0:
            raise ScenarioError(
                "loss.p_good_to_bad = 0 and loss.p_bad_to_good = 0: one must be greater, or the state never changes"
            )

    @classmethod
    def from_bursts(cls, rate: float, burst: float) -> GilbertElliott:
        """The chain that loses everything when bad and nothing when good, from the mean loss rate and burst length.

        A burst is a run of lost packets; it lasts 1/p_bad_to_good packets on average, and the chain is bad for the
        share p_good_to_bad/(p_good_to_bad + p_bad_to_good) of all packets.
        """
        probability("loss.rate", rate)
        if not 1 <= burst < np.inf:
            raise ScenarioError(f"loss.burst = {burst}: a burst is at least 1 packet long")
        if rate > burst / (burst + 1):
            raise ScenarioError(
                f"loss.rate = {rate}: with bursts of {burst} packets at most {burst / (burst + 1):.4g} can be lost, "
                "because a packet gets through between two bursts"
            )
        return cls(p_good_to_bad=min(1.0, rate / (burst * (1 - rate))), p_bad_to_good=1 / burst)

    @property
    def bad(self) -> float:
        """The share of packets that meet the bad state."""
        return self.p_good_to_bad / (self.p_good_to_bad + self.p_bad_to_good)

    @property
    def rate(self) -> float:
        return (1 - self.bad) * self.loss_good + self.bad * self.loss_bad

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        return _BurstSampler(self, streams, name) if self.rate > 0 else None


class _BurstSampler:
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


@dataclass(frozen=True)
class Trace:
    """A recorded sequence, one entry a packet, True (1) for lost, taken again from the start when it ends."""

    losses: tuple[bool, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.losses:
            raise ScenarioError("loss.losses is empty: give at least one entry, 0 for delivered or 1 for lost")

    @classmethod
    def read(cls, path: str | Path) -> Trace:
        """A trace from a text file of 0s and 1s; blanks, commas and line ends between them do not matter."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"loss.file = {path}: cannot be read ({error})") from error
        entries = "".join(text.replace(",", " ").split())
        strange = next((entry for entry in entries if entry not in "01"), None)
        if strange is not None or not entries:
            found = "is empty" if strange is None else f"holds {strange!r}"
            raise ScenarioError(f"loss.file = {path}: {found}, a trace is made of 0 (delivered) and 1 (lost)")
        return cls(tuple(entry == "1" for entry in entries))

    @property
    def rate(self) -> float:
        return sum(self.losses) / len(self.losses)

    def sampler(self, streams: Streams, name: str) -> Sampler | None:
        return _TraceSampler(self.losses) if any(self.losses) else None


class _TraceSampler:
    """The place in the trace that one link has reached."""

    __slots__ = ("_losses", "_place")

    def __init__(self, losses: tuple[bool, ...]) -> None:
        self._losses = losses
        self._place = 0

    def __call__(self, packets: int) -> bool:
        losses, place = self._losses, self._place
        self._place = (place + packets) % len(losses)
        return any(losses[(place + k) % len(losses)] for k in range(packets))
