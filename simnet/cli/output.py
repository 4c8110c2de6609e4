"""Where every command prints: nothing that a stranger wrote reaches the terminal as anything but text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from simnet.printable import escaped, escaped_json

if TYPE_CHECKING:
    from simnet.record.formats import Writable


def say(sentence: object, *, err: bool = False) -> None:
    """Print one line."""
    typer.echo(escaped(str(sentence)), err=err)


def exact() -> Writable:
    """Where machine-readable lines go, byte by byte; a terminal gets them with all that it would obey escaped."""
    return _Screen() if sys.stdout.isatty() else sys.stdout


class _Screen:
    """The terminal."""

    def write(self, text: str, /) -> None:
        sys.stdout.write(escaped_json(text))
