"""What was really sent: every frame of a run, decoded, and what every agent knew when it sent it.

`Tap` is a bus that hands each frame to those who listen on the wire, with its time, its ends and its bytes. Beside the
frames an `Eavesdropper` uses those events that a listener could have written down: which rounds brought a release and
which none, and what the ledger was charged. From these it retraces the duals with shadow agents, which do what the
method prescribes and never see a noise draw. What an agent computed on its data it does not look at.

An agent that loses its state in a crash begins again with what its neighbours tell it. The shadows cannot follow it
there, so nothing is checked then (`retraceable`).

Whatever a message carries beside a model must follow from what was released before (`Peer.accompany`, `Peer.letters`),
and so must a recycled model: the shadows compute it anew, and every difference in a bit is a `Breach`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from simnet.agent.neighbourhood import Neighbourhood
from simnet.build import World, build_writer
from simnet.errors import FrameError
from simnet.methods.peer import Known, Peer
from simnet.network.frame import Frame, Kind
from simnet.network.payloads import Partial
from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import HUB
from simnet.record import events
from simnet.record.bus import Bus, Carries, Subscriber
from simnet.record.lines import unpack
from simnet.scenario import Scenario
from simnet.vectors import Parts, Vector


@dataclass(frozen=True)
class Round:
    """One round of an agent: what it sent, None if nothing, why not, and what it knew at the end of the round.

    The hub of a star acts at the end of its round: `known` is then what it acted upon.
    """

    t: int
    sent: Parts | None
    skipped: str | None
    known: tuple[Known, ...]


@dataclass(frozen=True)
class Breach:
    """Something that no honest agent does, whatever it draws: the kind of check that found it, and a sentence."""

    check: str
    sentence: str


class Ear(Protocol):
    """A subscriber that listens on the wire, too."""

    def __call__(self, seq: int, t: float, event: events.Event, /) -> None:
        """An event was told."""

    def sent(self, now: float, frame: Frame, peer: int) -> None:
        """A frame leaves for one of its receivers."""

    def delivered(self, frame: Frame, peer: int) -> None:
        """A frame reaches its receiver."""


class Tap(Bus):
    """A bus whose listeners on the wire are handed every frame that is sent and every frame that arrives."""

    def __init__(self, ears: Sequence[Ear], *subscribers: Subscriber) -> None:
        super().__init__(*ears, *subscribers)
        self._ears = ears

    def sent(self, now: float, carries: Carries, messages: Sequence[Any], *sizes: Sequence[int]) -> None:
        super().sent(now, carries, messages, *sizes)
        for ear in self._ears:
            for message in messages:
                ear.sent(now, message.frame, message.peer)

    def delivered(self, now: float, message: Any) -> None:
        super().delivered(now, message)
        for ear in self._ears:
            ear.delivered(message.frame, message.peer)


class Eavesdropper:
    """Listens to the links of the agents in `heard`, and retraces all agents of `shadows`.

    A neighbour that is not heard is taken to agree with the victim: all models tend to the same one. `trusted` are the
    agents that are not checked: an adversary keeps to no method.
    """

    kinds = (events.ValueUsed, events.ReleaseMade, events.BroadcastSkipped, events.DualUpdated, events.PrivacySpent)

    def __init__(
        self,
        world: World,
        victim: int,
        shadows: dict[int, Peer],
        heard: frozenset[int],
        trusted: frozenset[int] = frozenset(),
    ) -> None:
        aligned, initial = world.scenario.network.pacing.aligned, shadows[victim].initial()
        self._victim = victim
        self._heard = heard
        self._shadows = shadows
        self._checked = shadows.keys() - trusted
        self._neighbours = {agent: sorted(world.graph[agent]) for agent in shadows}
        self._rooms = {agent: Neighbourhood(self._neighbours[agent], initial, aligned=aligned) for agent in shadows}
        self._writer = build_writer(world.scenario, victim)
        self._exactness = _exactness(world)
        self._due: dict[tuple[int, int], Parts | dict[int, Parts]] = {}
        self._told: dict[int, Parts] = {}
        self._seen: dict[int, bytes] = {}
        self._sent: dict[int, Parts | None] = dict.fromkeys(shadows)
        self._skipped: dict[int, str | None] = dict.fromkeys(shadows)
        self._paid: dict[tuple[int, int], list[Charge]] = {}
        plans = {agent: world.calibration.plans[agent] for agent in shadows}
        self._ahead = {
            agent: [] if plan is None else [charge for charge in plan.opening if charge.kind == "test"]
            for agent, plan in plans.items()
        }
        self._gathered: tuple[int, tuple[Known, ...]] = (0, ())
        self._last: tuple[bytes, Parts] = (b"", ())
        self._traffic: list[tuple[float, int, int, int, int, int]] = []
        self._timed = not (world.scenario.compute.per_gradient or world.scenario.compute.per_row_gradient)
        self.runs: dict[int, list[Round]] = {agent: [] for agent in shadows}
        """The rounds of every agent."""
        self.charges: list[Charge] = []
        """What the victim's ledger was charged."""
        self.breaches: list[Breach] = []

    @property
    def rounds(self) -> list[Round]:
        """The rounds of the victim."""
        return self.runs[self._victim]

    @property
    def releases(self) -> int:
        """How often the victim has sent a model."""
        return sum(each.sent is not None for each in self.rounds)

    @property
    def traffic(self) -> str:
        """A digest of who sent how many bytes to whom, and when (unless work takes time by its gradients)."""
        frames = self._traffic if self._timed else sorted(each[1:] for each in self._traffic)
        return hashlib.sha256(repr(frames).encode()).hexdigest()

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        match event:
            case events.ValueUsed():
                self._gathering(event.agent, event.round)
            case events.ReleaseMade() if event.agent in self._shadows:
                self._released(event.agent, event.round, unpack(event.value))
            case events.BroadcastSkipped() if event.agent in self._shadows:
                self._sent[event.agent], self._skipped[event.agent] = None, event.reason
                self._rooms[event.agent].enter(event.round)
            case events.DualUpdated() if event.agent in self._shadows:
                self._ended(event.agent, event.round)
            case events.PrivacySpent():
                charge = Charge.of(event.mechanism, event.parameters, event.spent_on, event.times)
                self._paid.setdefault((event.agent, event.round), []).append(charge)
                if event.agent == self._victim:
                    self.charges.append(charge)

    def sent(self, now: float, frame: Frame, peer: int) -> None:
        """A frame leaves for one of its receivers."""
        self._traffic.append((round(now, 9), frame.sender, peer, int(frame.kind), frame.round, frame.size))
        agent, t = frame.sender, frame.round
        if frame.kind in (Kind.NOTICE, Kind.ACK, Kind.REQUEST) and frame.payload and agent in self._checked:
            self._breach("payload", agent, t, f"a {frame.kind.label} carries {len(frame.payload)} bytes")
        if frame.kind is not Kind.VALUE or agent not in self._shadows:
            return
        try:
            parts = self._decoded(frame.payload)
        except FrameError as error:
            self._breach("payload", agent, t, f"what it sends cannot be decoded: {error}")
            return
        due = self._due.get((agent, t))
        if due is None:
            self._breach("payload", agent, t, "a value is sent that was never released")
        elif isinstance(due, dict):
            self._compare(agent, t, parts, due[peer], self._exactness[0])
        elif frame.payload is not self._seen.get(agent):
            self._seen[agent] = frame.payload
            whole = parts.onto(self._told.get(agent, ())) if isinstance(parts, Partial) else parts
            self._compare(agent, t, whole[:1], due[:1], np.dtype("<f8"))
            self._compare(agent, t, whole[1:], due[1:], self._exactness[1], parts[1:])
            self._told[agent] = whole
            if self._sent[agent] is due:
                self._sent[agent] = whole

    def delivered(self, frame: Frame, peer: int) -> None:
        """A frame reaches its receiver."""
        if peer not in self._shadows or frame.kind not in (Kind.VALUE, Kind.NOTICE):
            return
        parts: Parts | None = None
        if frame.sender not in self._heard:
            parts = (self._shadows[self._victim].theta,)
        elif frame.kind is Kind.VALUE:
            parts = self._decoded(frame.payload)
        self._rooms[peer].hear(frame.sender, frame.round, parts)

    def _decoded(self, payload: bytes) -> Parts:
        if payload is not self._last[0]:
            self._last = payload, self._writer.decode(payload)
        return self._last[1]

    def _released(self, agent: int, t: int, model: Vector) -> None:
        shadow, room = self._shadows[agent], self._rooms[agent]
        self._check_release(agent, t, model)
        letters = shadow.letters(model, self._neighbours[agent])
        if letters is not None:
            self._due[agent, t] = dict(letters)
            self._sent[agent] = (model,)
        else:
            self._due[agent, t] = self._sent[agent] = (model, *shadow.accompany(t, model, room.known))
        self._skipped[agent] = None
        room.enter(t)

    def _check_release(self, agent: int, t: int, model: Vector) -> None:
        shadow = self._shadows[agent]
        owed, paid = shadow.price(t), [c for c in self._paid.get((agent, t), ()) if c.kind == "release"]
        if owed is not None and [c.use for c in paid] != [c.use for c in owed]:
            told = ", ".join(charge.mechanism for charge in paid) or "nothing"
            self._breach("ledger", agent, t, f"a release is paid with {told}, and not with what it costs")
        ahead = [c for (who, _), charges in self._paid.items() if who == agent for c in charges if c.kind == "test"]
        if ahead != self._ahead[agent] and (ahead or shadow.asks(t)):
            self._breach("ledger", agent, t, "what its test may cost is not what was paid in advance")
        recycled = shadow.recycled(t)
        if recycled is not None and self._exactness[1].itemsize == 8 and recycled.tobytes() != model.tobytes():
            self._breach("payload", agent, t, "a recycled model is not what earlier releases make it")

    def _compare(
        self,
        agent: int,
        t: int,
        found: Parts,
        due: Parts,
        exactness: np.dtype[Any] | None,
        said: Parts | None = None,
    ) -> None:
        """Whether vectors are, bit by bit, what they should be; of a payload with gaps, only what it says."""
        if exactness is None:
            return
        told = [~np.isnan(part) for part in (found if said is None else said)]
        same = len(found) == len(due) and all(
            len(a) == len(b) and _bits(a[here], exactness) == _bits(b[here], exactness)
            for a, b, here in zip(found, due, told, strict=True)
        )
        if not same:
            self._breach("payload", agent, t, "a message carries something that does not follow from earlier releases")

    def _breach(self, check: str, agent: int, t: int, sentence: str) -> None:
        if agent in self._checked:
            self.breaches.append(Breach(check, f"agent {agent} in round {t}: {sentence}"))

    def _gathering(self, agent: int, t: int) -> None:
        """A hub that waits for its leaves reads their gradients before it acts, everybody else only after it."""
        hub = self._shadows.get(agent)
        if hub is not None and hub.role == "hub" and self._gathered[0] < t:
            self._rooms[agent].enter(t)
            self._gathered = t, tuple(self._rooms[agent].read())

    def _ended(self, agent: int, t: int) -> None:
        known = tuple(self._rooms[agent].read())
        if self._gathered[0] == t and agent == HUB:
            known = self._gathered[1]
        sent = self._sent[agent]
        self._shadows[agent].absorb(t, sent, known)
        self.runs[agent].append(Round(t, sent, self._skipped[agent], known))


def retraceable(scenario: Scenario) -> bool:
    """Whether shadows can follow every agent to the end."""
    return not any(fault.loses_state for fault in scenario.fault)


def shows_noise(scenario: Scenario) -> bool:
    """Whether noise can be recovered from what is sent: a coarse codec hides it, at no price and to no avail."""
    return scenario.network.codec.shows_noise and retraceable(scenario)


def _bits(vector: Vector, exactness: np.dtype[Any]) -> bytes:
    with np.errstate(over="ignore"):
        return vector.astype(exactness).tobytes()


def _exactness(world: World) -> tuple[np.dtype[Any] | None, np.dtype[Any]]:
    """With how many bits letters are written, None where rounding is random; and what goes with a model."""
    codec = world.scenario.network.coding
    return None if codec.floats is None else np.dtype(codec.floats), np.dtype(codec.company)
