"""The tables have every event of the log, field by field."""

from __future__ import annotations

import errno
import json
import os

import msgspec
import polars as pl
import pytest

from simnet import run
from simnet.errors import LogError, SimnetError
from simnet.record.events import EVENTS
from simnet.record.log import find_log, read
from simnet.record.parquet import export_parquet
from tests.called import called
from tests.worlds import world


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = run(world(rounds=4, network={"link": {"loss": 0.2}}), tmp_path_factory.mktemp("runs")).folder
    assert found is not None
    return found


def test_every_field_of_every_event_is_in_the_table_of_its_kind(folder, tmp_path):
    code, out, _ = called("log", "export", str(folder), "--parquet", str(tmp_path / "tables"))
    assert (code, out) == (0, f"wrote {len(EVENTS)} tables into {tmp_path / 'tables'}\n")
    for kind in EVENTS:
        rows = pl.read_parquet(tmp_path / "tables" / f"{kind}.parquet").to_dicts()
        own = ((seq, t, event) for seq, t, event in read(folder) if event.kind == kind)
        told = [{"seq": seq, "t": t, **json.loads(msgspec.json.encode(event))} for seq, t, event in own]
        assert len(rows) == len(told)
        for row, event in zip(rows, told, strict=True):
            for name, value in event.items():
                found = row[name]
                if isinstance(found, str) and not isinstance(value, str):
                    found = json.loads(found)
                assert found == value, (kind, name)


def test_numbers_are_numbers_also_where_nothing_happened(folder, tmp_path):
    export_parquet(folder, tmp_path)
    schema = pl.read_parquet_schema(tmp_path / "air.used.parquet")
    assert (schema["agent"], schema["airtime"]) == (pl.Int64, pl.Float64)
    assert pl.read_parquet(tmp_path / "run.finished.parquet").schema["rounds"] == pl.List(pl.Int64)


def test_an_altered_log_gives_no_table(folder, tmp_path):
    log = tmp_path / "events.jsonl.zst"
    content = find_log(folder).read_bytes()
    log.write_bytes(content[:-20])
    with pytest.raises(LogError):
        export_parquet(log, tmp_path / "tables")
    assert not (tmp_path / "tables").exists()


def test_tables_that_cannot_all_be_written_are_none(folder, tmp_path, monkeypatch):
    def full(table: pl.DataFrame, file: object) -> None:
        if "airtime" in table.columns:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(SimnetError, match=r"tables: the tables cannot be written \(No space left on device\)"):
        export_parquet(folder, tmp_path / "tables")
    assert [*tmp_path.iterdir()] == []


def test_tables_take_the_place_of_earlier_ones(folder, tmp_path):
    export_parquet(folder, tmp_path / "tables")
    (tmp_path / "tables" / "message.sent.parquet").write_bytes(b"old")
    (tmp_path / "tables" / "mine.txt").write_text("stays")
    written = export_parquet(folder, tmp_path / "tables")
    assert {*written, tmp_path / "tables" / "mine.txt"} == {*(tmp_path / "tables").iterdir()}
    assert not pl.read_parquet(tmp_path / "tables" / "message.sent.parquet").is_empty()
