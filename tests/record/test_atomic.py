from __future__ import annotations

import resource
import signal
import subprocess
import sys

import pytest

from simnet.errors import LiveError, SimnetError
from simnet.record.atomic import AtomicFolder, interrupts_waiting, refusing, sweep, write_file


def names(path):
    return sorted(each.name for each in path.iterdir())


def test_a_file_takes_the_place_of_the_one_before_and_nothing_else_stays(tmp_path):
    for content in (b"old", b"new"):
        write_file(tmp_path / "page.html", content)
        assert (tmp_path / "page.html").read_bytes() == content
    assert names(tmp_path) == ["page.html"]


def test_a_secret_file_is_closed_to_others_from_its_first_byte(tmp_path):
    write_file(tmp_path / "secret", b"42", mode=0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_leaves_the_old_file_whole_and_no_trace_of_the_new(tmp_path):
    write_file(tmp_path / "table", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_file(tmp_path / "table", b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "table").read_bytes() == b"old"
    assert names(tmp_path) == ["table"]


KILLED = """
import os, signal, sys
from pathlib import Path
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)  # dies when all is written and nothing renamed
from simnet.record.atomic import write_file
write_file(Path(sys.argv[1]) / "table", b"new")
"""


def test_a_process_killed_while_it_writes_leaves_the_old_file_and_a_leftover_that_is_swept(tmp_path):
    write_file(tmp_path / "table", b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "table").read_bytes() == b"old"
    assert len(names(tmp_path)) == 2
    sweep(tmp_path)
    assert names(tmp_path) == ["table"]


def test_sweeping_spares_what_is_not_a_leftover(tmp_path):
    (tmp_path / ".partial-notes").write_text("mine")
    (tmp_path / ".table.partial-00000000-999999").write_text("another machine's")
    folder = AtomicFolder(tmp_path)
    before = names(tmp_path)
    sweep(tmp_path)
    assert names(tmp_path) == before
    folder.discard()


def test_a_folder_that_is_discarded_after_its_commit_stays(tmp_path):
    folder = AtomicFolder(tmp_path / "deep")
    folder.add("a.txt", b"a")
    folder.commit(tmp_path / "deep" / "done")
    folder.discard()
    assert names(tmp_path / "deep") == ["done"]
    assert (tmp_path / "deep" / "done" / "a.txt").read_bytes() == b"a"


def test_an_interrupt_waits_for_the_end_and_then_comes():
    done = []

    def work():
        with interrupts_waiting():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores the signal
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["all of it"]


def test_what_the_system_says_becomes_a_sentence(tmp_path):
    with (
        pytest.raises(SimnetError, match=r"x: it cannot be kept \(No such file or directory\)"),
        refusing("x", "it cannot be kept"),
    ):
        (tmp_path / "none").read_bytes()
    with pytest.raises(LiveError), refusing("x", "it cannot be kept", LiveError):
        raise OSError("no reason")
