"""The engine's environment is one of SimPy's: it can be stopped, stepped and shared, and the run stays the same."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import simpy

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import SimnetError
from simnet.learning.evaluation import Evaluation, RoundFigures
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.log_writer import LogWriter
from simnet.sim.engine import VirtualEngine, evaluation_done
from simnet.sim.virtual_port import VirtualPort
from simnet.simulate import assemble
from tests.worlds import TICKS, world

LOSSY = {
    "link": {"latency": {"kind": "uniform", "low": 0.01, "high": 0.09}, "loss": 0.1, "duplication": 0.1},
    "pacing": TICKS,
}
WORLDS = {
    "ideal": world(),
    "lossy": world(network=LOSSY),
    "barrier": world(network=LOSSY | {"pacing": {"kind": "barrier", "patience": 0.2}}),
    "reliable": world(network=LOSSY | {"transport": {"kind": "reliable", "timeout": 0.05}}),
    "inbox": world(network=LOSSY | {"inbox": {"service": 0.01, "capacity": 2}}),
    "faults": world(
        network=LOSSY,
        fault=[
            {"kind": "churn", "up": 0.2, "down": 0.1, "state": "lost"},
            {"kind": "partition", "agents": [0, 1], "every": 0.2, "duration": 0.1},
        ],
    ),
}
Drive = Callable[[VirtualEngine], object]


def digest(scenario: Scenario, drive: Drive) -> str:
    """Of a run that is driven in some way first, and then to its end."""
    writer = LogWriter(io.BytesIO())
    engine = assemble(build(scenario), Bus(writer))
    drive(engine)
    engine.run()
    writer.close()
    return writer.digest


def stop_and_go(engine: VirtualEngine) -> None:
    for until in (0.1, 0.1 + 1e-9, 0.2, 0.37):
        engine.env.run(until=until)
        assert engine.env.now == until


def past_its_end(engine: VirtualEngine) -> None:
    engine.env.run(until=100)


def until_an_event(engine: VirtualEngine) -> None:
    assert engine.env.run(until=engine.env.timeout(0.25, "value")) == "value"


def step_and_peek(engine: VirtualEngine) -> None:
    for _ in range(300):
        due = engine.env.peek()
        engine.env.step()
        assert engine.env.now == due


def processes(engine: VirtualEngine) -> None:
    """Resources, stores, conditions and interrupts of somebody else, among the messages."""
    env, log = engine.env, []
    desk, shelf = simpy.Resource(env, capacity=1), simpy.Store(env)

    def customer(name: int) -> Any:
        with desk.request() as turn:
            found = yield turn | env.timeout(0.05)
            if turn in found:
                yield env.timeout(0.03)
                yield shelf.put(name)

    def clerk() -> Any:
        while True:
            try:
                log.append(((yield shelf.get()), env.now))
            except simpy.Interrupt as interrupt:
                log.append((interrupt.cause, env.now))

    def boss(process: simpy.Process) -> Any:
        yield env.timeout(0.1)
        process.interrupt("enough")
        yield env.all_of([env.timeout(0.01), env.timeout(0.02)])
        log.append(("done", env.now))

    for name in range(3):
        env.process(customer(name))
    env.process(boss(env.process(clerk())))
    env.run(until=0.3)
    assert log == [(0, 0.03), (1, 0.06), ("enough", 0.1), ("done", 0.1 + 0.02)]


DRIVES = [stop_and_go, past_its_end, until_an_event, step_and_peek, processes]


@pytest.mark.parametrize("drive", DRIVES, ids=lambda drive: drive.__name__)
@pytest.mark.parametrize("name", WORLDS)
def test_whatever_else_the_environment_is_asked_for_the_run_stays_the_same(name, drive):
    assert digest(WORLDS[name], drive) == run(WORLDS[name]).digest


def test_the_environment_is_one_of_simpys():
    engine = assemble(build(world()), Bus())
    engine.run()
    assert isinstance(engine.env, simpy.Environment)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("finish", [VirtualEngine.run, lambda engine: engine.env.run(until=0.01)], ids=["run", "env"])
def test_nothing_is_recorded_after_the_last_agent_has_finished(name, finish):
    """Messages are still on their way then, and faults go on; a log ends with the last agent."""
    heard: list[events.Event] = []
    engine = assemble(build(WORLDS[name]), Bus(lambda seq, t, event: heard.append(event)))
    finish(engine)
    engine.env.run(until=100)
    assert [event.kind for event in heard] == [event.kind for _, _, event in run(WORLDS[name]).events]


def test_agents_that_all_wait_for_ever_stop_the_run_with_a_sentence(monkeypatch):
    crash = {"kind": "crash", "agent": 0, "at": 0.05, "duration": 1}
    engine = assemble(build(world(fault=[crash])), Bus())
    monkeypatch.setattr(VirtualPort, "rise", lambda port: None)
    with pytest.raises(SimnetError, match=r"the simulation stalled at t = 1\.05 s: every agent waits"):
        engine.run()


def test_an_error_of_an_agent_is_the_error_of_the_run(monkeypatch):
    engine = assemble(build(world()), Bus())
    monkeypatch.setattr(VirtualPort, "finished", lambda port, round, peer, outputs: 1 / (port.agent - 2))
    with pytest.raises(ZeroDivisionError):
        engine.run()


def test_the_figures_are_rounded_and_those_of_each_agent_are_told_in_the_last_round_only():
    third = np.array([1 / 3, -1e-17])
    found = Evaluation(2 / 3, 1 / 3, 1 / 7, 1e-17, 0.0, third, third, {})
    event = evaluation_done(RoundFigures(4, found, last=False))
    assert (event.round, event.train_loss, event.test_error, event.consensus) == (4, 0.66666667, 0.33333333, 0.0)
    assert event.agent_test_error is event.agent_train_loss is None
    assert evaluation_done(RoundFigures(5, found, last=True)).agent_test_error == [0.33333333, 0.0]
