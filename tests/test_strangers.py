"""Whatever a stranger sends: one sentence or a clean verdict, never a traceback, in little memory and time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.called import called
from tests.portions import EVERYTHING, some, thorough
from tests.record.stories import lines
from tests.strangers import BOMBS, MOST, RAW, Reading, folders, logs, read_with, resealed

LOGS = dict(logs())
COMMANDS = {
    "verify": ("log", "verify", "{}"),
    "replay": ("log", "replay", "{}"),
    "diff": ("log", "diff", "{}", "{}"),
    "export": ("log", "export", "{}"),
    "csv": ("log", "export", "{}", "--kind", "run.started"),
    "report": ("report", "{}", "--output", "page.html"),
    "publish": ("publish", "{}", "--public-rows"),
    "perfetto": ("log", "export", "{}", "--perfetto"),
    "parquet": ("log", "export", "{}", "--parquet", "tables"),
    "bundle": ("bundle", "{}", "--public-rows", "--out", "run.zip"),
    "rerun": ("log", "verify", "--rerun", "{}"),
}

READERS = [name for name in COMMANDS if name != "rerun"]
SLOW = ("in-flight", "evaluations", "faults")
TYPES = ("text", "null", "list", "table", "negative", "huge", "float")


def asked(commands: Iterable[str], file: object) -> list[list[str]]:
    return [[word.format(file) for word in COMMANDS[command]] for command in commands]


def judge(readings: list[Reading]) -> None:
    """Verdicts (0, 1) or refusals (2), each in one line of little memory."""
    for reading in readings:
        assert reading.code in (0, 1, 2), reading
        assert reading.code < 2 or 0 < len(reading.refusal) < 700, reading
        assert "\n" not in reading.refusal.strip() or reading.code < 2, reading
        assert reading.memory < MOST, reading


LONG = "bomb-numbers"


@pytest.mark.parametrize("name", [pytest.param(name, marks=thorough if name == LONG else ()) for name in BOMBS])
def test_a_bomb_takes_little_memory_and_little_time(tmp_path, name):
    (tmp_path / "events.jsonl.zst").write_bytes(BOMBS[name]())
    # Commands that keep nothing of the events pass over many small ones as over an honest log, only slowly.
    keepers = ("verify", "replay", "report", "parquet") if name.removeprefix("bomb-") in SLOW else READERS
    others = [each for each in keepers if each != "verify"]
    first = [*BOMBS].index(name) % len(others)
    # Each in a process of its own: what one leaves behind is nothing that the next one takes.
    for each in keepers if EVERYTHING else ("verify", others[first]):
        judge(read_with(asked((each,), "events.jsonl.zst"), tmp_path))


@pytest.fixture(scope="module")
def hostile_folders(tmp_path_factory) -> list[Path]:
    return list(folders(tmp_path_factory.mktemp("folders")))


@pytest.mark.parametrize("command", READERS)
def test_forgeries_and_damage_are_a_verdict_or_a_sentence(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    typed = [name for name in LOGS if name.endswith(TYPES)]
    step = {"verify": 1, "replay": 3, "report": 5}.get(command, 7)  # most read the start as `verify` does
    for name in [*(name for name in LOGS if name not in typed), *some(typed, step)]:
        raw = LOGS[name]
        (tmp_path / "events.jsonl.zst").write_bytes(raw)
        try:
            code, _, refusal = called(*asked([command], "events.jsonl.zst")[0])
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


def test_the_company_of_a_log_is_read_as_carefully(hostile_folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in hostile_folders:
        commands = asked(("verify", "replay", "report", "bundle"), folder)
        if folder.name.startswith("bomb-"):
            readings = read_with(commands, tmp_path)
        else:
            readings = [Reading(tuple(words), *called(*words), 0) for words in commands]
        judge(readings)
        page = tmp_path / "page.html"
        assert "hunter2" not in "".join(each.out + each.refusal for each in readings), folder.name
        assert not page.exists() or "hunter2" not in page.read_text()


def test_nothing_that_a_terminal_obeys_gets_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("forged-escape", "forged-name"):
        (tmp_path / "events.jsonl.zst").write_bytes(LOGS[name])
        for command in ("verify", "replay", "diff", "publish"):
            _, out, _ = called(*asked([command], "events.jsonl.zst")[0])
            assert all(char.isprintable() or char == "\n" for char in out), (name, command)


LINES = lines(RAW)
BYTES = st.sampled_from(
    [b"", b"0", b"-1", b"1e309", b"NaN", b"null", b"[]", b"{}", b'"\\u202e"', b"9" * 30, b"\x00", b"\xff"]
)


@settings(max_examples=500 if EVERYTHING else 40, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        code, _, refusal = called(*asked([command], "events.jsonl.zst")[0])
        assert code in (0, 1) or (code == 2 and refusal)


def renumbered(text: list[bytes]) -> list[bytes]:
    """Lines numbered from 1 on, so that a reader looks further."""
    return [re.sub(rb'^\{"seq":[0-9]+', b'{"seq":%d' % number, raw) for number, raw in enumerate(text, start=1)]


def test_large_lawful_logs_are_read_and_shown(tmp_path):
    (tmp_path / "events.jsonl.zst").write_bytes(BOMBS["bomb-lawful-links"]())
    assert [each.code for each in read_with(asked(("verify", "report"), "events.jsonl.zst"), tmp_path)] == [0, 0]


def test_the_honest_log_of_the_corpus_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl.zst").write_bytes(resealed(list(LINES)))
    assert called("log", "verify", "--rerun", "events.jsonl.zst")[0] == 0
    assert json.loads(called("log", "export", "events.jsonl.zst")[1].splitlines()[0])["seq"] == 1
