"""Text files from strangers: any way of packing, and little memory whatever they unpack to."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from simnet.allowance import Allowance, resident
from simnet.errors import DataError
from simnet.learning import file_formats
from simnet.learning.csv_tables import comma_separated
from simnet.learning.table_form import TableForm
from simnet.learning.text_lines import text_lines

PACKERS = {"xz": lzma, "gz": gzip, "bz2": bz2}
ROOM = 110_000_000
"""Bytes by which this process may grow: the allowance, and what a step may take before it is noticed."""


def packed(folder: Path, name: str, block: bytes, times: int) -> Path:
    """A file of one block, often."""
    path = folder / name
    with PACKERS[name.rpartition(".")[2]].open(path, "wb") as handle:
        for _ in range(times):
            handle.write(block)
    return path


def refusal(reader, path: Path, *arguments: object) -> str:
    before = resident()
    with pytest.raises(DataError) as refused:
        reader(path, *arguments)
    assert resident() - before < ROOM
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_line_without_an_end_is_not_waited_for(tmp_path, suffix):
    path = packed(tmp_path, f"a.{suffix}", b"1" * (1 << 20), 64)
    assert path.stat().st_size < 100_000
    assert "a line of 4,000,000 characters would take more than 64 MB" in refusal(file_formats.libsvm, path)
    path = path.rename(tmp_path / f"a.csv.{suffix}")
    assert "a line of 4,000,000 characters" in refusal(comma_separated, path)


@pytest.mark.parametrize("line", [b"\n", b"#\n", b"   \n"])
def test_lines_that_say_nothing_come_to_an_end(tmp_path, line):
    path = packed(tmp_path, "a.gz", line * (1 << 18), 100)
    assert "100,000 lines in a row say nothing" in refusal(file_formats.libsvm, path)


@pytest.mark.parametrize(
    ("name", "block", "why"),
    [
        ("rows.gz", b"1 1:1\n-1 1:2\n" * 50_000, "would take more than 16 MB"),
        ("rows.csv.gz", b"1,1,0\n1,1,1\n" * 50_000, "would take more than 16 MB"),
        ("open.csv.gz", b'1,1,0\n"' + b"a\n" * 500_000, "field larger than field limit"),
        ("quoted.csv.gz", b'"a\n","b",' * 100_000, "would take more than 16 MB"),
    ],
)
def test_rows_without_an_end_are_refused_while_they_come(tmp_path, monkeypatch, name, block, why):
    monkeypatch.setenv("SIMNET_MEMORY", "16")
    reader = comma_separated if ".csv" in name else file_formats.libsvm
    assert why in refusal(reader, packed(tmp_path, name, block, 60))


def test_an_xz_file_gets_no_more_memory_than_it_may_have(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29, "preset": 0}]
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"1 1:1\n", filters=filters))
    assert "Memory usage limit exceeded" in refusal(file_formats.libsvm, tmp_path / "a.xz")


def test_what_xz_packs_best_is_read_without_being_asked_for_memory(tmp_path):
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"1 1:1\n-1 1:2\n", preset=9 | lzma.PRESET_EXTREME))
    assert len(file_formats.libsvm(tmp_path / "a.xz")[1]) == 2


def test_many_streams_with_zeros_between_them_are_one_file(tmp_path):
    streams = [
        lzma.compress(b"one\n"),
        bytes(8),
        lzma.compress(b"two\n" * 50_000),
        bytes(40_000),
        lzma.compress(b"3\n"),
    ]
    (tmp_path / "a.xz").write_bytes(b"".join(streams))
    with text_lines(tmp_path / "a.xz", Allowance(DataError)) as lines:
        assert list(lines) == ["one\n", *["two\n"] * 50_000, "3\n"]
    (tmp_path / "a.xz").write_bytes(b"".join(streams)[:-5])
    with pytest.raises(DataError, match="cannot be read"), text_lines(tmp_path / "a.xz", Allowance(DataError)) as lines:
        list(lines)


def test_a_column_far_to_the_right_is_no_model_of_gigabytes(tmp_path):
    (tmp_path / "a.svm").write_text("1 2147483647:1\n-1 1:1\n")
    assert "a model of 2,147,483,647 features would take" in refusal(file_formats.libsvm, tmp_path / "a.svm")


SECRET = "root:x:0:0:hunter2:/root:/bin/bash\nhunter2 hunter2\n"


@pytest.mark.parametrize("text", [SECRET, SECRET * 2, f"user,password\n{SECRET}", "-----BEGIN KEY-----\nhunter2\n"])
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("passwd", None),
        ("passwd.csv", TableForm()),
        ("passwd.csv", TableForm("name")),
        ("passwd.csv", TableForm(separator=":")),
        ("passwd.csv", TableForm("name", separator=":", categorical=("job",), missing="drop")),
        ("passwd.csv", TableForm(separator=" ")),
        ("passwd.csv", TableForm(separator=" ", drop=("id",))),
    ],
)
def test_a_file_that_is_no_data_is_not_quoted(tmp_path, text, name, form):
    (tmp_path / name).write_text(text)
    reader, *more = (file_formats.libsvm,) if form is None else (comma_separated, form)
    told = refusal(reader, tmp_path / name, *more)
    for word in ("hunter2", "root", "password", "BEGIN"):
        assert word not in told.replace(str(tmp_path), "")
