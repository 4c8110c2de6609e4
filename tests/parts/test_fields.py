"""Field types accept what they say, and nothing that only looks like it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simnet.parts.fields import Either, Number, Text, YesNo

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
BOUNDS = st.floats(-1e9, 1e9)


@given(ANYTHING, BOUNDS, BOUNDS, st.booleans(), st.booleans())
def test_a_number_is_accepted_exactly_within_its_bounds(
    value: Any, low: float, high: float, open_low: bool, open_high: bool
) -> None:
    assume(low < high)
    check = Number("what", low, high, open_low, open_high)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    inside = number and low <= value <= high and not (open_low and value == low) and not (open_high and value == high)
    if inside:
        assert check(value) == float(value)
    else:
        with pytest.raises(ValueError, match="what"):
            check(value)


@given(st.integers(-(2**60), 2**60))
def test_a_whole_number_is_kept_to_the_last_digit_or_refused(value: int) -> None:
    check = Number("what", 0, 2**53, whole=True)
    if 0 <= value <= 2**53:
        assert check(value) == value
    else:
        with pytest.raises(ValueError):
            check(value)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 10**309, -(10**309)], ids=lambda value: f"{value!r:.5}"
)
def test_no_number_is_infinite_even_without_bounds(value: float) -> None:
    with pytest.raises(ValueError):
        Number("what")(value)


def test_numbers_of_numpy_are_numbers_but_its_booleans_are_not() -> None:
    assert Number("what", 0, 9, whole=True)(np.int64(3)) == 3
    assert Number("what")(np.float32(0.5)) == 0.5
    with pytest.raises(ValueError):
        Number("what")(np.bool_(True))


def test_a_limit_that_the_words_leave_out_is_said_when_it_is_passed() -> None:
    with pytest.raises(ValueError, match="at least 0, and at most 1,000"):
        Number("at least 0", 0, 1000)(1001)
    with pytest.raises(ValueError, match="above 0, and finite"):
        Number("above 0", 0)(math.inf)


@given(ANYTHING)
def test_a_text_is_one_line_and_not_blank(value: Any) -> None:
    check = Text("what")
    try:
        accepted = check(value)
    except ValueError:
        bad = not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value.splitlines()) > 1
        assert bad
    else:
        assert accepted == value
        assert accepted.strip()
        assert accepted.splitlines() == [accepted]
        assert "\0" not in accepted
        accepted.encode()


@pytest.mark.parametrize("value", [0, 1, "true", "yes", None, 1.0])
def test_a_switch_is_true_or_false_and_nothing_like_it(value: Any) -> None:
    with pytest.raises(ValueError, match="true or false"):
        YesNo("true or false")(value)


def test_either_takes_the_first_that_fits() -> None:
    check = Either("a text or a whole number", (Text("a text"), Number("a whole number", 0, 9, whole=True)))
    assert check("3") == "3"
    assert check(3.0) == 3
    with pytest.raises(ValueError, match="a text or a whole number"):
        check(3.5)
