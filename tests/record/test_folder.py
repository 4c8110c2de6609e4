import getpass
import json
import platform
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from simnet.errors import LogError, SimnetError
from simnet.record.folder import RunFolder, environment, load_summary, slug
from simnet.record.log import find_log, read
from simnet.record.log_writer import LogWriter
from simnet.version import VERSION
from tests.record.stories import lawful, store, write

DIGEST = "0123456789abcdef" * 4


def commit(folder: RunFolder, digest: str = DIGEST, wall: float = 1.0):
    rows = [{"round": 1, "loss": 0.1, "epsilon": None}, {"round": 2, "loss": 1e-17, "epsilon": None}]
    return folder.commit(digest, 'name = "é"\n', rows, [], {"digest": digest, "time": {"wall": wall}})


def tree(path):
    return sorted(str(each.relative_to(path)) for each in path.rglob("*"))


def test_a_run_lies_under_its_name_and_digest(tmp_path):
    with RunFolder(tmp_path / "runs", "IPP-ADMM, lossy WAN!") as folder:
        folder.log.write(b"log")
        path = commit(folder)
    assert path == tmp_path / "runs" / "ipp-admm-lossy-wan" / "0123456789ab"
    names = ["agents.csv", "environment.json", "events.jsonl.zst", "rounds.csv", "scenario.toml", "summary.json"]
    assert tree(path) == names
    assert (path / "events.jsonl.zst").read_bytes() == b"log"
    assert (path / "rounds.csv").read_bytes() == b"round,loss,epsilon\n1,0.1,\n2,1e-17,\n"
    assert (path / "scenario.toml").read_text(encoding="utf-8") == 'name = "é"\n'
    assert load_summary(path) == {"digest": DIGEST, "time": {"wall": 1.0}}
    assert list((tmp_path / "runs" / "ipp-admm-lossy-wan").iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyboardInterrupt(), SystemExit(1)])
def test_a_run_that_stops_leaves_no_trace_not_even_the_folders_above(tmp_path, error):
    def run():
        with RunFolder(tmp_path / "deep" / "runs", "x") as folder:
            folder.log.write(b"half a log")
            assert tree(tmp_path) != []
            raise error

    with pytest.raises(type(error)):
        run()
    assert tree(tmp_path) == []


def test_leaving_without_commit_is_stopping(tmp_path):
    with RunFolder(tmp_path / "runs", "x"):
        pass
    assert tree(tmp_path) == []


def test_a_run_that_stops_leaves_its_neighbours_alone(tmp_path):
    with RunFolder(tmp_path, "x") as folder:
        path = commit(folder)
    before = tree(tmp_path)
    with RunFolder(tmp_path, "x"):
        pass
    assert tree(tmp_path) == before
    assert load_summary(path)["digest"] == DIGEST


def test_nobody_sees_a_run_before_it_is_complete(tmp_path):
    with RunFolder(tmp_path, "x") as folder:
        folder.log.write(b"log")
        assert all(each.name.startswith(".") for each in (tmp_path / "x").iterdir())
        commit(folder)
        assert [each.name for each in (tmp_path / "x").iterdir()] == [DIGEST[:12]]


def test_the_same_run_again_replaces_the_first(tmp_path):
    for wall in (1.0, 2.0):
        with RunFolder(tmp_path, "x") as folder:
            folder.log.write(b"log")
            path = commit(folder, wall=wall)
    assert load_summary(path)["time"]["wall"] == 2.0
    assert [each.name for each in (tmp_path / "x").iterdir()] == [DIGEST[:12]]


def test_a_reader_never_misses_a_file_while_a_run_is_replaced(tmp_path):
    with RunFolder(tmp_path, "x") as folder:
        path = commit(folder)
    names = tree(path)
    stop, seen = threading.Event(), []

    def look():
        while not stop.is_set():
            seen.append(load_summary(path)["digest"] == DIGEST and all((path / name).stat() for name in names))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for wall in range(30):
            with RunFolder(tmp_path, "x") as folder:
                commit(folder, wall=wall)
    finally:
        stop.set()
        watcher.join()
    assert len(seen) > 1
    assert all(seen)


def test_what_a_user_put_beside_a_run_survives_the_same_run_again(tmp_path):
    with RunFolder(tmp_path, "x") as folder:
        path = commit(folder)
    (path / "figure.png").write_bytes(b"mine")
    (path / "rounds.csv").unlink()
    with RunFolder(tmp_path, "x") as folder:
        commit(folder)
    assert (path / "figure.png").read_bytes() == b"mine"
    assert (path / "rounds.csv").exists()
    assert list((tmp_path / "x").iterdir()) == [path]


def test_runs_of_one_name_at_one_time_do_not_disturb_each_other(tmp_path):
    with RunFolder(tmp_path, "x") as one, RunFolder(tmp_path, "x") as two:
        one.log.write(b"one")
        two.log.write(b"two")
        first, second = commit(one, "a" * 64), commit(two, "b" * 64)
    assert (first / "events.jsonl.zst").read_bytes() == b"one"
    assert (second / "events.jsonl.zst").read_bytes() == b"two"


