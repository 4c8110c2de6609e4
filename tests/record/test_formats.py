import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import LogError, SimnetError
from simnet.record import events as ev
from simnet.record.formats import csv_text, export_csv, export_jsonl, flat, json_text
from tests.record.stories import lawful, lines, start, write


def test_none_is_empty_and_floats_are_as_short_as_they_can_be():
    rows = [{"a": 1, "b": 0.1, "c": None}, {"a": 2, "b": 1e300, "c": "x,y"}]
    assert csv_text(rows) == 'a,b,c\n1,0.1,\n2,1e+300,"x,y"\n'


def test_no_rows_are_no_table():
    assert csv_text([]) == ""


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_a_float_reads_back_the_same(values):
    (_, *rows) = csv.reader(io.StringIO(csv_text([{"x": value, "y": 0} for value in values])))
    assert [float(row[0]) for row in rows] == values


def test_json_has_no_infinity():
    assert json.loads(json_text({"a": math.inf, "b": [math.nan, 1.5], "c": {"d": -math.inf}})) == {
        "a": None,
        "b": [None, 1.5],
        "c": {"d": None},
    }


def test_nested_fields_get_dotted_names():
    nested = {"a": {"b": {"c": 1}, "d": {}}, "e": [1, 2], "f": [{"g": 3}, {"g": 4}]}
    assert flat(nested) == {"a.b.c": 1, "a.d": {}, "e": [1, 2], "f.0.g": 3, "f.1.g": 4}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(write(lawful(tested=True))[0])
    return path


def test_json_lines_are_the_lines_of_the_log(log):
    out = io.StringIO()
    export_jsonl(log, out)
    assert out.getvalue().encode() == b"".join(lines(log.read_bytes()))


def test_one_kind_of_event_is_a_table(log):
    out = io.StringIO()
    export_csv(log, "message.sent", out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    sent = [event for _, event in lawful(tested=True) if isinstance(event, ev.MessageSent)]
    assert [(int(row["message"]), int(row["agent"]), row["carries"]) for row in rows] == [
        (event.message, event.agent, event.carries) for event in sent
    ]
    assert "\r" not in out.getvalue()
    assert out.getvalue().startswith("seq,t,agent,round,peer,message,carries,payload_bytes,wire_bytes,offered_bytes\n")


def test_what_is_missing_is_empty_and_what_is_nested_is_json(tmp_path):
    spent = ev.PrivacySpent(0, 1, "release", "bare-model", {"a": 0.5})
    story = [
        (0.0, start(2, [(0, 1)])),
        (0.5, spent),
        (0.5, ev.SvtTested(0, 1, True)),
        (1.0, ev.RunFinished([0, 0], "", "")),
    ]
    (tmp_path / "log").write_bytes(write(story)[0])
    out = io.StringIO()
    export_csv(tmp_path / "log", "privacy.spent", out)
    assert out.getvalue().splitlines()[1] == '2,0.5,0,1,release,bare-model,"{""a"": 0.5}",1'
    out = io.StringIO()
    export_csv(tmp_path / "log", "svt.tested", out)
    assert out.getvalue() == "seq,t,agent,round,passed,query\n3,0.5,0,1,true,\n"
    out = io.StringIO()
    export_csv(tmp_path / "log", "run.started", out)
    assert json.loads(next(csv.DictReader(io.StringIO(out.getvalue())))["edges"]) == [[0, 1]]


def test_an_unknown_kind_is_a_sentence_that_lists_the_known(log):
    with pytest.raises(SimnetError, match=r"'message\.sennt' is not a kind of event: choose one of run\.started, "):
        export_csv(log, "message.sennt", io.StringIO())


def test_a_damaged_log_is_not_exported_in_silence(log):
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(LogError, match=r"^cut short"):
        export_jsonl(log, io.StringIO())
    with pytest.raises(LogError, match=r"^cut short"):
        export_csv(log, "message.sent", io.StringIO())
