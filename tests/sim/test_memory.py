"""Garbage collection."""

from __future__ import annotations

import gc

import pytest

from simnet.sim.memory import gc_paused


@gc_paused()
def fail() -> None:
    assert not gc.isenabled()
    with gc_paused():
        pass
    assert not gc.isenabled(), "the inner rest ended the outer one"
    raise ZeroDivisionError


def test_the_collector_rests_inside_and_works_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        fail()
    assert gc.isenabled()
