"""Text from strangers, as it may stand on a terminal: no character that moves, colours, hides or reorders others."""

from __future__ import annotations

import re


def escaped(text: str) -> str:
    """The text without characters that break a line, hide, or cannot be printed.

    >>> escaped("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def escaped_json(text: str) -> str:
    """The same for a text that is JSON, and the same JSON; line ends between its values stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else numbered(char) for char in text)


def harmless(value: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula; numbers stay what they are.

    >>> harmless("=1+1"), harmless(-3), harmless("-0.5"), harmless("plain")
    ("'=1+1", -3, '-0.5', 'plain')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULAS) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def _escape(code: int) -> str:
    named = {9: r"\t", 10: r"\n", 13: r"\r"}
    return named.get(code) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def numbered(char: str) -> str:
    """A character as JSON writes it: two halves if it lies beyond 16 bits."""
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
