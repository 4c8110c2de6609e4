"""Field types accept what they say, and nothing that only looks like it; quantities with units are exact numbers."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from simnet.parts.fields import BITS_PER_SECOND, BYTES, SECONDS, Either, Number, Positive, Text, YesNo, quantity

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


POWERS = {"ns": -9, "us": -6, "ms": -3, "s": 0}


@given(st.integers(0, 10**6), st.integers(0, 9), st.sampled_from(sorted(POWERS)))
def test_a_time_with_a_unit_is_the_same_number_as_with_an_exponent(whole: int, tenths: int, unit: str) -> None:
    assert quantity(f"{whole}.{tenths} {unit}", SECONDS) == float(f"{whole}.{tenths}e{POWERS[unit]}")


@given(
    st.integers(0, 10**9), st.sampled_from([("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("kB", 10**3), ("B", 1)])
)
def test_sizes_are_exact(count: int, unit: tuple[str, int]) -> None:
    name, size = unit
    assert Fraction(quantity(f"{count}{name}", BYTES)) == Fraction(float(count * size))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_without_a_unit_is_in_the_base_unit(number: float) -> None:
    assert quantity(repr(number), SECONDS) == number


def test_a_byte_rate_is_eight_times_the_bit_rate() -> None:
    assert quantity("3 MB/s", BITS_PER_SECOND) == quantity("24 Mbit/s", BITS_PER_SECOND) == 24e6


@pytest.mark.parametrize("micro", ["us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"])
def test_microseconds_may_be_written_in_three_ways(micro: str) -> None:
    assert quantity(f"35 {micro}", SECONDS) == 35e-6


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ms",
        "20 m",
        "20 MS",
        "2 0 ms",
        "20 ms ms",
        "1,5 s",
        "٣ s",
        "0x10 s",
        "nan",
        "inf s",
        "1e999999999999999999999 s",
    ],
)
def test_anything_else_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError):
        quantity(text, SECONDS)


@given(st.text())
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(quantity(text, SECONDS), float)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0, "a number above 0"),
        (1e-31, "a number above 0, and at least 1e-30"),
        (1e31, "a number above 0, and at most 1e+30"),
    ],
)
def test_the_smallest_and_the_largest_number_are_told_to_whom_they_concern(value, sentence):
    with pytest.raises(ValidationError) as refusal:
        TypeAdapter(Positive).validate_python(value)
    assert str(refusal.value.errors()[0]["ctx"]["error"]) == sentence
    assert TypeAdapter(Positive).validate_python(1e-30) == 1e-30
