"""Whatever a stranger's study folder holds: an answer or one sentence, never a traceback, in little memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from simnet.errors import SimnetError
from simnet.studies.results import StudyResult
from simnet.studies.store import DONE, Store
from tests import strange_studies as strange
from tests.called import called
from tests.strangers import Reading, read_with

MOST = 200_000_000
"""Bytes that a folder may add to a process that has read an honest one."""
BOTH = "select runs.*, rounds.* from runs join rounds on runs.key = rounds.key"
REPORT = ("report", "{}", "--output", "page.html")
REACH = ("reach", "{}", "--target", "0.3", "--seeds")
ON_THE_PAGE = (
    *("order", "figure-text", "round-text", "huge", "round-names", "no-rounds"),
    *("plan-deep", "plan-mixed", "plan-escape", "plan-figure", "done-text", "done-long", "plan-link", "sums-link"),
)
"""What a page says in other ways than a table does."""


def judge(reading: Reading) -> None:
    assert reading.code in (0, 2), reading
    assert reading.code == 0 or 0 < len(reading.refusal) < 700, reading
    assert reading.code == 0 or "\n" not in reading.refusal.strip(), reading
    assert "hunter2" not in reading.out + reading.refusal, reading
    # CSV is for programs: only a terminal gets it escaped.
    assert "--csv" in reading.words or all(char.isprintable() or char == "\n" for char in reading.out), reading


def test_bombs_take_little_memory(tmp_path):
    harms = {name: harm for name, harm in (strange.TABLES | strange.REST).items() if name.startswith("bomb-")}
    found = [tmp_path / "honest", *strange.folders(tmp_path, harms)]
    first, *others = read_with([["query", BOTH, str(folder), "--json"] for folder in found], tmp_path)
    assert first.code == 0
    for reading in others:
        judge(reading)
        assert reading.code == 2, reading
        assert reading.memory - first.memory < MOST, reading


@pytest.mark.parametrize("name", [name for name in strange.TABLES | strange.REST if not name.startswith("bomb-")])
def test_forgeries_and_damage_are_an_answer_or_a_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (folder,) = strange.folders(tmp_path, {name: (strange.TABLES | strange.REST)[name]})
    for words in (("query", BOTH, "{}"), REACH, *([REPORT] if name in ON_THE_PAGE else [])):
        told = tuple(word.format(folder) for word in words)
        judge(Reading(told, *called(*told), 0))
    page = tmp_path / "page.html"
    assert not page.exists() or "hunter2" not in page.read_text()


@pytest.mark.parametrize("how", ["--json", "--csv"])
def test_what_a_forger_calls_a_column_is_a_column(tmp_path, how):
    (folder,) = strange.folders(tmp_path, {"names": strange.TABLES["names"]})
    judge(Reading(("query", how), *called("query", "select * from runs", str(folder), how), 0))


def test_a_sweep_removes_nothing_from_a_folder_that_a_link_leads_to(tmp_path):
    (folder,) = strange.folders(tmp_path, {"away": strange.away})
    elsewhere = sorted((tmp_path / "away-elsewhere").iterdir())
    with pytest.raises(SimnetError, match="done is a link out of its folder"), Store(folder).locked():
        pass
    assert sorted((tmp_path / "away-elsewhere").iterdir()) == elsewhere


def test_a_folder_of_studies_leads_nowhere_else(tmp_path):
    honest = strange.honest(tmp_path / "here" / "mine")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "theirs").symlink_to(honest)
    assert called("query", "select count(*) as n from runs", str(tmp_path / "here"), "--csv")[:2] == (0, "n\n6\n")
    code, _, refusal = called("query", "select * from runs", str(tmp_path / "strange"))
    assert code == 2
    assert "theirs is a link out of the folder of studies" in refusal


def test_whoever_trusts_a_large_study_says_so(tmp_path, monkeypatch):
    (folder,) = strange.folders(tmp_path, {"large": strange.forged(strange.ROUNDS, strange.repeated(2_000_000))})
    with pytest.raises(SimnetError, match=r"rounds\.parquet lists .* SIMNET_MEMORY=1000"):
        _ = StudyResult.load(folder).rounds
    monkeypatch.setenv("SIMNET_MEMORY", "500")
    assert StudyResult.load(folder).rounds.height > 1_000_000
    # A sweep goes on in a folder of its own.
    assert len(Store(folder).finished()) == 6
    assert (folder / DONE).is_dir()


def test_nothing_is_loaded_from_the_folder_in_which_somebody_asks(tmp_path, monkeypatch):
    strange.honest(tmp_path / "study")
    for name in ("polars", "simnet", "io", "subprocess"):
        (tmp_path / f"{name}.py").write_text("open('loaded', 'w').write(__name__)\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert called("query", "select count(*) from runs", "study")[0] == 0
    assert not Path("loaded").exists()
