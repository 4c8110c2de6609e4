"""What `--help` says: every sentence is whole in 80 columns, and every value has a name that people know."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


def told(*words: str) -> str:
    """The help of a command in 80 columns."""
    script = "from simnet.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *words, "--help"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout


@pytest.mark.parametrize("group", ["", "log", "live"])
def test_no_command_is_told_by_half_a_sentence(group):
    listed = told(*group.split()).partition("Commands:\n")[2].splitlines()
    assert len(listed) >= 3
    assert [line for line in listed if line.endswith("...") or len(line) > 80] == []


def test_no_value_goes_by_the_name_of_a_type_of_python():
    for command in ("agent", "live init", "live merge", "log verify", "run", "compare"):
        assert "list[" not in told(*command.split())


def test_what_a_command_takes_is_written_in_capitals():
    for command in ("plan", "init", "list", "check", "query", "run", "log verify", "live merge"):
        usage = told(*command.split()).splitlines()[0]
        assert re.search(r"(\[OPTIONS\]|\]|\}) [\[{][A-Z|]+[\]}](\.\.\.)?$", usage), usage
