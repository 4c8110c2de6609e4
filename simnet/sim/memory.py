"""No garbage collection where there is no garbage.

A run makes millions of objects that all stay, or that go as soon as nobody needs them. None of them form cycles, and
Python's collector of cycles would visit all of them again and again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No collection inside; whoever calls it inside another changes nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
