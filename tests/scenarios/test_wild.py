"""Whatever stands in a scenario: one sentence, or a run. Never a traceback.

400 wild scenarios, the same every time. 2,000 new ones, of which the first that fails is made small:

    HYPOTHESIS_PROFILE=explore python -m pytest tests/scenarios/test_wild.py
"""

from __future__ import annotations

import io
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from simnet import Scenario
from simnet.build import build
from simnet.cli.explain import explain
from simnet.errors import SimnetError
from simnet.record.bus import Bus
from simnet.record.log_writer import LogWriter
from simnet.record.metrics import Metrics
from simnet.scenario.extremes import within_numbers
from simnet.scenario.sizes import estimate
from simnet.simulate import assemble
from tests.conftest import PROFILE
from tests.scenarios.wild import LEAVES, wild_contents

EXAMPLES = 2000 if PROFILE == "explore" else 400
STEPS = 2000
"""Steps of SimPy of one run: a run that has come that far may go on for as long as it likes."""
MEMORY = 8 * 2**30
LONG = 5.0
PATIENCE = 15.0
"""Seconds of computing for all of it; how busy the machine is does not count."""


class Slow(Exception):
    """An estimate was far too low."""


@contextmanager
def patience() -> Iterator[None]:
    """Not too long, and not with all the memory of the machine."""

    def ring(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def happen(content: dict[str, Any]) -> str:
    """Explain a scenario, and run it for some steps; SimnetError is its refusal."""
    scenario = Scenario.of(content)
    if estimate(scenario).time > LONG:
        return "takes long, and says so"
    explain(scenario)
    built, metrics, writer = build(scenario), Metrics(), LogWriter(io.BytesIO())
    with within_numbers(scenario):
        engine = assemble(built, Bus(writer, metrics))
        for _ in range(STEPS):
            if engine._over:
                metrics.summary(writer.digest, None)
                return "ran"
            engine.env.step()
    return "runs on"


def outcome(content: dict[str, Any]) -> str:
    """What became of it: how far it ran, or the sentence that refuses it."""
    with patience():
        try:
            return happen(content)
        except SimnetError as refusal:
            return str(refusal)


def test_every_field_of_a_scenario_can_be_wild():
    assert {("rounds",), ("network", "link", "mtu"), ("network", "pacing"), ("fault",), ("limits", "memory")} <= {
        path for path, _ in LEAVES
    }


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(wild_contents())
def test_a_wild_scenario_runs_or_is_refused_in_a_sentence(content):
    assert "\n" not in outcome(content)
