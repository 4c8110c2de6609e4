"""What an engine, its ports, its transport and its faults see of each other.

`simnet.sim.engine` is the engine of every run. `tests/sim/reference_engine.py` is another one, as plain as can be,
whose runs have the same digests. Both fit here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from simpy.events import EventPriority

    from simnet.learning.evaluation import Scoreboard
    from simnet.methods.peer import Proposal, Work
    from simnet.network.frame import Frame, Kind
    from simnet.network.link import Link, Passage
    from simnet.network.queueing import Inbox
    from simnet.record.bus import Bus
    from simnet.record.events import Event
    from simnet.sim.meeting import Meeting
    from simnet.sim.message import Message
    from simnet.sim.sim_events import Waiting
    from simnet.vectors import Parts, Vector


class Receiver(Protocol):
    """One agent as the engine and its faults see it."""

    agent: int
    inbox: Inbox | None
    down: int
    """how many faults keep it down"""
    done: bool
    """all rounds are finished"""
    gone: bool
    """down for good"""
    slowness: float
    """how many times longer its work takes"""

    def fall(self, *, lost: bool) -> None:
        """One reason more to be down."""
        ...

    def rise(self) -> None:
        """One reason less to be down."""
        ...

    def receive(self, frame: Frame, parts: Parts | None) -> None:
        """Take in a frame that has passed its checks; `parts` is what its payload says, if that is known already."""
        ...


class Transport(Protocol):
    """What sees a message through that is not simply sent once."""

    def begin(self, message: Message, passage: Passage) -> None:
        """See a new message through, whose first transmission is this passage."""
        ...

    def acknowledged(self, sender: int, peer: int, round: int) -> None:
        """An acknowledgement of `sender`'s message has come back from `peer`."""
        ...


class Engine(Protocol):
    """Time and messages for all agents."""

    links: Mapping[int, Mapping[int, Link]]
    """by sender and receiver"""
    ports: dict[int, Receiver]
    cut: dict[tuple[int, int], int]
    """directions that carry nothing now, with the number of reasons"""
    transport: Transport | None
    bus: Bus
    meeting: Meeting
    scoreboard: Scoreboard

    @property
    def now(self) -> float:
        """Simulated seconds since the start."""
        ...

    def emit(self, event: Event) -> None:
        """Put an event on the record, now."""
        ...

    def at(self, time: float, then: Callable[[], None], priority: EventPriority = ...) -> None:
        """Call `then` at a point in simulated time; not if all agents have finished before."""
        ...

    def timer(self, time: float, priority: EventPriority) -> Awaitable[Any]:
        """A point in simulated time, to wait for."""
        ...

    def signal(self) -> Waiting:
        """Something to wait for that somebody else brings about."""
        ...

    def solve(self, work: Work) -> Awaitable[Proposal]:
        """The outcome of an agent's local work, to wait for; it takes no simulated time."""
        ...

    def send(
        self,
        sender: int,
        peers: Sequence[int],
        round: int,
        kind: Kind,
        payload: bytes,
        parts: Parts | None = None,
    ) -> None:
        """Hand one frame to the link of each peer; `parts` is what the payload says, if the sender has decoded it."""
        ...

    def is_unreachable(self, message: Message) -> bool:
        """Whether nothing gets through to the receiver now: it is down, or the way to it is cut."""
        ...

    def is_cut(self, message: Message) -> bool:
        """Whether nothing gets through between sender and receiver now."""
        ...

    def launched(self) -> None:
        """A message is on its way."""
        ...

    def landed(self) -> None:
        """A message has met its fate, and its receiver, if it has reached one, has taken it in."""
        ...

    def note(self, agent: int, round: int, theta: Vector, dual: Vector) -> None:
        """Take down an agent's state at the end of a round, and evaluate the rounds that it completes."""
        ...

    def retire(self) -> None:
        """An agent has finished its last round, or will never come back."""
        ...
