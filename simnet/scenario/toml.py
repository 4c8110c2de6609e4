"""TOML as a person sees it: read whatever they wrote, and quote a value back to them on one short line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from itertools import islice
from typing import Any

from simnet.errors import ScenarioError
from simnet.printable import escaped

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 48
_DEEPEST = 3


def parse(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text; `name` says in the error where the text came from."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = escaped(str(error))
    except RecursionError:
        reason = "brackets are nested too deeply"
    except ValueError:  # Python refuses to read an integer of thousands of digits
        reason = "a number has too many digits"
    raise ScenarioError(f"{escaped(name)}: not valid TOML: {shortened(reason, 120)}")


def shown(value: object) -> str:
    """A value as it could stand in the file, shortened; always one line.

    >>> shown({"kind": "lognormal", "median": 0.02})
    '{ kind = "lognormal", median = 0.02 }'
    """
    return shortened(_written(value, _DEEPEST), _LONGEST)


def key(part: str | int) -> str:
    """One part of a dotted path, quoted where TOML asks for quotes."""
    text = str(part)
    return shortened(text, _LONGEST) if _BARE_KEY.fullmatch(text) else shown(text)


def dotted(path: Sequence[str | int]) -> str:
    """A path as it could be written in the file; a list's entries are counted from 0.

    >>> dotted(["network", "override", 0, "from"])
    'network.override.0.from'
    """
    return shortened(".".join(map(key, path)), 2 * _LONGEST)


def shortened(text: str, most: int) -> str:
    """The text, or its beginning if it is long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _written(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        inside = escaped(value[:_LONGEST].replace("\\", "\\\\").replace('"', '\\"'))
        return f'"{shortened(inside, _LONGEST - 2)}"'
    if isinstance(value, int):
        # Python refuses to write an integer of thousands of digits.
        return str(value) if value.bit_length() < 10_000 else f"(an integer of {value.bit_length():,} bits)"
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = [f"{key(str(name))} = {_inside(item, depth)}" for name, item in islice(value.items(), _LONGEST)]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_inside(item, depth) for item in islice(value, _LONGEST))}]"
    if value is None:
        return "nothing"
    return escaped(str(value)[: _LONGEST + 1])


def _inside(value: Any, depth: int) -> str:
    return _written(value, depth - 1) if depth > 0 else "…"
