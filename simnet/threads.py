"""One BLAS thread: agents are small, and runs side by side must not fight over cores."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Inside, the libraries of linear algebra that are loaded use one thread."""
    limited: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """To look for the libraries takes milliseconds: it is done again if modules have been imported since."""
    return ThreadpoolController()
