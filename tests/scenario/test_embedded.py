"""Forged first lines: what stands in a stranger's log is checked as a scenario file is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from simnet import run
from simnet.agent.pacing import ALIGNED
from simnet.errors import LogError
from simnet.record import events as ev
from simnet.record.publication import publish
from simnet.record.verify import replay, verify
from simnet.scenario.embedded import embedded_scenario
from tests.record.stories import Story, write
from tests.worlds import world

HONEST: Story = [(t, event) for _, t, event in run(world(rounds=3)).events]


def forged(folder: Path, story: Story = HONEST, **changes: object) -> Path:
    """A log with another first line, sealed anew."""
    (t, start), *rest = story
    raw, _ = write([(t, msgspec.structs.replace(start, **changes)), *rest])
    (folder / "events.jsonl.zst").write_bytes(raw)
    return folder / "events.jsonl.zst"


def scenario(**changes: object) -> dict[str, object]:
    return HONEST[0][1].scenario | changes


def finding(log: Path) -> str:
    (found,) = verify(log, ALIGNED, embedded_scenario).findings
    return found


def test_an_honest_log_holds_and_its_scenario_comes_back(tmp_path):
    assert verify(forged(tmp_path), ALIGNED, embedded_scenario).findings == ()
    assert embedded_scenario(HONEST[0][1]).resolved() == scenario()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({}, "the scenario in its first line is none: algorithm"),
        (scenario(privacy="x"), "the scenario in its first line is none: privacy"),
        (scenario(rounds=10**18), "the scenario in its first line is none: rounds"),
        (scenario(seed=[]), "its scenario's seed is not a whole number"),
        (scenario(name=7), "the scenario in its first line is none: name"),
        (scenario(log="x"), "line 1: its scenario's [log] is not one"),
        (scenario(beauty=1), "the scenario in its first line is none: beauty"),
        (scenario(topology={"kind": "ring", "agents": 99}), "its scenario has 99 agents, and its first line 6"),
        (scenario(rounds=4), "agent 0 finished 3 rounds of the 4 that the scenario asks for"),
        (scenario(algorithm={"name": "my_file.py:Thing"}), "the scenario in its first line is none: algorithm.name"),
    ],
)
def test_a_forged_scenario_is_one_finding(tmp_path, content, why):
    log = forged(tmp_path, scenario=content)
    assert why in finding(log)
    if "finished 3 rounds" not in why:
        for read in (lambda: replay(log, embedded_scenario), lambda: publish(log, tmp_path, accept=embedded_scenario)):
            with pytest.raises(LogError):
                read()


def test_no_foreign_code_is_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("raise SystemExit('loaded')\n")
    for part in ("mine.py:Thing", "mine:Thing"):
        assert "is none" in finding(forged(tmp_path, scenario=scenario(algorithm={"name": part})))


@pytest.mark.parametrize("agent", [6, 10**6, 2**53])
def test_a_charge_of_an_agent_that_is_not_there_is_a_finding(tmp_path, agent):
    charge = (HONEST[-1][0], ev.PrivacySpent(agent, 1, "release", "bare-model", {}))
    assert "there is no such agent" in finding(forged(tmp_path, [*HONEST[:-1], charge, HONEST[-1]]))


@pytest.mark.parametrize("agent", [-1, 10**18, 10**400])
def test_a_number_that_no_run_writes_is_no_event(tmp_path, agent):
    charge = (HONEST[-1][0], ev.PrivacySpent(agent, 1, "release", "bare-model", {}))
    assert "privacy.spent: " in finding(forged(tmp_path, [*HONEST[:-1], charge, HONEST[-1]]))


def test_a_charge_for_no_use_at_all_is_a_finding(tmp_path):
    place = next(i for i, (_, event) in enumerate(HONEST) if isinstance(event, ev.PrivacySpent))
    t, charge = HONEST[place]
    story = [*HONEST[:place], (t, msgspec.structs.replace(charge, times=0)), *HONEST[place + 1 :]]
    assert "a charge is for at least one use" in finding(forged(tmp_path, story))
