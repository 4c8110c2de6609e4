"""The scenario file explained in the models' own words.

`python -m simnet.scenario.reference` prints docs/scenario.md.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import reduce
from inspect import cleandoc, getdoc
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simnet.parts.fields import BITS_PER_SECOND, BYTES, SECONDS
from simnet.scenario import Scenario
from simnet.scenario.schema import Path, Place, Table, fields, kind_of, place
from simnet.scenario.toml import dotted, shown

_WIDTH = 110

_EXAMPLE = """
name = "my scenario"
seed = 1
rounds = 30

[data]
source = "adult"
train = 35000
partition = "even"

[topology]
kind = "random"
agents = 5
mean_degree = 3

[algorithm]
name = "ipp-admm"
eta = 0.01
regulariser = 1e-4
max_releases = 15
threshold = 1e-3
clip = 2.0

[privacy]
epsilon = 1.0
delta = 1e-4
calibration = "proven"

[network]
codec = "float64"

[network.pacing]
kind = "deadline"
period = "200 ms"

[network.link]
bandwidth = "10 Mbit/s"
queue = 64
loss = { kind = "bernoulli", p = 0.05 }

[network.link.latency]
kind = "lognormal"
median = "40 ms"
sigma = 0.5

[compute]
time = "20 ms"
"""

_INTRODUCTION = """
# The scenario file

<!-- Generated from the models: python -m simnet.scenario.reference > docs/scenario.md -->

A scenario is a TOML file that describes one run completely: the same scenario and seed give the same events.
Only `algorithm.name` must be written; everything else has a default. A mistake is answered with one sentence that names
the field and says what would be right: `network.link.loss.p = 1.4: a probability lies between 0 and 1`.

Quantities are in seconds, bytes and bits per second. Text with a unit is accepted wherever a quantity is:
{times} for times, {sizes} for sizes, {rates} for bit rates.
A probability or a share may be a percentage: `"5%"` is 0.05.

`--set` overrides any field from the command line: `--set algorithm.eta=0.05`, `--set 'network.link.latency=20 ms'`,
`--set network.override.0.agent=2`. The value is TOML, and a bare word or quantity is a text. In Python:
`scenario.with_(**{{"algorithm.eta": 0.05}})`.

`simnet schema > scenario.schema.json` writes the same as a JSON Schema, and `simnet schema study` that of studies.
Editors complete fields and mark mistakes by it: with Taplo (Even Better TOML), write `#:schema scenario.schema.json`
as the first line of a scenario.

A complete example, which `simnet init` writes too:

```toml
{example}```
"""


def reference() -> str:
    """docs/scenario.md: every table and field, what may stand there, and its default."""
    introduction = cleandoc(_INTRODUCTION).format(
        times=_units(SECONDS), sizes=_units(BYTES), rates=_units(BITS_PER_SECOND), example=commented()
    )
    return "\n\n".join([introduction, *_sections(Place(tables=(Scenario,)), (), {})]) + "\n"


_FIRST = "# A scenario for simnet: `simnet explain FILE` says what it means, `simnet run FILE` runs it."


def commented(text: str = _EXAMPLE, why: Mapping[str, str] | None = None, first: str = _FIRST) -> str:
    """A complete scenario to start from; each field is explained by a comment, or by `why` it is as it is.

    `text` has one field per line and an empty line before each section.
    """
    scenario, why = Scenario.loads(text), why or {}
    blocks = [first]
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        header = [line for line in lines if line.startswith("[")]
        at = tuple(part for line in header for part in line.strip("[]").split("."))
        about = [f"# {_capital(_explained(scenario, at))}" for _ in header]
        keys = lines[len(header) :]
        names = [line.partition(" = ")[0] for line in keys]
        comments = [why.get(".".join((*at, name))) or _comment(scenario, at, name) for name in names]
        blocks.append("\n".join([*about, *header, *_beside(keys, comments)]))
    return "\n\n".join(blocks) + "\n"


def _comment(scenario: Scenario, at: tuple[str, ...], name: str) -> str:
    """What one field of the scenario is for, and what else it could be."""
    words = _explained(scenario, (*at, name))
    tables, here = (_place_of(scenario, path) for path in (at, (*at, name)))
    if name == tables.tag:
        others = [kind for kind in tables.kinds if kind not in here.choices]
        return f"{words} (or {', '.join(others)})"
    choices = [*here.choices, *here.kinds]
    if all(choice in words for choice in choices):
        return words
    return f"{words} ({', '.join(choices)})"


def _explained(scenario: Scenario, path: tuple[str, ...]) -> str:
    """The field's description; a kind or a section without one is described by its table."""
    *parents, name = path
    table = _at(scenario, (*parents,))
    info = fields(type(table))[name]
    described = info.description or paragraph(type(_at(scenario, path) if place(info).tables else table))
    return described.replace("`", "").removesuffix(".")


