"""What happens in SimPy's time: signals and meetings that agents wait for, messages, and the order at one instant.

SimPy orders events by time, then by priority, then by the order in which they were scheduled. Messages arrive first (so
what arrives on a tick counts for that tick), then waiting agents end their rounds, and only then new work begins (so no
agent sees another's next round inside its own). What is to be solved is solved last, when all who begin a round at this
instant have said what it is. What follows from an event without delay comes before everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, ClassVar, TypeAlias

import msgspec
import simpy
from simpy.events import EventPriority

from simnet.errors import FrameError, SimnetError
from simnet.network import frame
from simnet.vectors import Parts

AT_ONCE, ARRIVAL, ROUND_END, NEW_WORK, SOLVING = (EventPriority(priority) for priority in range(-1, 4))


class Signal(simpy.Event):
    """A SimPy event that a coroutine can await and that can have any priority.

    Somebody else brings it about. After `succeed` who waits goes on with what else ends a round now; after `end` next,
    before anything else. With a `delay` it is a `simpy.Timeout` with a priority: triggered from the start, and
    processed after the delay.
    Like SimPy's own events it sets its outcome, `_ok` and `_value`, itself; nothing else here touches them.
    """

    def __init__(self, env: simpy.Environment, delay: float | None = None, priority: EventPriority = ROUND_END) -> None:
        self.env = env
        self.callbacks = []
        if delay is not None:
            self._ok, self._value = True, None
            env.schedule(self, priority, delay)

    def __await__(self) -> Generator[simpy.Event, Any, Any]:
        return (yield self)

    def end(self, value: object) -> None:
        """Happen next, before anything else that is due now."""
        self._ok, self._value = True, value
        self.env.schedule(self, AT_ONCE)


Callbacks: TypeAlias = "tuple[Callable[[Message], None], ...]"


class Message(msgspec.Struct):
    """A frame on its way to one receiver, and an event: the end of that way.

    The environment asks of an event that it has `callbacks`, which are called in turn and then taken away, and that it
    is `ok`. A message has that and no more, because a large network has a million of them. Nobody can wait for a
    message, so its callbacks are a tuple, which all messages with the same end share.
    """

    callbacks: Callbacks
    frame: frame.Frame
    parts: Parts | None
    """what the payload says, if the sender has decoded it"""
    peer: int
    number: int
    corrupted: bool = False
    """its checksum fails when it arrives"""
    ok: ClassVar[bool] = True

    def refuse(self) -> None:
        """Open the frame with a flipped bit, as its receiver would; its checksum must give it away."""
        damaged = bytearray(self.frame.raw)
        place = self.number % (8 * len(damaged))
        damaged[place // 8] ^= 1 << place % 8
        try:
            frame.decode(bytes(damaged))
        except FrameError:
            return
        raise SimnetError("a damaged frame passed its checksum")


class Meeting:
    """The oracle of ideal pacing: agents wait here until all who are up have come and nothing is on its way.

    An agent that has missed meetings while it was down passes as many at once; the others wait until it is back.
    `quiet` says whether nothing is on its way, `up` who can come.
    """

    def __init__(
        self, signal: Callable[[], Signal], agents: int, quiet: Callable[[], bool], up: Callable[[int], bool]
    ) -> None:
        self._signal = signal
        self._quiet, self._up = quiet, up
        self._expected = agents
        self._there: dict[int, Signal] = {}
        self._held = 0
        self._visits = [0] * agents

    def join(self, agent: int) -> Signal:
        """An agent has come; what it waits for."""
        signal = self._signal()
        self._visits[agent] += 1
        if self._visits[agent] <= self._held:
            signal.succeed()
            return signal
        self._there[agent] = signal
        self.hold()
        return signal

    def expect(self, change: int) -> None:
        """So many more (or fewer) agents come from now on."""
        self._expected += change
        self.hold()

    def rejoin(self, agent: int) -> None:
        """An agent is up again; a meeting that it waited for and that was held without it is over."""
        if agent in self._there and self._visits[agent] <= self._held:
            self._there.pop(agent).succeed()
        self.expect(+1)

    def hold(self) -> None:
        """Let the meeting happen if everybody is there."""
        if not self._there or len(self._there) < self._expected or not self._quiet():
            return
        present = [agent for agent in self._there if self._up(agent)]
        if present and len(present) == self._expected:
            self._held += 1
            for agent in present:
                self._there.pop(agent).succeed()
