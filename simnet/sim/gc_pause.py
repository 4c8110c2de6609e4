"""Rest for Python's collector of reference cycles while there is nothing for it to find.

Building a world and letting it happen make millions of objects that all stay, or that go as soon as nobody needs them.
None of them form cycles, and the collector would visit all of them again and again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting() -> Iterator[None]:
    """No collection inside; whoever calls it inside another changes nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
