"""An event log as tables: one Parquet file per kind of event, with the columns that the kind's fields name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from simnet.record.atomic import AtomicFolder, finish, refusing
from simnet.record.events import EVENTS, Event
from simnet.record.log import read

if TYPE_CHECKING:
    import polars as pl

_AT_ONCE = 10_000
"""Events that are kept as objects."""


def export_parquet(path: Path, folder: Path) -> list[Path]:
    """Write `<kind>.parquet` for every kind of event, in the folder, also for kinds that did not happen.

    Columns are `seq`, `t` and the kind's fields; lists of numbers are lists, what is nested otherwise is JSON. Nothing
    is written of a log that is cut or altered, and nothing is seen before all is written.
    """
    tables = {kind: _Table(event) for kind, event in EVENTS.items()}
    for seq, t, event in read(path):
        tables[event.kind].add(seq, t, event)
    with refusing(folder, "the tables cannot be written"):
        made = AtomicFolder(folder.parent)
        try:
            for kind in EVENTS:
                tables.pop(kind).write(made.path / f"{kind}.parquet")
            made.commit(folder)
        finally:
            made.discard()
    return [folder / f"{kind}.parquet" for kind in EVENTS]


class _Table:
    """The events of one kind, packed into columns a few at a time."""

    def __init__(self, event: type[Event]) -> None:
        import polars as pl

        fields = {field.name: _kind_of(field.type) for field in msgspec.inspect.type_info(event).fields}  # type: ignore[attr-defined]
        self._fields = tuple(fields)
        self._schema: dict[str, Any] = {"seq": pl.Int64, "t": pl.Float64, **fields}
        self._texts = frozenset(name for name, kind in fields.items() if kind == pl.String)
        self._rows: list[tuple[Any, ...]] = []
        self._parts: list[pl.DataFrame] = []

    def add(self, seq: int, t: float, event: Event) -> None:
        values = (getattr(event, name) for name in self._fields)
        cells = (
            _text(value) if name in self._texts else value for name, value in zip(self._fields, values, strict=True)
        )
        self._rows.append((seq, t, *cells))
        if len(self._rows) == _AT_ONCE:
            self._pack()

    def _pack(self) -> None:
        import polars as pl

        self._parts.append(pl.DataFrame(self._rows, schema=self._schema, orient="row"))
        self._rows = []

    def write(self, path: Path) -> None:
        """Write the file, without a copy of it in memory."""
        import polars as pl

        self._pack()
        with path.open("wb") as file:
            pl.concat(self._parts).write_parquet(file)
            finish(file)


def _kind_of(kind: Any) -> Any:
    """The type of a column; texts are also what no column has a type for."""
    import polars as pl
    from msgspec import inspect

    if isinstance(kind, inspect.UnionType):
        kinds = [_kind_of(each) for each in kind.types if not isinstance(each, inspect.NoneType)]
        return kinds[0] if len(kinds) == 1 else pl.String
    if isinstance(kind, inspect.ListType):
        inner = _kind_of(kind.item_type)
        return pl.List(inner) if inner in (pl.Int64, pl.Float64) else pl.String
    plain = {inspect.IntType: pl.Int64, inspect.FloatType: pl.Float64, inspect.BoolType: pl.Boolean}
    return plain.get(type(kind), pl.String)


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
