"""Logs on the command line: one or many, in words or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simnet import run
from tests.called import called
from tests.worlds import world


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return [str(run(world(rounds=2, seed=seed), "runs").folder) for seed in (1, 2)]


def test_several_logs_are_verified_at_once(folders):
    code, out, _ = called("log", "verify", *folders)
    assert (code, out.count("the log holds\n")) == (0, 2)
    verdicts = json.loads(called("log", "verify", *folders, "--json")[1])
    assert [verdict["run"] for verdict in verdicts] == folders
    assert all(verdict["findings"] == [] and len(verdict["digest"]) == 64 for verdict in verdicts)


def test_one_bad_log_does_not_hide_the_others(folders):
    Path(folders[0], "summary.json").write_text("{}")
    code, out, _ = called("log", "verify", *folders)
    assert (code, out.count("1 finding\n"), out.count("the log holds\n")) == (1, 1, 1)
    Path("empty").mkdir()
    verdicts = json.loads(called("log", "verify", "empty", *folders, "--json")[1])
    assert [len(verdict["findings"]) for verdict in verdicts] == [1, 1, 0]


def test_what_is_replayed_and_compared_is_json_too(folders):
    assert json.loads(called("log", "replay", folders[0], "--json")[1])["findings"] == []
    code, out, _ = called("log", "diff", *folders, "--json")
    assert (code, json.loads(out)["same"]) == (1, False)
    page = json.loads(called("report", folders[0], "--json")[1])["page"]
    assert Path(page).is_file()
