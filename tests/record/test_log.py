import io
import json
import shutil
import subprocess
from base64 import b64decode
from hashlib import sha256

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import LogError
from simnet.record import events as ev
from simnet.record.lines import pack
from simnet.record.log import read
from simnet.record.sealed import SealedWriter, unpack_sealed
from tests.record.stories import forge, lawful, lines, start, write

STORY = lawful(agents=3, rounds=3)
RAW, DIGEST = write(STORY)


def refused(raw: bytes) -> str:
    """What the reader says about a log that it must not accept."""
    with pytest.raises(LogError) as caught:
        list(read(raw))
    return str(caught.value)


def test_what_was_written_is_read_back():
    found = list(read(RAW))
    assert [(t, event) for _, t, event in found][:-1] == STORY[:-1]
    assert [seq for seq, _, _ in found] == list(range(1, len(STORY) + 1))
    assert found[-1][2].digest == DIGEST


def test_the_seals_in_the_last_line_can_be_recomputed_by_anyone():
    *before, last = lines(RAW)
    seal = json.loads(last)
    assert seal["sha256"] == sha256(b"".join(before)).hexdigest()
    canonical = b""
    for raw in before:
        fields = json.loads(raw)
        if fields["event"] == "release.made":
            value = np.frombuffer(b64decode(fields["value"]), "<f8")
            exponent = int(np.floor(np.log10(np.abs(value).max()))) - 7
            counts = np.rint(value / 10.0**exponent).astype("<i4").tobytes()
            raw = raw.replace(fields["value"].encode(), b"").rstrip(b"\n")
            raw += f"{len(value)}:{exponent}:".encode() + counts + b"\n"
        canonical += raw
    canonical += last.replace(seal["digest"].encode(), b"").replace(seal["sha256"].encode(), b"")
    assert seal["digest"] == sha256(canonical).hexdigest() == DIGEST


def test_the_last_bits_of_a_release_do_not_change_the_digest_but_its_eighth_digit_does():
    def digest(first: float) -> str:
        released = ev.ReleaseMade(0, 1, pack(np.array([first, -0.25])))
        return write([(0.0, start(2, [(0, 1)])), (0.0, released), (0.0, ev.RunFinished([0, 0], "", ""))])[1]

    assert digest(0.123456789) == digest(np.nextafter(0.123456789, 1.0))
    assert digest(0.123456789) != digest(0.123456789 + 1e-8)


def test_the_same_story_gives_the_same_bytes():
    assert write(lawful(agents=3, rounds=3)) == (RAW, DIGEST)


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 12, 100, len(RAW) // 2, len(RAW) - 41, len(RAW) - 40, len(RAW) - 1])
def test_a_log_that_was_cut_is_reported_as_cut(length):
    assert refused(RAW[:length]).startswith("cut short")


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(RAW) - 1), st.integers(1, 255))
def test_no_byte_of_the_file_can_change_unnoticed(place, change):
    altered = bytearray(RAW)
    altered[place] ^= change
    assert refused(bytes(altered))


def test_not_even_a_byte_that_changes_nothing_that_is_unpacked():
    # The window size in the frame's header: a larger one unpacks to the very same lines.
    altered = bytearray(RAW)
    altered[5] += 8
    assert lines(bytes(altered)) == lines(RAW)
    assert refused(bytes(altered)).startswith("altered: the compressed data do not match their seal")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(RAW) - 1))
def test_no_byte_can_be_dropped_or_doubled(place):
    assert refused(RAW[:place] + RAW[place + 1 :])
    assert refused(RAW[:place] + RAW[place : place + 1] + RAW[place:])


@pytest.mark.parametrize("extra", [b"\n", b"\0", RAW])
def test_bytes_after_the_end_are_noticed(extra):
    assert refused(RAW + extra).startswith("altered: bytes follow the end of the log")