KILLED = """
import sys, os, signal
from pathlib import Path
from simnet.record.folder import RunFolder
with RunFolder(Path(sys.argv[1]), "x") as folder:
    folder.log.write(b"half a log")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_leaves_is_swept_by_the_next_run_of_that_name(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    (leftover,) = (tmp_path / "x").iterdir()
    assert leftover.name.startswith(".partial-")
    with RunFolder(tmp_path, "x") as folder:
        assert not leftover.exists()
        path = commit(folder)
    assert list((tmp_path / "x").iterdir()) == [path]


def test_what_a_living_process_or_another_machine_works_on_is_left_alone(tmp_path):
    with RunFolder(tmp_path, "x") as mine:
        (own,) = (tmp_path / "x").iterdir()
        elsewhere = own.with_name(".partial-00000000-999999-0")
        elsewhere.mkdir()
        with RunFolder(tmp_path, "x"):
            assert own.exists()
            assert elsewhere.exists()
        commit(mine)


def test_a_place_that_is_no_folder_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(SimnetError, match=r"file.*: the run cannot be stored \(") as caught, RunFolder(out, "x"):
            pass
        assert "\n" not in str(caught.value)
    (tmp_path / "x").write_text("")
    with pytest.raises(SimnetError, match="the run cannot be stored"), RunFolder(tmp_path, "x"):
        pass


def test_a_file_in_the_way_of_a_run_is_a_sentence_and_leaves_no_trace(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / DIGEST[:12]).write_text("mine")
    with (
        pytest.raises(SimnetError, match=f"{DIGEST[:12]}: the run cannot be stored"),
        RunFolder(tmp_path, "x") as folder,
    ):
        commit(folder)
    assert tree(tmp_path) == ["x", f"x/{DIGEST[:12]}"]


def test_a_full_disk_is_a_sentence_and_leaves_no_trace(tmp_path):
    def run():
        with RunFolder(tmp_path / "runs", "x") as folder:
            writer = LogWriter(folder.log)
            for seq, (t, event) in enumerate(lawful(agents=5, rounds=150), start=1):
                writer(seq, t, event)
            writer.close()
            commit(folder)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(SimnetError, match=r"events\.jsonl\.zst: the run cannot be stored \(File too large\)"):
            run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert tree(tmp_path) == []


def test_a_log_is_found_by_its_folder_or_by_itself(tmp_path):
    path = store(lawful(), tmp_path)
    log = path / "events.jsonl.zst"
    assert find_log(path) == find_log(log) == log
    assert next(read(path))[2].kind == "run.started"
    with pytest.raises(LogError, match=r"is not a run folder: it holds no events\.jsonl\.zst"):
        find_log(tmp_path)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is not JSON"), (b"\xff\xfe", "is not JSON"), (b"[" * 10**5, "is not JSON"), (b"[1]", "one JSON object")],
)
def test_a_broken_summary_is_a_sentence(tmp_path, content, why):
    (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(LogError, match=f"summary.json .*{why}"):
        load_summary(tmp_path)


def test_a_missing_summary_is_a_sentence(tmp_path):
    with pytest.raises(LogError, match=r"summary\.json: No such file"):
        load_summary(tmp_path)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("quickstart", "quickstart"),
        ("IPP-ADMM on Adult, 5 % loss", "ipp-admm-on-adult-5-loss"),
        ("../../etc/passwd", "etc-passwd"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("Löss über Straße", "löss-über-strasse"),
        ("x" * 500, "x" * 60),
        ("a/b\\c:d\0e", "a-b-c-d-e"),
        ("-rf", "rf"),
    ],
)
def test_a_name_becomes_the_name_of_a_folder(name, folder):
    assert slug(name) == folder


def test_what_is_stored_is_what_was_written(tmp_path):
    raw, digest = write(lawful())
    path = store(lawful(), tmp_path)
    assert (path / "events.jsonl.zst").read_bytes() == raw
    assert path.name == digest[:12]
    assert json.loads((path / "summary.json").read_bytes())["digest"] == digest


def test_the_environment_tells_what_decides_the_last_bits():
    found = environment()
    assert found["simnet"] == VERSION
    assert found["python"].endswith(platform.python_version())
    assert found["packages"]["numpy"] == np.__version__
    assert found["packages"].keys() >= {"scipy", "simpy", "networkx", "structlog"}
    assert all(isinstance(name, str) and name for name in found["blas"])


def test_the_environment_tells_nothing_about_the_machine_its_user_or_its_paths():
    text = json.dumps(environment())
    assert "/" not in text
    assert "\\\\" not in text
    for secret in (platform.node(), getpass.getuser(), Path.home().name, Path.cwd().name):
        assert f'"{secret}"' not in text
        assert f" {secret}" not in text
