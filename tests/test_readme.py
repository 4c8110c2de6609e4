"""README.md and the pages beside it are true: their tables are what the commands print, and their commands run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest

from analysis.fill_pages import BLOCK, PAGES, TABLE, output, stored
from simnet.cli import main
from tests.portions import some

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
FILLED = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS = list(BLOCK.finditer(FILLED))


@pytest.mark.parametrize("block", [BLOCKS[0], *some(BLOCKS[1:], 5)], ids=lambda block: block["command"])
def test_a_table_is_what_its_command_prints(block):
    assert figures(block["output"]) == figures(output(block["command"])), "run: python -m analysis.fill_pages"


def test_a_stored_table_is_what_its_file_holds():
    tables = list(TABLE.finditer(FILLED))
    assert tables
    for table in tables:
        assert table["table"] == stored(table["file"]), "run: python -m analysis.fill_pages"


def test_the_readme_is_short():
    assert 1 <= README.count("![") <= 2
    assert len(BLOCK.findall(README)) == 1
    assert len(README.splitlines()) < 90


def figures(text: str) -> list[str]:
    """The lines but for the digest: a last bit of another processor may turn one of its thousands of numbers."""
    return [line for line in text.splitlines() if not line.startswith("│ digest")]


def shell_lines() -> list[str]:
    first, then = (
        [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
        for page in (README, TOUR)
    )
    assert [line.split()[:2] for line in first] == [["make", "run"], ["make", "test"]]
    # `make run` is the quickstart; everything else runs here as printed.
    return ["simnet run scenarios/quickstart.toml", *then]


STARTS_PROCESSES = [line for line in shell_lines() if line.split()[1] in ("audit", "live")]


def test_the_shell_commands_run_one_after_another(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    for line in shell_lines():
        if line in STARTS_PROCESSES:
            continue
        # One process for all: each would spend most of its time on imports.
        words = shlex.split(line, comments=True)
        monkeypatch.setattr(sys, "argv", [path for word in words for path in sorted(glob(word)) or [word]])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert not stop.value.code, f"{line}\n{said.out}\n{said.err}"


@pytest.mark.parametrize("line", STARTS_PROCESSES)
def test_the_shell_commands_that_start_processes_run(line, tmp_path):
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    command = [sys.executable, "-c", "from simnet.cli import main; main()", *shlex.split(line, comments=True)[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_files_and_commands_of_the_page_about_networks_work(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "your_network.md").read_text(encoding="utf-8")
    files = re.findall(r"`(\S+)`:\n\n```(?:csv|toml)\n(.*?)```", page, re.DOTALL)
    assert len(files) == 3
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    errors = []
    for line in "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)).splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert not stop.value.code, f"{line}\n{said.err}"
        errors += re.findall(r"test error +│ +([\d.]+)", said.out)
    with_bursts, without = map(float, errors)
    assert without < with_bursts, "the page says that losses cost something"


def test_the_python_example_runs():
    code = re.findall(r"```python\n(.*?)```", TOUR, re.DOTALL)
    assert code
    for example in code:
        done = subprocess.run([sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