def test_a_log_that_was_packed_again_without_its_seal_is_noticed():
    assert refused(zstandard.compress(b"".join(lines(RAW)))).startswith("cut short: the seal")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_one_changed_digit_is_noticed_even_if_the_file_is_packed_again(data):
    text = bytearray(b"".join(lines(RAW)))
    place = data.draw(st.sampled_from([i for i, byte in enumerate(text) if chr(byte).isdigit()]))
    text[place] = data.draw(st.sampled_from([ord(d) for d in "0123456789" if ord(d) != text[place]]))
    assert refused(forge([bytes(text)]))


def test_a_figure_that_was_made_better_breaks_the_seal():
    better = [raw.replace(b'"test_error":0.25', b'"test_error":0.15') for raw in lines(RAW)]
    assert refused(forge(better)) == "altered: the events do not match the seal in the last line"


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_line_that_is_missing_doubled_or_moved_is_named(data):
    text = lines(RAW)
    i = data.draw(st.integers(0, len(text) - 2))
    assert refused(forge(text[:i] + text[i + 1 :])).startswith(f"line {i + 1}: ")
    assert refused(forge(text[: i + 1] + text[i:])).startswith(f"line {i + 2}: ")
    assert refused(forge([*text[:i], text[i + 1], text[i], *text[i + 2 :]])).startswith(f"line {i + 1}: ")


def test_a_log_without_its_last_line_is_cut_short_and_says_where():
    last = lines(RAW)[-2]
    message = refused(forge(lines(RAW)[:-1]))
    assert message.startswith("cut short: there is no run.finished")
    assert f"after event {json.loads(last)['seq']} at t = " in message


def test_a_cut_tells_how_far_one_can_read():
    story = lawful(agents=5, rounds=200)
    raw, _ = write(story)
    message = refused(raw[: len(raw) * 3 // 4])
    assert message.startswith("cut short: the compressed data have no end; what can be read ends after event ")


def test_a_last_line_without_newline_is_noticed():
    text = lines(RAW)
    assert "the last line has no end" in refused(forge([*text[:-1], text[-1].rstrip(b"\n")]))


def test_something_after_the_last_event_is_noticed():
    text = lines(RAW)
    extra = text[-1].replace(b'"seq":%d' % len(text), b'"seq":%d' % (len(text) + 1))
    assert "something follows the run's last event" in refused(forge([*text, extra]))


def test_time_does_not_run_backwards():
    text = lines(RAW)
    early = text[-1].replace(b'"t":', b'"t":-')
    assert "time runs from" in refused(forge([*text[:-1], early]))


@pytest.mark.parametrize("time", [b"1e999", b"1.2.3", b"nan", b"true", b'"1"'])
def test_a_time_is_a_number(time):
    text = [raw.replace(b'"t":0.0', b'"t":' + time) for raw in lines(RAW)]
    assert refused(forge(text)).startswith("line 1: ")


def test_a_log_of_a_later_schema_says_so_whatever_else_is_in_it():
    text = lines(RAW)
    later = text[0].replace(b'"schema":1', b'"schema":2,"colour":"blue"')
    assert refused(forge([later, *text[1:]])) == "line 1: written with event schema 2, and this simnet reads schema 1"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "not an event"),
        (b"hello", "not an event"),
        (b"[1]", "not an event"),
        (b'{"seq":2,"t":0.0}', "not an event"),
        (b'{"seq":2,"t":0.0,"event":"round.stopped","agent":0,"round":1}', "'round.stopped' is not a kind of event"),
        (b'{"seq":2,"t":0.0,"event":"round.started","agent":0}', "round.started: .*`round`"),
        (b'{"seq":2,"t":0.0,"event":"round.started","agent":"0","round":1}', "round.started: .*`int`"),
        (b'{"seq":2,"t":0.0,"event":"round.started","agent":0,"round":1,"mood":"good"}', "round.started: .*`mood`"),
        (b'{"seq":2,"t":0.0,"event":"round.started","agent":0,"round":1', "round.started: "),
        (b'{"seq":2,"t":0.0,"event":"release.made","agent":0,"round":1,"value":"%%"}', "not a packed vector"),
        (b'{"seq":2,"t":0.0,"event":"release.made","agent":0,"round":1,"value":"AAAA"}', "not a packed vector"),
        (b'{"seq":2,"t":0.0,"event":"run.started","schema":1}', "run.started: "),
        (b'{"seq":3,"t":0.0,"event":"round.started","agent":0,"round":1}', "event 2 should come here, not 3"),
        (b'{"seq":2,"t":0.0,"event":"round.started","agent":0,"round":1}\xff', "round.started: "),
        (b'{"seq":2,"t":0.0,"event":"privacy.spent","parameters":' + b'{"a":' * 9999, "privacy.spent: "),
    ],
)
def test_a_line_that_is_no_event_is_named_and_explained(line, why):
    first = lines(RAW)[0]
    with pytest.raises(LogError, match=f"^line 2: .*{why}"):
        list(read(forge([first, line + b"\n"])))


