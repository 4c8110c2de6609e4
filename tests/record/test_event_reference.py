import subprocess
import sys
from pathlib import Path
from string import Formatter

import pytest

from simnet.record import events
from simnet.record.event_reference import fields, reference

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def test_the_page_in_the_docs_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference()


def test_the_command_prints_the_page():
    command = [sys.executable, "-m", "simnet.record.event_reference"]
    done = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": "utf-8"}, cwd=PAGE.parents[1]
    )
    assert done.stdout.decode() == reference()


@pytest.mark.parametrize("record", events.EVENTS.values(), ids=events.EVENTS)
def test_every_field_of_every_kind_is_listed_and_explained(record):
    listed = {name: meaning for name, _, meaning in fields(record)}
    assert tuple(listed) == record.__struct_fields__
    assert [name for name, meaning in listed.items() if not meaning and name not in events.COMMON] == []
    assert f"## {record.kind}\n" in reference()


def test_types_are_told_as_a_reader_of_json_sees_them():
    told = {name: type_ for name, type_, _ in fields(events.RunStarted)}
    assert told["edges"] == "list of pairs of integers"
    assert told["scenario"] == "object"
    assert {name: type_ for name, type_, _ in fields(events.SvtTested)}["query"] == "number, optional"


@pytest.mark.parametrize("record", events.EVENTS.values(), ids=events.EVENTS)
def test_every_kind_has_a_sentence_made_of_its_own_fields(record):
    named = {name for _, name, _, _ in Formatter().parse(record.told) if name}
    assert record.told
    assert named <= set(record.__struct_fields__)
