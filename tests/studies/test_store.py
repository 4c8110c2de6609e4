"""A study's folder is whole at every moment."""

from __future__ import annotations

import json
import os
import shutil
from itertools import product
from time import perf_counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import SimnetError
from simnet.record.atomic import AtomicFolder
from simnet.studies import PLAN, frames
from simnet.studies.pool import Record
from simnet.studies.results import StudyResult
from simnet.studies.runs import PlannedRun, plan
from simnet.studies.spec import Study
from simnet.studies.store import DONE, ROUNDS, RUNS, SUMS, Store
from tests.worlds import study_content

SUMMARY = {
    "scenario": "tiny",
    "digest": "d",
    "accuracy": {"test_error": 0.25, "train_loss": 0.5},
    "privacy": {"proven_epsilon": None, "basis": "none"},
    "communication": {"wire_bytes": 100},
    "staleness": {"mean": 0.0, "max": 0},
    "time": {"simulated": 1.5, "wall": 0.1, "events": 9},
}


def record(run: PlannedRun, **changes: object) -> Record:
    rounds = [{"round": number, "t": number / 2, "test_error": 0.5 / number} for number in (1, 2)]
    fields = {"summary": SUMMARY, "rounds": rounds} | changes
    return Record(run.key, "code", run.scenario.resolved(), run.seed, **fields)


@pytest.fixture
def study() -> Study:
    return Study.of(study_content())


def filled(folder, study, *, records=None) -> Store:
    store = Store(folder)
    with store.locked():
        store.write_plan(study, plan(study))
        for each in records or [record(run) for run in plan(study)]:
            store.add(each)
    return store


def loaded(folder) -> StudyResult:
    """As the sweep that owns the folder reads it."""
    return StudyResult.of(Store(folder))


def same(one: StudyResult, other: StudyResult) -> bool:
    return one.runs.equals(other.runs) and one.rounds.equals(other.rounds)


def test_every_state_between_two_steps_of_compaction_reads_the_same(study, tmp_path):
    runs = plan(study)
    filled(tmp_path / "before", study, records=[record(run) for run in runs[:2]]).compact()
    filled(tmp_path / "before", study, records=[record(run) for run in runs[2:]])
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    Store(tmp_path / "after").compact()
    after = loaded(tmp_path / "after")
    assert after.runs.height == 6
    assert not list((tmp_path / "after" / DONE).iterdir())
    loose = sorted(path.name for path in (tmp_path / "before" / DONE).iterdir())
    assert len(loose) == 4
    # What compaction has replaced and deleted so far, in its order.
    order = (SUMS, ROUNDS, RUNS)
    states = [*((order[:replaced], 0) for replaced in range(4)), (order, 3)]
    for step, (replaced, deleted) in enumerate(states):
        cut = tmp_path / f"cut{step}"
        shutil.copytree(tmp_path / "before", cut)
        for name in replaced:
            shutil.copy(tmp_path / "after" / name, cut / name)
        for name in loose[:deleted]:
            (cut / DONE / name).unlink()
        assert same(loaded(cut), after), f"cut after step {step}"
        Store(cut).compact()
        for name in (RUNS, ROUNDS):
            assert (cut / name).read_bytes() == (tmp_path / "after" / name).read_bytes()


def test_half_a_file_is_no_finished_run(study, tmp_path):
    store = filled(tmp_path, study)
    victim, other = sorted((tmp_path / DONE).iterdir())[:2]
    victim.write_bytes(victim.read_bytes()[:-40])
    other.rename(other.with_name("0" * 32 + ".json"))
    assert len(store.finished()) == 4
    assert loaded(tmp_path).runs.height == 4


def test_what_a_killed_writer_left_is_swept_away_and_never_read(study, tmp_path):
    store = filled(tmp_path, study)
    mine = AtomicFolder(tmp_path / DONE)
    dead = mine.path.name.replace(f"-{os.getpid()}-0", "-999999999")
    mine.discard()
    (tmp_path / DONE / f".abc.json{dead}").write_text("{")
    (tmp_path / f".runs.parquet{dead}").write_text("PAR1")
    assert len(store.finished()) == 6
    with store.locked():
        assert not list(tmp_path.rglob(".*partial*"))


