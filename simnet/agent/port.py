"""An agent's only way to the outside: the engine, virtual or live, supplies one to each agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from simnet.methods.peer import Known, Peer, Proposal
from simnet.record.events import Event
from simnet.vectors import Parts, Vector


def never() -> bool:
    """What an agent waits for that only lets time pass."""
    return False


def ages(round: int, known: Sequence[Known]) -> list[int]:
    """By how many rounds each value is older than the round that uses it."""
    return [round - value.round if value.round < round else 0 for value in known]


class Costly(Protocol):
    """Work that was done, or that is."""

    @property
    def gradients(self) -> int:
        """How many it has cost; who reads this waits until it is known."""


class Port(Protocol):
    """Time, messages and the event stream, as one agent sees them."""

    agent: int
    """The agent's number."""
    neighbours: Sequence[int]
    """The agents it shares a link with, in ascending order."""

    @property
    def now(self) -> float:
        """Seconds since the start."""

    def emit(self, event: Event) -> None:
        """Put an event on the record."""

    async def work(self, peer: Peer, round: int) -> Proposal:
        """See the peer's local work of a round through, and let the time pass that it takes.

        Everyone else's round ends first at the same instant.
        """

    def encode(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        """A payload, and what its receivers will decode from it.

        `accompany` is called once with the model as it will be decoded, and says what else goes into the payload.
        """

    def audience(self, round: int) -> Sequence[int]:
        """The neighbours to whom the agent speaks in a round: all of them, unless the scenario says otherwise."""

    def broadcast(self, round: int, payload: bytes) -> None:
        """Send a value to the round's audience."""

    def seal(self, peer: int, parts: Parts) -> bytes:
        """A payload for one neighbour alone."""

    def post(self, round: int, payloads: Mapping[int, bytes]) -> None:
        """Send each of these neighbours a value of its own."""

    def notify(self, round: int) -> None:
        """Tell the round's audience that nothing comes."""

    async def until(self, ready: Callable[[], bool], deadline: float | None) -> bool:
        """Wait for `ready` to hold, checked at every arrival; False if the deadline came first."""

    def alarm(self, time: float) -> Awaitable[object]:
        """A point in time, to wait for later."""

    async def rendezvous(self) -> None:
        """Wait until every agent waits here and no message is on its way."""

    def relapsed(self) -> bool:
        """Whether the agent has crashed and lost its state since this was last asked."""

    async def ask(self, round: int) -> list[Known]:
        """Ask every neighbour what it last heard from this agent; the answers that come in time.

        The first may take `network.recovery`; once it is here, the others have as long again as it took.
        """

    def used(self, round: int, known: Sequence[Known]) -> None:
        """Put on the record that a round used these values, one of each neighbour in their order."""

    def finished(self, round: int, peer: Peer, outputs: Sequence[Vector]) -> None:
        """Hand the peer's state at the end of a round, and the model of each output, to the evaluation."""