def _place_of(scenario: Scenario, path: tuple[str, ...]) -> Place:
    if not path:
        return Place(tables=(Scenario,))
    return place(fields(type(_at(scenario, path[:-1])))[path[-1]])


def _at(scenario: Scenario, path: tuple[str, ...]) -> Any:
    return reduce(getattr, path, scenario)


def _beside(lines: list[str], comments: list[str]) -> Iterator[str]:
    """Comments beside the lines where they fit, and above them where they do not."""
    fitting = [line for line, comment in zip(lines, comments, strict=True) if len(line) + len(comment) < _WIDTH - 4]
    column = max(map(len, fitting), default=0) + 2
    for line, comment in zip(lines, comments, strict=True):
        if line in fitting and column + len(comment) + 2 <= _WIDTH:
            yield f"{line:{column}}# {comment}"
        else:
            yield from (f"# {part}" for part in textwrap.wrap(comment, _WIDTH - 2, break_on_hyphens=False))
            yield line


def _sections(here: Place, at: Path, seen: dict[tuple[Table, ...], str]) -> Iterator[str]:
    """A place that holds tables, then the places inside it; tables that are used twice are explained once."""
    tables = here if here.item is None else here.item
    if not tables.tables or tables.tables in seen:
        return
    title = f"[[{dotted(at)}]]" if here.item is not None else f"[{dotted(at)}]" if at else "At the top"
    seen[tables.tables] = _link(at)
    yield f"## {f'`{title}`' if at else title}\n\n{_about(tables)}"
    if rows := list(_rows(tables, at, seen)):
        columns = ["field", *(["of"] if len(tables.tables) > 1 else []), "value", "default", "meaning"]
        yield "\n".join(map(_row, [columns, ["---"] * len(columns), *rows]))
    for table in tables.tables:
        for name, info in fields(table).items():
            yield from _sections(place(info), (*at, name), seen)


def _about(here: Place) -> str:
    """What the tables of a place are, each kind in a line, and what may stand for them in short."""
    if here.tag is None:
        return paragraph(here.tables[0])
    kinds = [f"- `{kind}`: {paragraph(table)}" for kind, table in here.kinds.items()]
    short = [f"In short, {_uncapital(getdoc(check) or '')}" for check in here.checks]
    if here.value is not None:
        short.append(f"Or no table, but {getattr(here.value, 'what', 'a value')}.")
    return "\n\n".join([f"`{here.tag}` is one of:", "\n".join(kinds), *short])


def _rows(here: Place, at: Path, seen: dict[tuple[Table, ...], str]) -> Iterator[list[str]]:
    """One row per field; kinds that have the same field share the row."""
    seen = dict(seen)
    owners: dict[tuple[str, ...], list[str]] = {}
    for table in here.tables:
        for name, info in fields(table).items():
            if name != here.tag:
                row = (f"`{name}`", _value(info, (*at, name), seen), _default(info), _meaning(info))
                owners.setdefault(row, []).append(f"`{kind_of(table)}`")
    for (name, *rest), kinds in owners.items():
        owner = "all" if len(kinds) == len(here.tables) else ", ".join(kinds)
        yield [name, *([owner] if len(here.tables) > 1 else []), *rest]


def _value(info: FieldInfo, at: Path, seen: dict[tuple[Table, ...], str]) -> str:
    here = place(info)
    tables = (here.item or here).tables
    if tables:
        plain = "" if here.value is None else f"{getattr(here.value, 'what', 'a value')}, or "
        plain = "a word, or " if here.one_of is not None and here.one_of.bare else plain
        return f"{plain}{'tables' if here.item else 'a table'}: {seen.setdefault(tables, _link(at))}"
    return ", ".join(f"`{choice}`" for choice in here.choices) or here.what


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    default, one_of = info.get_default(call_default_factory=True), place(info).one_of
    if one_of is not None and one_of.bare:
        default = kind_of(type(default))
    if isinstance(default, BaseModel):
        default = default.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return "—" if default in (None, (), {}) else f"`{shown(default)}`"


def _meaning(info: FieldInfo) -> str:
    tables = place(info).tables
    return info.description or (paragraph(tables[0]) if len(tables) == 1 else "")


def field_cells(info: FieldInfo) -> tuple[str, str, str]:
    """What may stand in a field, its default, and what it means."""
    return _value(info, (), {}), _default(info), _meaning(info)


def _row(cells: list[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _link(at: Path) -> str:
    return f"[`{dotted(at)}`](#{dotted(at).replace('.', '')})"


def paragraph(table: Table) -> str:
    """The first paragraph of a table's docstring."""
    return " ".join((getdoc(table) or "").partition("\n\n")[0].split())


def _units(units: Mapping[str, Decimal]) -> str:
    """One spelling of each unit."""
    spellings = {size: unit for unit, size in reversed([*units.items()])}
    return ", ".join(f"`{spellings[size]}`" for size in dict.fromkeys(units.values()))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _uncapital(text: str) -> str:
    return text[:1].lower() + text[1:]


if __name__ == "__main__":
    sys.stdout.write(reference())
