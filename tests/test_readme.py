"""The README is true: its tables are what the commands print, and its commands run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.fill_readme import BLOCK, TABLE, output, stored

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", list(BLOCK.finditer(README)), ids=lambda block: block["command"])
def test_a_table_is_what_its_command_prints(block):
    assert figures(block["output"]) == figures(output(block["command"]))


def test_a_stored_table_is_what_its_file_holds():
    tables = list(TABLE.finditer(README))
    assert tables
    for table in tables:
        assert table["table"] == stored(table["file"]), "run: python analysis/fill_readme.py"


def figures(text: str) -> list[str]:
    """The lines but for the digest: a last bit of another processor may turn one of its thousands of numbers."""
    return [line for line in text.splitlines() if not line.startswith("│ digest")]


def test_the_shell_commands_run_one_after_another(tmp_path):
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    launcher = bin_folder / "simnet"
    launcher.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from simnet.cli import main; main()' \"$@\"\n")
    launcher.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    commands = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
    assert [line.split()[1] for line in commands if line.startswith("make ")] == ["run", "test"]
    # `make run` is the quickstart; everything else runs here as printed.
    script = ["simnet run scenarios/quickstart.toml", *(line for line in commands if not line.startswith("make "))]
    for line in script:
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_python_example_runs():
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert code
    for example in code:
        done = subprocess.run([sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target
