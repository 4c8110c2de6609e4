"""Bytes and seconds for people."""

from __future__ import annotations

import doctest

import pytest

from simnet.record import amounts
from simnet.record.amounts import byte_unit, told_bytes, told_seconds


def test_the_examples_are_right():
    assert doctest.testmod(amounts).failed == 0


@pytest.mark.parametrize(
    ("counts", "unit"),
    [([], "B"), ([0, 0], "B"), ([900], "B"), ([0, 1_000], "kB"), ([3_424, 68e6], "kB"), ([1_000_000, 5e9], "MB")],
)
def test_no_count_of_a_column_is_less_than_its_unit(counts, unit):
    assert byte_unit(counts)[1] == unit


def test_a_small_run_does_not_send_nothing_in_no_time():
    assert (told_bytes(3_424), told_seconds(0.0042)) == ("3.424 kB", "4.2 ms")
