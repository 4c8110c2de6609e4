"""Text from strangers, as it may stand on a terminal, in JSON and in a spreadsheet."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.printable import escaped, escaped_json, harmless

ODD = "\x00 \x07 \x1b[31m \x7f \x9b \u200b \u202e \u2066 \u2028 \ufeff \U000e0041 \ud800 \r"


@given(st.text())
def test_nothing_that_cannot_be_printed_is_left(text):
    assert escaped(text + ODD).isprintable()


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co", "Zs"))))
def test_what_can_be_printed_stays(text):
    assert escaped(text) == text


@given(
    st.recursive(
        st.text() | st.just(ODD) | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_stays_the_same_json(value):
    text = json.dumps(value, ensure_ascii=False, indent=1)
    shown = escaped_json(text)
    assert json.loads(shown) == value
    assert all(char.isprintable() or char == "\n" for char in shown)


@pytest.mark.parametrize("cell", ["=1+1", "+A1", "-A1", "-1+A1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_is_no_formula(cell):
    assert harmless(cell) == "'" + cell


@pytest.mark.parametrize("cell", [-1, 1.5, -0.25, None, True, "", "1", "-1", "+2.5e-3", "a=b"])
def test_numbers_and_plain_words_stay(cell):
    assert harmless(cell) is cell
