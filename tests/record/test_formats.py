import csv
import io
import json
import math

from hypothesis import given
from hypothesis import strategies as st

from simnet.record.formats import csv_text, flat, json_text


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
