"""Writes docs/events.md from the event records: `python -m simnet.record.event_reference > docs/events.md`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator

from simnet.record import events

_INTRODUCTION = """\
# Events

A run's log, `events.jsonl.zst`, holds one JSON object per line, in the order in which things happened:

    {"seq":812,"t":3.2,"event":"message.lost","agent":2,"round":16,"peer":0,"message":77}

`seq` counts from 1, `t` is the simulated time in seconds and never goes back, `event` is one of the kinds
below; the kind's own fields follow in the order given here. Fields marked optional are left out when there is nothing
to say. The first line is `run.started`, the last `run.finished`.

| common field | type | means everywhere |
|---|---|---|
| `agent` | integer | the agent at which it happened, counted from 0 |
| `round` | integer | that agent's round, counted from 1; the sender's where a message arrives |
| `peer` | integer | the other end of the link |
| `message` | integer | the number by which a message is sent and meets its fate; ascending in the order of sending |

Models, queries and noise that the mechanisms did not release are not in a log unless `log.private = true`; the first
line says which it is. Figures that look at the data but are not released (`solve.finished`, `evaluation.done`) are
there for the study, not for an observer of the network.

## Seals

`zstd -dc events.jsonl.zst` shows the lines. The compressed data are followed by a skippable zstd frame that holds their
sha256, so that no byte of the file can change unnoticed. The last line holds two more:

- `sha256` of all bytes of the lines before it, newlines included;
- `digest`, the identity of the run, nearly everywhere the same: sha256 of the canonical lines, newlines included. A
  canonical line is the line itself, but for two kinds. In `release.made` the value is empty and the line is followed by
  the vector rounded to eight digits of its largest entry: `length:exponent:` and the entries as little-endian int32
  multiples of 10^exponent. In `run.finished` both seals are empty.

## Thinned logs

A large run makes more events than anyone wants to store. With `log.kinds` a log holds only some kinds, by their first
word; with `log.sample` only what happened at some of the agents, chosen by a hash of the seed and their number, and the
fates of what these sent. The run stays the same to the last digit, and so do `summary.json` and the tables. The first
line says that the log is thinned (its `scenario` holds the settings); only then `seq` has gaps. `simnet log verify`
checks what can be checked, the laws of the sampled agents included, and names the rest.

## Checks

`simnet log verify` checks all of it, and the laws: a message meets one fate, a round ends in a broadcast or a skip, a
release is paid for before it is made, staleness is what the deliveries say it is.
"""

_TYPES = {
    "int": "integer",
    "Whole": "integer",
    "float": "number",
    "str": "text",
    "bool": "true or false",
    "Any": "anything",
}


def reference() -> str:
    """The page."""
    return "\n".join((_INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    for kind, record in events.EVENTS.items():
        yield f"## {kind}\n"
        yield f"{inspect.getdoc(record)}\n"
        listed = list(fields(record))
        common = [f"`{name}`" for name, _, meaning in listed if name in events.COMMON and not meaning]
        if common:
            yield f"Common fields: {', '.join(common)}.\n"
        own = [field for field in listed if field[0] not in events.COMMON or field[2]]
        if own:
            yield "| field | type | meaning |\n|---|---|---|"
            yield from (f"| `{name}` | {type_} | {meaning} |" for name, type_, meaning in own)
            yield ""


def fields(record: type[events.Event]) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of a record's fields; the meaning is the string after the field."""
    for base in reversed(record.__mro__):
        if issubclass(base, events.Event):
            yield from _own_fields(ast.parse(inspect.getsource(base)).body[0])


def _own_fields(record: ast.stmt) -> Iterator[tuple[str, str, str]]:
    assert isinstance(record, ast.ClassDef)
    for node, after in zip(record.body, [*record.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if ast.unparse(node.annotation).startswith("ClassVar"):
            continue
        text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        yield node.target.id, _type(node.annotation) + _default(node.value), " ".join(str(text).split())


def _default(node: ast.expr | None) -> str:
    if node is None:
        return ""
    value = ast.literal_eval(node)
    return ", optional" if value is None else f", {value} if left out"


def _type(node: ast.expr) -> str:
    """A Python type in the words of a reader of JSON."""
    match node:
        case ast.Name(id=name):
            return _TYPES[name]
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            return _type(left)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            return ", ".join(f'`"{each}"`' for each in ast.literal_eval(values))
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return f"list of {_plural(_type(item))}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
            return f"pair of {_plural(_type(items[0]))}"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, value])):
            return f"object of {_plural(_type(value))}" if _type(value) != "anything" else "object"
    raise TypeError(f"{ast.unparse(node)}: say how a reader of JSON sees it")


def _plural(noun: str) -> str:
    first, *rest = noun.split(" ")
    return " ".join((first + "s", *rest))


if __name__ == "__main__":
    sys.stdout.write(reference())