def test_two_sweeps_of_one_study_do_not_meet(study, tmp_path):
    store = filled(tmp_path, study)
    with store.locked(), pytest.raises(SimnetError, match="another sweep is at work"), Store(tmp_path).locked():
        pass


def test_a_failed_run_is_final_only_if_simnet_refused_it(study, tmp_path):
    runs = plan(study)
    refused = record(runs[0], summary=None, rounds=[], error="no such budget")
    died = record(runs[1], summary=None, rounds=[], error="the worker died", final=False)
    store = filled(tmp_path, study, records=[refused, died, record(runs[2])])
    for _ in range(2):
        assert store.finished() == {runs[0].key, runs[2].key}
        store.compact()
    store.add(record(runs[1]))
    assert runs[1].key in store.finished()
    found = loaded(tmp_path)
    assert found.failures["error"].to_list() == ["no such budget"]
    assert found.rounds.filter(key=runs[1].key).height == 2


def test_a_study_that_changes_its_mind_keeps_what_it_has(study, tmp_path):
    filled(tmp_path, study).compact()
    smaller = Study.of(study_content(grid={"algorithm.eta": [0.2], "rounds": [3, 4]}))
    store = Store(tmp_path)
    with store.locked():
        store.write_plan(smaller, plan(smaller))
        store.compact()
    found = loaded(tmp_path)
    assert found.fields == ["algorithm.eta", "rounds"]
    assert found.runs.select("algorithm.eta", "rounds", "seed").rows() == [(0.2, 3, 1), (0.2, 3, 2)]
    with store.locked():
        store.write_plan(study, plan(study))
    assert loaded(tmp_path).runs.height == 6


def test_a_run_that_newer_code_has_done_again_is_dropped(study, tmp_path):
    runs = plan(study)
    old = [Record(f"{number:032x}", "older", run.scenario.resolved(), run.seed) for number, run in enumerate(runs)]
    store = filled(tmp_path, study, records=old)
    store.compact()
    store.add(record(runs[0]))
    store.compact()
    assert pl.read_parquet(tmp_path / RUNS).height == 6
    assert loaded(tmp_path).runs["key"].to_list() == [runs[0].key]


