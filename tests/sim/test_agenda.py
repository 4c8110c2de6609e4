from __future__ import annotations

from heapq import heappush

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st
from simpy.core import EmptySchedule

from simnet.sim import agenda
from simnet.sim.agenda import Agenda

delays = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0]) | st.floats(0, 10)
plans = st.lists(st.tuples(delays, st.integers(0, 3)), max_size=6)
stories = st.lists(plans, min_size=1, max_size=60)
"""What is planned at first and at each event: how much later, and with which priority."""


def played(env, plan, stories) -> list[tuple[float, int]]:
    """Times and numbers of the events of an environment, each of which plans some more."""
    log, numbers, left = [], iter(range(10**6)), iter(stories)

    def go_on():
        for delay, priority in next(left, ()):
            event = simpy.Event(env)
            event._ok, event._value = True, next(numbers)
            event.callbacks.append(happen)
            plan(env.now + delay, priority, event)

    def happen(event):
        log.append((env.now, event.value))
        go_on()

    go_on()
    env.run()
    return log


@given(stories, st.integers(1, 5), st.integers(1, 4))
def test_events_happen_in_the_order_of_a_heap(stories, few, share):
    heap = simpy.Environment()

    def push(time, priority, event):
        heappush(heap._queue, (time, priority, next(heap._eid), event))

    expected = played(heap, push, stories)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agenda, "FEW", few)
        patch.setattr(agenda, "SHARE", share)
        env = Agenda()
        assert played(env, env.plan, stories) == expected


@given(stories)
def test_what_simpy_schedules_itself_keeps_its_place(stories):
    def by_delay(env):
        return lambda time, priority, event: env.schedule(event, priority, time - env.now)

    plain, env = simpy.Environment(), Agenda()
    assert played(env, by_delay(env), stories) == played(plain, by_delay(plain), stories)


def test_processes_run_as_they_do_in_simpy():
    def story(env):
        log = []

        def clock(name, tick):
            for _ in range(50):
                log.append((name, env.now))
                yield env.timeout(tick)

        for k in range(40):
            env.process(clock(k, 0.1 + k / 7))
        env.run(until=5.0)
        return log, env.peek()

    assert story(Agenda()) == story(simpy.Environment())


def test_an_empty_agenda_has_no_next_event():
    env = Agenda()
    assert env.peek() == float("inf")
    with pytest.raises(EmptySchedule):
        env.step()


def test_few_of_many_events_wait_in_the_heap():
    """A hundred senders, each with a delay of its own, as a network without a common clock has them."""
    env = Agenda()
    longest = 0

    def send(wait):
        nonlocal longest
        for _ in range(20):
            yield env.timeout(wait)
            longest = max(longest, len(env.late))

    for k in range(1000):
        env.process(send(1.0 + k / 1000))
    env.run()
    assert longest < 1000 / 4


@pytest.mark.parametrize("far", [0.0, 1.5, 100.0])
def test_a_few_that_are_far_off_do_not_send_all_others_through_the_heap(far):
    """Agents with a common clock; some of what they send outlasts the tick, or waits for a patience of its own."""
    env = Agenda()
    longest = 0

    def agent(number):
        nonlocal longest
        for _ in range(10):
            for message in range(4):
                env.timeout(0.1 + (4 * number + message) / 10_000)
            if far and number % 100 == 0:
                env.timeout(far)
            yield env.timeout(1.0)
            longest = max(longest, len(env.late))

    for number in range(1000):
        env.process(agent(number))
    env.run()
    assert longest <= 1000, "what begins at time 0 comes late; of 4,000 messages a tick few do"


def test_the_horizon_is_drawn_nearer_when_much_comes_before_it():
    """Patience for a long time, and messages that come soon: what is due at first is patience alone."""
    env = Agenda()
    for number in range(1000):
        env.timeout(1000.0 + number)
    longest = 0

    def agent(number):
        nonlocal longest
        for _ in range(20):
            yield env.timeout(0.1 + number / 10_000)
            longest = max(longest, len(env.late))

    def crowd():
        yield env.timeout(1.0)
        for number in range(1000):
            env.process(agent(number))

    env.process(crowd())
    env.run(until=500.0)
    assert longest <= 1000 / 2
