from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import LiveError
from simnet.live.journal import Journal, RecordKind, read

RECORDS = [
    (RecordKind.START, b"who"),
    (RecordKind.EVENT, b"one"),
    (RecordKind.HEARD, bytes(300)),
    (RecordKind.EVENT, b""),
    (RecordKind.STATE, b"s"),
]


def written(path, records=RECORDS):
    journal = Journal(path)
    for kind, body in records:
        journal.add(kind, body)
    journal.close()
    return path


def test_what_was_written_is_read_in_the_same_order(tmp_path):
    assert list(read(written(tmp_path / "journal"))) == RECORDS


def test_a_second_process_goes_on_at_the_end(tmp_path):
    path = written(tmp_path / "journal")
    written(path, [(RecordKind.EVENT, b"later")])

    assert list(read(path)) == [*RECORDS, (RecordKind.EVENT, b"later")]


@given(cut=st.integers(0, 10_000))
def test_a_journal_cut_anywhere_holds_everything_up_to_some_moment(tmp_path_factory, cut):
    path = written(tmp_path_factory.mktemp("cut") / "journal")
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % (len(whole) + 1)])

    left = list(read(path))

    assert left == RECORDS[: len(left)]


def test_a_last_record_of_zeros_is_what_a_power_failure_leaves_and_is_dropped(tmp_path):
    path = written(tmp_path / "journal")
    path.write_bytes(path.read_bytes() + bytes(50))

    assert list(read(path)) == RECORDS


@given(cut=st.integers(0, 10_000), zeros=st.integers(0, 700))
def test_a_journal_whose_end_has_become_zeros_holds_everything_up_to_some_moment(tmp_path_factory, cut, zeros):
    """A file system may know the new length of a file and not yet what is in it."""
    path = written(tmp_path_factory.mktemp("zeros") / "journal")
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % (len(whole) + 1)] + bytes(zeros))

    left = list(read(path))

    assert left == RECORDS[: len(left)]


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_before_the_last_record_is_not_mistaken_for_a_crash(tmp_path_factory, place, bit):
    path = written(tmp_path_factory.mktemp("flip") / "journal")
    data = bytearray(path.read_bytes())
    data[place % (len(data) - 14)] ^= 1 << bit
    path.write_bytes(data)

    with pytest.raises(LiveError, match="damaged at byte"):
        list(read(path))


def test_a_rewritten_journal_has_the_new_records_only_and_takes_more(tmp_path):
    journal = Journal(written(tmp_path / "journal"))

    journal.rewrite([(RecordKind.START, b"who"), (RecordKind.EVENT, b"kept")])
    journal.add(RecordKind.EVENT, b"new")
    journal.close()

    assert list(read(tmp_path / "journal")) == [
        (RecordKind.START, b"who"),
        (RecordKind.EVENT, b"kept"),
        (RecordKind.EVENT, b"new"),
    ]
    assert [entry.name for entry in tmp_path.iterdir()] == ["journal"]


def test_only_its_owner_may_read_a_journal(tmp_path):
    assert written(tmp_path / "journal").stat().st_mode & 0o077 == 0
