"""What coroutines and callbacks wait for under SimPy, and the order of things that happen at one instant.

Messages arrive first (so what arrives on a tick counts for that tick), then waiting agents end their rounds, and only
then new work begins (so no agent sees another's next round inside its own). What is to be solved is solved last, when
all who begin a round at this instant have said what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from simpy.events import Event as SimEvent

from simnet.sim.agenda import Agenda

ARRIVAL, ROUND_END, NEW_WORK, SOLVING = 0, 1, 2, 3


class Moment(SimEvent):
    """A point in simulated time that callbacks and coroutines can wait for."""

    _ok = True
    _value = None

    def __init__(self, env: Agenda, time: float, priority: int) -> None:
        self.env = env
        self.callbacks: Any = []
        now = env._now
        env.plan(now + (time - now) if time > now else now, priority, self)

    def __await__(self) -> Generator[SimEvent, Any, Any]:
        return (yield self)


class Signal(SimEvent):
    """Something that somebody else will bring about."""

    def __await__(self) -> Generator[SimEvent, Any, Any]:
        return (yield self)

    def end(self, value: Any) -> None:
        """Let those who wait go on within this very moment, not after what else is due at the instant."""
        self._ok, self._value = True, value
        callbacks, self.callbacks = self.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(self)


def at(env: Agenda, time: float, then: Callable[[], None], priority: int = ARRIVAL) -> None:
    """Call `then` at a point in simulated time."""
    Moment(env, time, priority).callbacks.append(lambda _: then())
