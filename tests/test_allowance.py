"""How much memory a file may take: what is refused before it is there, and what is noticed while it grows."""

from __future__ import annotations

import os

import pytest

from simnet.allowance import Allowance, checked, read_whole, resident
from simnet.errors import DataError


def test_the_process_is_seen_to_grow():
    before = resident()
    block = bytearray(os.urandom(1 << 10) * (30 << 10))
    assert 25 << 20 < resident() - before < 60 << 20
    assert len(block) == 30 << 20


def test_growth_is_noticed_while_items_come():
    kept: list[bytearray] = []
    blocks = (bytearray(os.urandom(1 << 10) * 64) for _ in range(10_000))
    with pytest.raises(DataError, match="more than 20 MB of memory"):
        kept.extend(checked(blocks, Allowance(DataError, 20)))
    assert 16 << 20 < sum(map(len, kept)) < 150 << 20


def test_what_would_be_too_large_is_refused_with_the_way_out():
    with pytest.raises(DataError) as refused:
        Allowance(DataError).need(1e12, "an array of 10 × 10")
    assert str(refused.value) == (
        "an array of 10 × 10 would take more than 64 MB of memory; SIMNET_MEMORY=1000 in the environment allows "
        "1000 MB, if you trust the file"
    )


@pytest.mark.parametrize(("given", "megabytes"), [("500", 500), ("", 64), ("0", 64), ("much", 64), ("-3", 64)])
def test_the_environment_allows_more(monkeypatch, given, megabytes):
    monkeypatch.setenv("SIMNET_MEMORY", given)
    assert Allowance(DataError).bytes == megabytes * 1_000_000


@pytest.mark.parametrize(
    "text", [b"[" * 600_000 + b"]" * 600_000, b"[" + b"1," * 900_000 + b"1]", b'"' + b"x" * 5_000_000 + b'"']
)
def test_a_text_is_weighed_by_what_it_becomes(text):
    with pytest.raises(DataError, match="would take more than 64 MB"):
        Allowance(DataError).json(text)
    Allowance(DataError, 1000).json(text)


def test_a_file_is_read_as_a_whole_only_if_it_fits(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 1_000_001)
    with pytest.raises(DataError, match="a file of more than 1,000,000 bytes"):
        read_whole(tmp_path / "a", Allowance(DataError, 16), 16)
    assert len(read_whole(tmp_path / "a", Allowance(DataError, 17), 16)) == 1_000_001


def test_what_is_no_plain_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError, match="not a plain file"):
            read_whole(path, Allowance(DataError))
