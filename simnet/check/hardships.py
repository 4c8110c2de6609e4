"""Does it go on when the network does not? Small worlds with one hardship each, run to their end and verified."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simnet.agent.pacing import ALIGNED
from simnet.build import build
from simnet.check.outcome import Failing, Inapplicable
from simnet.check.subject import Subject
from simnet.errors import ScenarioError
from simnet.record import events
from simnet.record.atomic import temporary_folder
from simnet.record.laws import Laws
from simnet.record.verify import replay, verify
from simnet.scenario import Scenario
from simnet.simulate import Result, run

TICKS = {"kind": "deadline", "period": "50 ms"}
HARDSHIPS: Mapping[str, Mapping[str, Any]] = {
    "loss": {"network.link.loss": 0.3},
    "reordering": {
        "network.pacing": TICKS,
        "network.link.latency": {"kind": "uniform", "low": "1 ms", "high": "200 ms"},
    },
    "stale values": {"network.pacing": TICKS, "network.link.latency": "120 ms"},
    "some neighbours": {"network.pacing": TICKS, "network.peers": 1},
    "crash": {
        "network.pacing": {"kind": "barrier", "patience": "50 ms"},
        "fault": [{"kind": "crash", "agent": 1, "at": "45 ms", "duration": "150 ms"}],
    },
    "float32": {"network.codec": "float32"},
    "int8": {"network.codec": "int8"},
}
"""What changes in the small world."""
LOST_STATE = {
    "network.pacing": {"kind": "barrier", "patience": "50 ms"},
    "fault": [{"kind": "crash", "agent": 1, "at": "45 ms", "duration": "150 ms", "state": "lost"}],
}


def runs(subject: Subject) -> str:
    """The small world itself: to its end, with numbers, within the laws."""
    result = subject.result
    _refuse_oddities(result)
    if broken := _unlawful(result):
        raise Failing(f"a law of the log is broken: {broken[0]}")
    if not result.summary["communication"]["broadcasts"]:
        reasons = ", ".join(reason for reason, count in result.summary["skips_by_reason"].items() if count)
        raise Failing(f"no agent ever releases anything ({reasons})")
    error = result.summary["accuracy"]["test_error"]
    return f"{subject.scenario.rounds} rounds of {subject.world.agents} agents, test error {error:.3f}"


def hardship(name: str) -> Callable[[Subject], str]:
    """The check of one of the hardships."""

    def look(subject: Subject) -> str:
        if name == "loss" and not getattr(subject.scenario.algorithm, "survives_loss", True):
            raise Inapplicable("it says that it does not survive loss (`survives_loss = False`)")
        try:
            changed = subject.scenario.with_(**HARDSHIPS[name])
        except ScenarioError as error:
            raise Inapplicable(f"refused: {error}") from None
        return _verified(changed)

    return look


def lost_state(subject: Subject) -> str:
    """A crash that takes the state: the agent begins again, or the scenario is refused before anything runs."""
    try:
        changed = subject.scenario.with_(**LOST_STATE)
    except ScenarioError as error:
        if subject.scenario.algorithm.begins_again:
            raise Inapplicable(f"refused: {error}") from None
        return "it cannot begin again (`begins_again = False`), and such a scenario is refused"
    return _verified(changed)


def _verified(scenario: Scenario) -> str:
    """Run a scenario into a folder, and look at what was written."""
    try:
        build(scenario)
    except ScenarioError as error:
        raise Inapplicable(f"refused: {error}") from None
    with temporary_folder("a run that is looked at") as place:
        result = run(scenario, place)
        _refuse_oddities(result)
        assert result.folder is not None, "it was asked to store itself"
        findings = [*verify(Path(result.folder), ALIGNED).findings, *replay(Path(result.folder)).findings]
    if findings:
        raise Failing(f"log verify: {findings[0]}")
    return _told(result)


def _refuse_oddities(result: Result) -> None:
    """Refuse runs that end early and models that are no numbers."""
    if (result.agents["rounds"] < result.scenario.rounds).any():
        raise Failing("the run ends before all agents have finished their rounds")
    for _, _, event in result.events:
        if isinstance(event, events.EvaluationDone):
            for name in ("train_loss", "objective", "consensus"):
                if not math.isfinite(getattr(event, name) or 0.0):
                    raise Failing(f"after round {event.round} the models are no finite numbers ({name})")


def _unlawful(result: Result) -> list[str]:
    laws = Laws(ALIGNED)
    for entry in result.events:
        laws(*entry)
    return laws.finish()


def _told(result: Result) -> str:
    """What was hard about a run, in figures."""
    traffic, stale = result.summary["communication"], result.summary["staleness"]
    facts = [f"{traffic['delivered']:,} of {traffic['messages']:,} messages arrived"]
    if stale["max"]:
        facts.append(f"values up to {stale['max']} rounds old")
    return f"it went on, and the log holds: {', '.join(facts)}"