def test_ten_thousand_runs_load_in_under_a_second(tmp_path):
    grid = {"algorithm.eta": [number / 1000 for number in range(1, 101)], "rounds": [1, 2, 3, 4]}
    study = Study.of(study_content(grid=grid))
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    keys = [f"{number:032x}" for number in range(10_000)]
    told = {"name": "big", "question": None, "fields": study.fields, "together": study.together}
    listed = [{"key": key, "seed": n % 25, "settings": settings[n // 25]} for n, key in enumerate(keys)]
    (tmp_path / DONE).mkdir()
    (tmp_path / "study.json").write_text(json.dumps(told | {"runs": listed}))
    from simnet.studies import frames

    resolved = study.base.resolved()
    rows = [
        {"key": key, "seed": n % 25, "error": None, "final": True, "code": "c", "scenario": resolved, "rounds": []}
        | {"summary": SUMMARY | {"accuracy": {"test_error": n / 10_000, "train_loss": 1 / (n + 1)}}}
        for n, key in enumerate(keys)
    ]
    table = frames.assembled(told | {"runs": listed}, frames.runs_frame(rows))
    (tmp_path / RUNS).write_bytes(frames.parquet(table))
    rounds = pl.DataFrame({"key": keys}).join(pl.DataFrame({"round": range(1, 31), "test_error": 0.5}), how="cross")
    (tmp_path / ROUNDS).write_bytes(frames.parquet(rounds))
    started = perf_counter()
    found = loaded(tmp_path)
    assert found.runs.height == 10_000
    assert perf_counter() - started < 1.0
    assert found.rounds.height == 300_000


DAMAGES = {
    "cut": lambda raw: raw[: len(raw) // 2],
    "cut to nothing": lambda raw: b"",
    "garbage": lambda raw: bytes(range(256)) * 4,
    "framed garbage": lambda raw: b"PAR1" + bytes(range(256)) + b"PAR1",
    "another file": lambda raw: frames.parquet(pl.DataFrame({"x": [1]})),
    "one byte": lambda raw: raw[:200] + bytes([raw[200] ^ 4]) + raw[201:],
}


@pytest.mark.parametrize("name", [RUNS, ROUNDS])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_a_sentence_that_says_what_to_do(study, tmp_path, name, damage):
    """The reader of polars may end the process over one wrong byte, or read another number out of it."""
    store = filled(tmp_path, study)
    store.compact()
    (tmp_path / name).write_bytes(DAMAGES[damage]((tmp_path / name).read_bytes()))
    with pytest.raises(SimnetError, match=rf"{name} is damaged .*remove runs.parquet, rounds.parquet and sums.json"):
        store.tables()
    for each in (RUNS, ROUNDS, SUMS):
        (tmp_path / each).unlink()
    assert store.finished() == set()


@pytest.mark.parametrize("damage", [each for each in DAMAGES if each != "one byte"])
def test_a_damaged_table_of_a_version_without_sums_is_a_sentence_too(study, tmp_path, damage):
    store = filled(tmp_path, study)
    store.compact()
    (tmp_path / SUMS).unlink()
    assert len(store.finished()) == 6
    (tmp_path / RUNS).write_bytes(DAMAGES[damage]((tmp_path / RUNS).read_bytes()))
    with pytest.raises(SimnetError, match=r"runs.parquet is damaged"):
        store.finished()


def test_rounds_that_are_gone_are_missed(study, tmp_path):
    store = filled(tmp_path, study)
    store.compact()
    (tmp_path / ROUNDS).unlink()
    with pytest.raises(SimnetError, match=r"rounds.parquet is gone, and runs.parquet is not: remove"):
        store.tables()


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b"[" * 100_000])
def test_damaged_sums_are_a_sentence(study, tmp_path, content):
    store = filled(tmp_path, study)
    store.compact()
    (tmp_path / SUMS).write_bytes(content)
    with pytest.raises(SimnetError, match=r"sums.json is damaged"):
        store.finished()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"name": "x"}'),
        b'{"name": "x", "question": null, "fields": ["seed"], "together": [], "runs": []}',
        b'{"name": "x", "question": null, "fields": [], "together": [], "runs": [{"key": 1}]}',
    ],
)
def test_a_damaged_plan_is_a_sentence_and_a_sweep_writes_it_again(study, tmp_path, content):
    store = filled(tmp_path, study)
    (tmp_path / PLAN).write_bytes(content)
    with pytest.raises(SimnetError, match=r"study.json is damaged .*`simnet sweep` writes it again"):
        loaded(tmp_path)
    store.write_plan(study, plan(study))
    assert loaded(tmp_path).runs.height == 6


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
def test_whatever_stands_in_a_finished_runs_file_is_a_run_or_not_done(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("study")
    study = Study.of(study_content())
    store = filled(folder, study)
    path = min((folder / DONE).iterdir())
    content = json.loads(path.read_bytes())
    where = data.draw(st.sampled_from([(), *((key,) for key in content), *(("summary", key) for key in SUMMARY)]))
    spoiled: Any = data.draw(anything)
    if where:
        inside = content
        for step in where[:-1]:
            inside = inside[step]
        inside[where[-1]] = spoiled
        spoiled = content
    path.write_text(json.dumps(spoiled))
    done = len(store.finished())
    assert done in (5, 6)
    found = loaded(folder)
    assert found.runs.height in (5, 6)
    assert found.rounds.height >= 10
    store.compact()
    assert len(store.finished()) == done


@pytest.mark.parametrize(
    "harm", [lambda raw: raw[:100], lambda raw: b"", lambda raw: b"\x00" * 99, lambda raw: b"[" * 10**5]
)
def test_a_finished_run_whose_file_is_cut_is_done_again(study, tmp_path, harm):
    store = filled(tmp_path, study)
    path = min((tmp_path / DONE).iterdir())
    path.write_bytes(harm(path.read_bytes()))
    assert store.finished() == {run.key for run in plan(study)} - {path.stem}


def test_a_studys_file_is_not_its_folder(tmp_path):
    (tmp_path / "study.toml").write_text("name = 'x'\n")
    with pytest.raises(SimnetError, match=r"study\.toml is not a study's folder: .* `simnet sweep` makes such"):
        StudyResult.load(tmp_path / "study.toml")
