"""How much of what takes long is tried: a part of it each time, all of it by `make explore`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pytest

from tests.conftest import PROFILE

T = TypeVar("T")
EVERYTHING = PROFILE == "explore"

thorough = pytest.mark.skipif(not EVERYTHING, reason="takes long: `make explore` tries it")


def some(cases: Iterable[T], every: int) -> list[T]:
    """Every so many of some cases, or all of them."""
    return [*cases][:: 1 if EVERYTHING else every]
