"""Whatever stands in a scenario: one sentence, or a run. Never a traceback.

300 wild scenarios, the same every time. 2,000 new ones, of which the first that fails is made small:

    HYPOTHESIS_PROFILE=explore python -m pytest tests/scenarios/test_wild.py
"""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from simnet import Scenario
from simnet.build import build
from simnet.errors import SimnetError
from simnet.record.bus import Bus
from simnet.record.log import LogWriter
from simnet.record.metrics import Metrics
from simnet.scenario.extremes import within_numbers
from simnet.scenario.sizes import estimate
from simnet.simulate import assemble
from tests.conftest import PROFILE
from tests.scenarios.wild import LEAVES, wild_contents

EXAMPLES = 2000 if PROFILE == "explore" else 300
STEPS = 2000
"""Steps of SimPy of one run: a run that has come that far may go on for as long as it likes."""
LONG = 5.0
PATIENCE = 30
"""Seconds for one step of it, and for all that is built before."""


class Slow(BaseException):
    """Nothing catches it by accident."""


@contextmanager
def patience() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def happen(content: dict[str, Any]) -> str:
    """Run a scenario for some steps; SimnetError is its refusal."""
    scenario = Scenario.of(content)
    if estimate(scenario).time > LONG:
        return "takes long, and says so"
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
