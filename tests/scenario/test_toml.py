"""Whatever a person writes is read or refused in one line, and quoted back in one line."""

from __future__ import annotations

import tomllib
from datetime import date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import ScenarioError
from simnet.scenario.toml import dotted, escaped, parse, shown
from tests.parts.test_fields import ANYTHING
from tests.scenario.test_overrides import refusal

SHORT = st.text(max_size=8)
WRITABLE = st.recursive(
    st.booleans() | st.integers(-999, 999) | st.floats(0, 1) | SHORT | st.dates(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(SHORT, inner, max_size=2),
    max_leaves=3,
)


@given(st.text())
def test_any_text_is_toml_or_one_printable_sentence(text: str) -> None:
    said = refusal(lambda: parse(text, "a\nfile"))
    assert said is None or (said.isprintable() and said.startswith("a\\nfile: not valid TOML: "))


@pytest.mark.parametrize("much", ["[", "{a=", "9"])
def test_what_python_cannot_hold_is_refused_like_any_mistake(much: str) -> None:
    with pytest.raises(ScenarioError, match="not valid TOML"):
        parse(f"x = {much * 9999}", "file")


@given(ANYTHING)
def test_a_shown_value_is_one_short_printable_line(value: Any) -> None:
    assert shown(value).isprintable()
    assert 0 < len(shown(value)) <= 48


@given(WRITABLE)
def test_a_short_value_is_shown_as_toml_that_means_it(value: Any) -> None:
    if "…" not in shown(value):
        assert tomllib.loads(f"value = {shown(value)}") == {"value": value}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("20 ms", '"20 ms"'),
        ('say "x"\n', r'"say \"x\"\n"'),
        ([1, 2.5], "[1, 2.5]"),
        ({"kind": "ring", "a b": 1}, '{ kind = "ring", "a b" = 1 }'),
        ({}, "{}"),
        (None, "nothing"),
        (date(2024, 1, 2), "2024-01-02"),
        (datetime(2024, 1, 2, 3, 4), "2024-01-02T03:04:00"),
        (time(3, 4), "03:04:00"),
        (float("nan"), "nan"),
        ("x" * 99, '"' + "x" * 45 + '…"'),
        ([[[[[1]]]]], "[[[[…]]]]"),
    ],
)
def test_values_are_shown_as_they_could_stand_in_the_file(value: Any, text: str) -> None:
    assert shown(value) == text


def test_an_integer_that_python_cannot_print_is_measured_instead() -> None:
    assert shown(1 << 99_999) == "(an integer of 100,000 bits)"


def test_a_path_is_quoted_where_toml_asks_for_quotes() -> None:
    assert dotted(["network", "override", 0, "from"]) == "network.override.0.from"
    assert dotted(["a.b", "c d", ""]) == '"a.b"."c d".""'


@given(st.text(st.characters(codec=None)))
def test_escaping_hides_nothing_and_breaks_no_line(text: str) -> None:
    assert escaped(text).isprintable()
    assert len(escaped(text)) >= len(text)
