"""`simnet report` as a stranger meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.record import stories

ROOT = Path(__file__).parents[2]


def simnet(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from simnet.cli import main; main()", "report", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.fixture
def folder(tmp_path) -> Path:
    return stories.store(stories.lawful(), tmp_path / "runs")


def test_it_writes_the_page_into_the_run_folder(folder, tmp_path):
    done = simnet(str(folder), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote {folder / 'report.html'}\n"
    assert "a story" in (folder / "report.html").read_text(encoding="utf-8")


def test_it_writes_where_it_is_told_to_and_nothing_else(folder, tmp_path):
    before = sorted(folder.iterdir())
    assert simnet(str(folder), "--output", "page.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "page.html").stat().st_size > 50_000
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("keep", [0, 100, -40])
def test_a_broken_log_is_one_sentence_exit_code_2_and_no_page(folder, tmp_path, keep):
    log = folder / "events.jsonl.zst"
    log.write_bytes(log.read_bytes()[:keep])
    done = simnet(str(folder), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("simnet: ")
    assert done.stderr.count("\n") == 1
    assert not (folder / "report.html").exists()


def test_a_broken_log_leaves_the_page_of_a_whole_one_alone(folder, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("the old page")
    (folder / "events.jsonl.zst").write_bytes(b"")
    assert simnet(str(folder), "--output", str(page), cwd=tmp_path).returncode == 2
    assert page.read_text() == "the old page"
