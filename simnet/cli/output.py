"""Where every command prints: nothing that a stranger wrote reaches the terminal as anything but text."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TYPE_CHECKING

import typer

from simnet.printable import escaped, escaped_json, numbered

if TYPE_CHECKING:
    from simnet.record.formats import Writable


def speak_ascii_too() -> None:
    """From now on a stream that cannot write a sign writes its number, as JSON does, and nothing fails over an ε."""
    codecs.register_error("simnet", _numbered)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="simnet")


def _numbered(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(numbered, error.object[error.start : error.end])), error.end


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