def test_a_log_starts_with_its_start():
    text = lines(RAW)
    headless = text[1].replace(b'"seq":2', b'"seq":1')
    assert refused(forge([headless])) == "line 1: a log starts with run.started, once"
    again = text[0].replace(b'"seq":1', b'"seq":2')
    assert refused(forge([text[0], again])) == "line 2: a log starts with run.started, once"


@pytest.mark.parametrize("raw", [b"not a log at all", b"PK\x03\x04" + bytes(100), b"{}\n" * 1000, bytes(64)])
def test_a_file_of_another_kind_is_no_log(raw):
    assert refused(raw).startswith("altered, or not a log")


def test_an_empty_file_a_folder_and_a_missing_file_are_sentences(tmp_path):
    (tmp_path / "empty").touch()
    for name, why in (("empty", "the file is empty"), ("", "is not a run folder"), ("missing", "No such file")):
        with pytest.raises(LogError, match=why):
            list(read(tmp_path / name))


def test_a_number_that_is_not_finite_never_enters_a_log():
    done = ev.EvaluationDone(1, 0.5, float("nan"), 0.5, 0.0, 0.0)
    with pytest.raises(LogError, match=r"event 2, evaluation\.done: a number is not finite"):
        write([(0.0, start(2, [(0, 1)])), (1.0, done)])


def test_lines_may_be_longer_than_any_block():
    edges = [(a, b) for a in range(300) for b in range(a)]
    released = ev.ReleaseMade(0, 1, pack(np.arange(50_000.0)))
    raw, _ = write([(0.0, start(300, edges)), (0.5, released), (1.0, ev.RunFinished([0] * 300, "", ""))])
    assert [event for _, _, event in read(raw)][:2] == [start(300, edges), released]


@given(
    st.lists(
        st.one_of(
            st.builds(ev.RoundStarted, st.integers(0, 9), st.integers(1, 9)),
            st.builds(ev.SolveFinished, st.integers(0, 9), st.integers(1, 9), st.integers(0, 99), st.none()),
            st.builds(
                ev.PrivacySpent,
                st.integers(0, 9),
                st.integers(1, 9),
                st.sampled_from(["release", "test"]),
                st.text(max_size=8),
                st.dictionaries(st.text(max_size=4), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
                st.integers(1, 3),
            ),
            st.builds(ev.FaultBegan, st.text(max_size=8), st.none() | st.integers(0, 9), st.none()),
        ),
        max_size=20,
    )
)
def test_any_events_survive_the_way_through_the_log(happened):
    story = [(0.0, start(2, [(0, 1)])), *((0.5, event) for event in happened), (1.0, ev.RunFinished([0, 0], "", ""))]
    found = [(t, event) for _, t, event in read(write(story)[0])]
    assert found[:-1] == story[:-1]


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
