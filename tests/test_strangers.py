"""Whatever a stranger sends: one sentence or a clean verdict, never a traceback, in little memory and time."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simnet.cli import app
from simnet.errors import SimnetError
from tests.record.stories import lines
from tests.strangers import LONGEST, MOST, RAW, Reading, folders, logs, read_with, resealed

LOGS = dict(logs())
BOMBS = [name for name in LOGS if name.startswith("bomb-")]
COMMANDS = {
    "verify": ("log", "verify", "{}"),
    "replay": ("log", "replay", "{}"),
    "diff": ("log", "diff", "{}", "{}"),
    "export": ("log", "export", "{}"),
    "csv": ("log", "export", "{}", "--kind", "run.started"),
    "report": ("report", "{}", "--output", "page.html"),
    "publish": ("publish", "{}", "--public-rows"),
    "rerun": ("log", "verify", "--rerun", "{}"),
}


def judge(reading: Reading) -> None:
    """A verdict (0, 1) or a refusal (2), in a few lines that a terminal shows as they are."""
    assert "Traceback" not in reading.err, reading.err
    assert reading.code in (0, 1, 2), reading
    if reading.code == 2:
        assert re.fullmatch(r"simnet: [^\n]{1,700}\n?", reading.err), reading.err
    assert reading.memory < MOST, f"{reading.memory:,} bytes"
    assert reading.seconds < LONGEST


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_memory_and_little_time(tmp_path, name, command):
    (tmp_path / "events.jsonl.zst").write_bytes(LOGS[name])
    judge(read_with(*(word.format("events.jsonl.zst") for word in COMMANDS[command]), cwd=tmp_path))


@pytest.fixture(scope="module")
def hostile_folders(tmp_path_factory) -> dict[str, Path]:
    return {folder.name: folder for folder in folders(tmp_path_factory.mktemp("folders"))}


class Outcome(Exception):
    """What a command said, without a process of its own."""


def called(*words: str) -> tuple[int, str, str]:
    """A command in this process: its exit code, what it printed, and its refusal. Other exceptions are tracebacks."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = app(list(words), standalone_mode=False)
        except SimnetError as error:
            return 2, out.getvalue(), str(error)
    return int(code or 0), out.getvalue(), err.getvalue()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "rerun"])
def test_forgeries_and_damage_are_a_verdict_or_a_sentence(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name, raw in LOGS.items():
        if name in BOMBS:
            continue
        (tmp_path / "events.jsonl.zst").write_bytes(raw)
        try:
            code, out, refusal = called(*(word.format("events.jsonl.zst") for word in COMMANDS[command]))
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error
        assert code in (0, 1, 2), name
        if code == 2:
            assert refusal
            assert len(refusal) < 700, (name, refusal)
    assert not list(tmp_path.parent.glob("*passwd*"))


@pytest.mark.parametrize("name", ["forged-no-scenario", "forged-rounds", "forged-few-rounds", "forged-privacy"])
def test_a_forgery_does_not_pass(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl.zst").write_bytes(LOGS[name])
    code, out, _ = called("log", "verify", "events.jsonl.zst")
    assert code == 1
    assert "1 finding" in out


@pytest.mark.parametrize("command", ["verify", "replay", "report", "publish"])
def test_the_company_of_a_log_is_read_as_carefully(hostile_folders, tmp_path, command):
    for name, folder in hostile_folders.items():
        reading = read_with(*(word.format(folder) for word in COMMANDS[command]), cwd=tmp_path)
        judge(reading)
        assert "hunter2" not in reading.out + reading.err, name
        page = tmp_path / "page.html"
        assert not page.exists() or "hunter2" not in page.read_text()


def test_nothing_that_a_terminal_obeys_gets_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("forged-escape", "forged-name"):
        (tmp_path / "events.jsonl.zst").write_bytes(LOGS[name])
        for command in ("verify", "replay", "diff", "publish"):
            _, out, refusal = called(*(word.format("events.jsonl.zst") for word in COMMANDS[command]))
            assert all(char.isprintable() or char == "\n" for char in out), (name, command)


LINES = lines(RAW)
BYTES = st.sampled_from(
    [b"", b"0", b"-1", b"1e309", b"NaN", b"null", b"[]", b"{}", b'"\\u202e"', b"9" * 30, b"\x00", b"\xff"]
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_mutation_of_a_log_gets_through_as_a_traceback(tmp_path_factory, monkeypatch, data):
    """A token of some lines becomes another one, lines move or double; the seals are computed anew."""
    text = list(LINES)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        match data.draw(st.sampled_from(["token", "double", "drop", "swap"])):
            case "token":
                tokens = list(re.finditer(rb'-?[0-9][0-9.e+-]*|"[^"]*"|true|false|null', text[place]))
                token = data.draw(st.sampled_from(tokens))
                text[place] = text[place][: token.start()] + data.draw(BYTES) + text[place][token.end() :]
            case "double":
                text.insert(place, text[place])
            case "drop" if len(text) > 2:
                del text[place]
            case "swap":
                other = data.draw(st.integers(0, len(text) - 1))
                text[place], text[other] = text[other], text[place]
    folder = tmp_path_factory.getbasetemp() / "mutated"
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    (folder / "events.jsonl.zst").write_bytes(resealed(renumbered(text)))
    for command in ("verify", "replay", "diff", "export", "report", "publish"):
        code, _, refusal = called(*(word.format("events.jsonl.zst") for word in COMMANDS[command]))
        assert code in (0, 1) or (code == 2 and refusal)


def renumbered(text: list[bytes]) -> list[bytes]:
    """Lines numbered from 1 on, so that a reader looks further."""
    return [re.sub(rb'^\{"seq":[0-9]+', b'{"seq":%d' % number, raw) for number, raw in enumerate(text, start=1)]


@pytest.mark.skipif(sys.platform == "win32", reason="the tests of other files look at a terminal")
def test_the_honest_log_of_the_corpus_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl.zst").write_bytes(resealed(list(LINES)))
    assert called("log", "verify", "--rerun", "events.jsonl.zst")[0] == 0
    assert json.loads(called("log", "export", "events.jsonl.zst")[1].splitlines()[0])["seq"] == 1
