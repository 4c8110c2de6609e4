"""A second run as a proof: what repeats, what does not, and what cannot be repeated here."""

from __future__ import annotations

import json
import shutil

import msgspec
import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.errors import LogError
from simnet.record import events as ev
from simnet.record.verify import replay, verify
from simnet.rerun import rerun
from simnet.scenario.embedded import embedded_scenario
from tests.record.stories import write
from tests.worlds import world


def forged(result, change, folder):
    """A log that obeys all laws and did not happen."""
    folder.mkdir()
    raw, _ = write([(t, change(event)) for _, t, event in result.events])
    (folder / "events.jsonl.zst").write_bytes(raw)
    return folder / "events.jsonl.zst"


def test_an_honest_run_repeats(tmp_path):
    assert rerun(run(world(rounds=3), tmp_path).folder) == []


def test_a_better_figure_passes_all_checks_but_the_second_run(tmp_path):
    def better(event):
        return msgspec.structs.replace(event, test_error=0.0) if isinstance(event, ev.EvaluationDone) else event

    log = forged(run(world(rounds=3)), better, tmp_path / "forged")
    assert verify(log, ALIGNED, embedded_scenario).findings == ()
    (finding,) = rerun(log)
    assert finding.startswith("a second run gives another digest, ")
    assert "round 1 was evaluated: test_error is 0.0 in A" in finding


def test_another_version_is_named(tmp_path):
    def older(event):
        return msgspec.structs.replace(event, version="0.0.1") if isinstance(event, ev.RunStarted) else event

    (finding,) = rerun(forged(run(world(rounds=3)), older, tmp_path / "forged"))
    assert "it was written by simnet 0.0.1" in finding


def test_files_that_the_scenario_names_are_looked_for_beside_the_log(tmp_path):
    (tmp_path / "delays.csv").write_text("delay_ms\n10\n20\n")
    content = world(rounds=2).content()
    content["network"] = {
        "pacing": {"kind": "barrier"},
        "link": {"latency": {"kind": "empirical", "file": "delays.csv", "unit": "ms"}},
    }
    result = run(Scenario.of(content, folder=tmp_path), tmp_path / "runs")
    with pytest.raises(LogError, match=r"cannot be run again: there is no file delays\.csv, which its scenario names"):
        rerun(result.folder)
    shutil.copy(tmp_path / "delays.csv", result.folder)
    assert rerun(result.folder) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"attached": ["storm"]}, "processes of its author took part that are not in the scenario: storm"),
        ({"published": True}, "it is a published record"),
    ],
)
def test_what_cannot_be_repeated_says_why(tmp_path, change, why):
    def other(event):
        return msgspec.structs.replace(event, **change) if isinstance(event, ev.RunStarted) else event

    with pytest.raises(LogError, match=why):
        rerun(forged(run(world(rounds=2)), other, tmp_path / "forged"))


def test_code_beside_a_log_is_not_loaded(tmp_path):
    def foreign(event):
        if not isinstance(event, ev.RunStarted):
            return event
        return msgspec.structs.replace(event, scenario=event.scenario | {"algorithm": {"name": "mine.py:Thing"}})

    log = forged(run(world(rounds=2)), foreign, tmp_path / "forged")
    (tmp_path / "forged" / "mine.py").write_text("raise SystemExit('loaded')\n")
    with pytest.raises(LogError):
        rerun(log)


def test_fresh_noise_does_not_come_again(tmp_path):
    changed = {"algorithm": {"name": "pp-admm", "eta": 0.1}, "privacy.epsilon": 10.0, "privacy.noise": "fresh"}
    with pytest.raises(LogError, match="its noise was drawn anew"):
        rerun(run(world(rounds=2, **changed), tmp_path).folder)


def test_data_that_are_not_here_are_missed_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{k % 2} 1:{k / 60} 2:{(k * 7 % 11) / 11}" for k in range(60))
    (tmp_path / "mine.libsvm").write_text(rows)
    content = world(rounds=2).content() | {"data": {"source": "mine.libsvm"}}
    result = run(Scenario.of(content), tmp_path / "runs")
    assert rerun(result.folder) == []
    (tmp_path / "mine.libsvm").unlink()
    with pytest.raises(
        LogError, match=r"cannot be run again here: data\.source = 'mine\.libsvm': there is no data file"
    ):
        rerun(result.folder)


def test_yardsticks_are_in_no_log_so_the_second_run_checks_them(tmp_path):
    folder = run(world(rounds=3), tmp_path).folder
    summary = json.loads((folder / "summary.json").read_text())
    summary["yardsticks"]["optimum"] = 0.4
    (folder / "summary.json").write_text(json.dumps(summary))
    assert verify(folder, ALIGNED, embedded_scenario).findings == replay(folder).findings == ()
    (finding,) = rerun(folder)
    assert finding.startswith("summary.json says yardsticks.optimum = 0.4, a second run ")
    del summary["yardsticks"]  # a folder that an older version wrote
    (folder / "summary.json").write_text(json.dumps(summary))
    assert rerun(folder) == []
