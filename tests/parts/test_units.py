"""Quantities with units are exactly the numbers that one would have written."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.parts.units import BITS_PER_SECOND, BYTES, SECONDS, quantity

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
