"""Ctrl-C and SIGTERM as an exception of our own."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM. Not a KeyboardInterrupt, which typer would swallow in silence."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.kept = "nothing was kept"
        """what the user is told about the work so far"""


def raise_interrupted() -> None:
    """From now on both signals raise `Interrupted`."""
    _handle(_interrupt)


def _interrupt(number: int, _frame: object) -> None:
    # An impatient user sends a second signal, and so does `timeout`: it must not cut short what answers the first.
    _handle(signal.SIG_IGN)
    raise Interrupted(number)


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
