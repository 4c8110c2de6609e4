"""Every command on a terminal of 80 columns, into a pipe, and as JSON: tables fit, no word is cut, JSON is JSON."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import typer.main

from simnet.cli import app
from tests.called import called
from tests.portions import thorough

SCENARIO = """
name = "tiny"
rounds = 3
data = { source = "synthetic", rows = 400 }
topology = { kind = "ring", agents = 4 }
algorithm = { name = "pp-admm", eta = 0.5 }
privacy = { epsilon = 8.0 }
network = { pacing = "barrier", link = { latency = "20 ms" } }
"""
STUDY = """
name = "eta"
target = 0.5
base = "tiny.toml"
replicates = 2
[grid]
"algorithm.eta" = [0.5, 0.6]
"""
TUNING = """
name = "tuning"
base = "tiny.toml"
[grid]
"data.use" = ["tuning"]
"data.seed" = [1]
"data.tuning" = [0.5]
"algorithm.eta" = [0.5, 0.6]
"""
AUDIT = SCENARIO + "\n[audit]\nruns = 4\n"
COMMANDS = {
    "plan": "plan adult --target 0.24 --agents 4 --methods pp-admm --rounds 4 --seeds 1 --set data.train=2000 --force",
    "init": "init new.toml --force",
    "scenarios": "scenarios",
    "list": "list",
    "schema": "schema study",
    "explain": "explain tiny.toml",
    "run": "run tiny.toml",
    "compare": "compare tiny.toml --methods admm,pp-admm,ipp-admm",
    "runs": "runs",
    "report": "report RUN",
    "sweep": "sweep study.toml --workers 1",
    "tune": "tune tuning.toml --workers 1",
    "reach": "reach results/eta",
    "query": "query 'select * from runs' results/eta",
    "audit": "audit audit.toml --workers 1",
    "check": "check gossip --quick",
    "publish": "publish FRESH",
    "bundle": "bundle RUN --public-rows",
    "log verify": "log verify RUN",
    "log replay": "log replay RUN",
    "log diff": "log diff RUN RUN",
    "log export": "log export RUN",
}
OTHERS = {"agent", "live run", "live init", "live merge"}
"""Processes and sockets: tests/live and test_live_commands.py have them."""
FINE = {"audit": (0, 3)}
_ESCAPE = re.compile("\x1b\\[[0-9;]*m")
LONG = {"check"}
"""Takes half a minute."""
_BOX = set("│┃┏┗┡└┌╇━─┳┓┛")


class _Terminal(io.StringIO):
    """A terminal, as far as anybody asks."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("commands")
    for name, text in (("tiny", SCENARIO), ("study", STUDY), ("tuning", TUNING), ("audit", AUDIT)):
        (made / f"{name}.toml").write_text(text)
    with contextlib.chdir(made):
        assert called("run", "tiny.toml")[0] == 0
        assert called("run", "tiny.toml", "--set", "privacy.noise=fresh", "--out", "fresh")[0] == 0
        assert called("sweep", "study.toml", "--workers", "1")[0] == 0
    return made


def words(folder: Path, command: str) -> list[str]:
    run, fresh = (next((folder / place).glob("tiny/*")) for place in ("runs", "fresh"))
    line = COMMANDS[command].replace("RUN", str(run)).replace("FRESH", str(fresh))
    return [quoted or plain for quoted, plain in re.findall(r"'([^']*)'|(\S+)", line)]


def takes_json(command: str) -> bool:
    found = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]  # type: ignore[attr-defined]
    return any("--json" in parameter.opts for parameter in found.params)


def all_of_them() -> set[str]:
    top = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {
        f"{name} {inner}".strip() for name, command in top.items() for inner in getattr(command, "commands", {"": None})
    }


def each_of(commands: Iterable[str]) -> list[object]:
    return [pytest.param(name, marks=thorough) if name in LONG else name for name in commands]


def test_no_command_is_forgotten():
    assert all_of_them() == COMMANDS.keys() | OTHERS


@pytest.mark.parametrize("command", each_of(COMMANDS))
def test_a_command_on_a_terminal_of_80_columns(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    out = _Terminal()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = app(words(folder, command), standalone_mode=False)
    assert int(code or 0) in FINE.get(command, (0,))
    told = _ESCAPE.sub("", out.getvalue())
    drawn = [line for line in told.splitlines() if _BOX & set(line)]
    assert max(map(len, drawn), default=0) <= 80
    whole(command, told)


def whole(command: str, told: str) -> None:
    """Names of methods and errors are never cut, and nothing ends in dots because there was no room."""
    if command == "compare":
        assert all(re.search(rf"\b{name}\b", told) for name in ("admm", "pp-admm", "ipp-admm"))
        assert re.search(r"\b0\.\d{4}\b", told)
    if command not in ("log export", "schema", "init"):
        assert not re.search(r"\w…", told)


@pytest.mark.parametrize("command", each_of(COMMANDS))
def test_a_command_into_a_pipe(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    code, out, _ = called(*words(folder, command))
    assert code in FINE.get(command, (0,))
    whole(command, out)
    assert "\x1b" not in out
    if command not in ("log export", "schema"):
        assert max(map(len, out.splitlines()), default=0) <= 250


@pytest.mark.parametrize("command", each_of(name for name in COMMANDS if takes_json(name)))
def test_a_command_as_json(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    more = {"plan": ["--name", "other"]}.get(command, [])
    code, out, _ = called(*words(folder, command), *more, "--json")
    assert code in FINE.get(command, (0,))
    json.loads(out)


def test_what_has_no_json_writes_a_file_or_json_already():
    assert {name for name in COMMANDS if not takes_json(name)} == {"init", "schema", "publish", "bundle", "log export"}
