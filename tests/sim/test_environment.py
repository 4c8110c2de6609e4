"""SimPy's environment with another queue: whatever is scheduled happens in SimPy's order."""

from __future__ import annotations

from math import inf, nextafter

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st
from simpy.core import EmptySchedule
from simpy.events import EventPriority

from simnet import run
from simnet.sim import engine
from simnet.sim.environment import FEW, Environment
from simnet.sim.sim_events import Message
from tests.worlds import TICKS, world

DELAYS = st.sampled_from([0.0, 1.0, 1.0, 2.5, 7.0]) | st.floats(0.0, 10.0)
PLANS = st.lists(st.tuples(DELAYS, st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=4 * FEW)
"""Of each event: its delay, its priority, and how many further events follow from it."""


def happenings(env: simpy.Environment, plans: list[tuple[float, int, int]]) -> list[tuple[float, int]]:
    """When each event happens, in order; an event schedules the next of the plans when it does."""
    found: list[tuple[float, int]] = []
    rest = list(enumerate(plans))

    def plan(number: int, delay: float, priority: int, following: int) -> None:
        def happen(_: simpy.Event) -> None:
            found.append((env.now, number))
            for _ in range(following):
                schedule_next()

        event = simpy.Event(env)
        event.callbacks.append(happen)
        event._ok, event._value = True, None
        env.schedule(event, EventPriority(priority), delay)

    def schedule_next() -> None:
        if rest:
            number, (delay, priority, following) = rest.pop(0)
            plan(number, delay, priority, following)

    for _ in range(1 + len(plans) // 2):
        schedule_next()
    while (due := env.peek()) < inf:
        env.step()
        assert env.now == due
    return found


@given(PLANS)
def test_events_happen_in_simpys_order(plans):
    assert happenings(Environment(), plans) == happenings(simpy.Environment(), plans)


def test_a_crowd_at_one_instant_keeps_its_order():
    plans = [(1.0, 0, 1)] * (10 * FEW) + [(0.5, 0, 0)] * FEW
    assert happenings(Environment(), plans) == happenings(simpy.Environment(), plans)


def test_an_empty_queue_says_so():
    env = Environment(3.0)
    assert env.peek() == inf
    with pytest.raises(EmptySchedule):
        env.step()
    assert env.now == 3.0


def test_a_failure_that_nobody_handles_comes_out():
    env = Environment()
    env.event().fail(ValueError("broken"))
    with pytest.raises(ValueError, match="broken") as caught:
        env.run()
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_run_on_simpys_own_environment_is_the_same_run(monkeypatch):
    """The plain version: SimPy's heap instead of our queue."""
    link = {"latency": {"kind": "uniform", "low": 0.01, "high": 0.3}, "loss": 0.1}
    lossy = world(network={"link": link, "pacing": TICKS})
    quick = run(lossy).digest
    monkeypatch.setattr(engine, "Environment", simpy.Environment)
    monkeypatch.setattr(Message, "_ok", True, raising=False)  # what SimPy's own `step` asks for instead of `ok`
    assert run(lossy).digest == quick


def test_of_two_events_one_float_after_a_crowd_the_one_that_was_scheduled_first_happens_first():
    def order(env: simpy.Environment) -> list[str]:
        found: list[str] = []

        def happen(name: str, delay: float) -> simpy.Event:
            event = env.timeout(delay, name)
            event.callbacks.append(lambda event: found.append(event.value))
            return event

        after = nextafter(1.0, inf)
        crowd = [happen("crowd", 1.0) for _ in range(FEW)]
        happen("first", after)
        crowd[0].callbacks.append(lambda _: happen("second", after - 1.0))
        env.run()
        return found

    assert order(Environment()) == order(simpy.Environment()) == ["crowd"] * FEW + ["first", "second"]
