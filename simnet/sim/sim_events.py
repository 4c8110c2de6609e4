"""What agents wait for under SimPy, and the order of things that happen at one instant.

SimPy orders events by time, then by priority, then by the order in which they were scheduled. Messages arrive first (so
what arrives on a tick counts for that tick), then waiting agents end their rounds, and only then new work begins (so no
agent sees another's next round inside its own). What is to be solved is solved last, when all who begin a round at this
instant have said what it is. What follows from an event without delay comes before everything else.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

import simpy
from simpy.events import EventPriority

AT_ONCE, ARRIVAL, ROUND_END, NEW_WORK, SOLVING = (EventPriority(priority) for priority in range(-1, 4))


class Waiting(Protocol):
    """Something that an agent waits for and that somebody else brings about."""

    def __await__(self) -> Generator[Any, Any, Any]: ...

    def succeed(self, value: Any = None) -> object:
        """Let who waits go on after what else ends a round now."""
        ...

    def end(self, value: Any) -> None:
        """Let who waits go on next, before anything else."""
        ...


class Signal(simpy.Event):
    """A SimPy event that a coroutine can await and that can have any priority.

    With a `delay` it is a `simpy.Timeout` with a priority: triggered from the start, and processed after the delay.
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

    def end(self, value: Any) -> None:
        """Happen next, before anything else that is due now."""
        self._ok, self._value = True, value
        self.env.schedule(self, AT_ONCE)
