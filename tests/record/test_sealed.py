import io
import shutil
import subprocess

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import LogError
from simnet.record.sealed import SealedWriter, unpack_sealed


def sealed(*blocks: bytes) -> bytes:
    sink = io.BytesIO()
    writer = SealedWriter(sink)
    for block in blocks:
        writer.write(block)
    writer.close()
    assert not sink.closed
    return sink.getvalue()


@given(st.lists(st.binary(max_size=50_000), max_size=5))
def test_what_goes_in_comes_out(blocks):
    assert b"".join(unpack_sealed(sealed(*blocks))) == b"".join(blocks)


def test_every_change_of_every_byte_is_noticed():
    raw = sealed(b"the quick brown fox jumps over the lazy dog\n" * 20)
    for place in range(len(raw)):
        for change in (1, 8, 0x80, 0xFF):
            altered = bytearray(raw)
            altered[place] ^= change
            with pytest.raises(LogError):
                list(unpack_sealed(bytes(altered)))


def test_every_cut_is_noticed():
    raw = sealed(b"one\ntwo\n" * 100)
    for length in range(len(raw)):
        with pytest.raises(LogError, match=r"^cut short"):
            list(unpack_sealed(raw[:length]))


def test_other_tools_pass_over_the_seal(tmp_path):
    raw = sealed(b"hello\n")
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw), read_across_frames=True) as reader:
        assert reader.read() == b"hello\n"
    if (zstd := shutil.which("zstd")) is None:
        pytest.skip("zstd is not installed here")
    (tmp_path / "log.zst").write_bytes(raw)
    done = subprocess.run([zstd, "-dc", tmp_path / "log.zst"], capture_output=True, check=True)
    assert done.stdout == b"hello\n"


def test_a_small_file_that_unpacks_to_much_comes_in_bearable_blocks():
    raw = sealed(bytes(1 << 27))
    assert max(map(len, unpack_sealed(raw))) < 1 << 27
