"""From the [data] section to the rows of each agent."""

from __future__ import annotations

import bz2
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import ScenarioError
from simnet.learning.data_section import Data
from simnet.learning.dealing import DealtData, PartsOfObjectives, deal
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.learning.partitions import PARTITIONS


def dealt(agents: int = 5, seed: int = 1, public_share: float | None = None, **fields) -> DealtData:
    fields = {"source": "synthetic", "rows": 200, "features": 3} | fields
    return deal(Data(**fields), seed, Path, agents, public_share)


def rows_of(data: DealtData) -> set[bytes]:
    return {np.asarray(row).tobytes() for part in data.parts for row in part.X}


@pytest.mark.parametrize("partition", PARTITIONS)
def test_every_training_row_is_dealt_once_and_no_test_row(partition):
    found = dealt(partition=partition, train=160)
    assert sum(found.rows) == 160
    assert found.test.rows == 40
    assert found.features == 3
    assert len(rows_of(found)) == 160
    assert not rows_of(found) & {np.asarray(row).tobytes() for row in found.test.X}


def test_the_seed_of_the_section_fixes_the_rows_but_not_who_holds_them():
    one, other = dealt(seed=1), dealt(seed=2)
    assert rows_of(one) != rows_of(other)
    deals = [deal(Data(source="synthetic", rows=200, features=3, seed=7), seed, Path, 5) for seed in (1, 2)]
    assert rows_of(deals[0]) == rows_of(deals[1])
    assert deals[0].parts[0].X.tolist() != deals[1].parts[0].X.tolist()


def all_rows(data: DealtData) -> list[bytes]:
    """Every row that a run may touch, training and test, with how often."""
    tested = [np.asarray(row).tobytes() for row in data.test.X]
    return sorted([np.asarray(row).tobytes() for part in data.parts for row in part.X] + tested)


@given(seeds=st.tuples(*[st.integers(0, 2**31)] * 3), tuning=st.one_of(st.floats(0.1, 0.8), st.integers(20, 150)))
@settings(max_examples=25)
def test_no_row_of_a_run_that_tunes_is_a_row_of_a_run_that_reports_whatever_their_seeds(seeds, tuning):
    data_seed, one, other = seeds
    plain = {"seed_of_rows": data_seed, "scale": "rows"}
    tunes, reports, whole = (
        deal_of(one, tuning=tuning, use="tuning", **plain),
        deal_of(other, tuning=tuning, **plain),
        deal_of(one, **plain),
    )
    assert not set(all_rows(tunes)) & set(all_rows(reports))
    assert sorted(all_rows(tunes) + all_rows(reports)) == all_rows(whole)


def deal_of(seed: int, seed_of_rows: int | None = 3, **fields) -> DealtData:
    return deal(Data(source="synthetic", rows=200, features=3, seed=seed_of_rows, **fields), seed, Path, 4)


@pytest.mark.parametrize("use", [None, "tuning"])
def test_the_test_rows_are_the_same_under_every_seed_of_the_scenario(use):
    one, other = (deal_of(seed, tuning=0.3, use=use) for seed in (1, 2))
    assert np.array_equal(one.test.X, other.test.X)
    assert rows_of(one) == rows_of(other)
    assert not np.array_equal(one.parts[0].X, other.parts[0].X)


@given(
    seeds=st.tuples(st.integers(0, 2**31), st.integers(0, 2**31)).filter(lambda both: both[0] != both[1]),
    use=st.sampled_from([None, "tuning"]),
)
@settings(max_examples=15)
def test_a_split_made_anew_by_each_seed_moves_no_row_over_to_the_rows_set_aside(seeds, use):
    one, other = (deal_of(seed, tuning=100, use=use, resplit=True) for seed in seeds)
    fixed, opposite = deal_of(1, tuning=100, use=use), deal_of(2, tuning=100, use=None if use else "tuning")
    assert not np.array_equal(one.test.X, other.test.X)
    assert rows_of(one) != rows_of(other)
    peaks = [np.abs(np.vstack([part.X for part in [*found.parts, found.test]])).max() for found in (one, other, fixed)]
    assert len(set(peaks)) == 1
    assert all_rows(one) == all_rows(other) == all_rows(fixed)
    assert not set(all_rows(one)) & set(all_rows(opposite))


def test_what_tunes_sees_nothing_of_the_others_not_even_their_largest_entry(tmp_path):
    """A column's peak belongs to one row and changes all that are scaled by it."""
    X = np.random.default_rng(1).normal(size=(60, 3))
    y = np.sign(X[:, 0])
    kept = []
    for change in (None, *range(0, 60, 7)):
        rows = X.copy()
        if change is not None:
            rows[change] *= 1000.0
        np.savetxt(tmp_path / "rows.csv", np.column_stack([rows, y]), delimiter=",")
        kept.append(all_rows(deal(file_of(tmp_path, "tuning"), 1, Path, 2)))
    same = [each == kept[0] for each in kept[1:]]
    assert 0 < sum(same) < len(same), "a row that is not set aside changes nothing, and one that is does"


def file_of(folder: Path, use: str | None) -> Data:
    return Data(source=str(folder / "rows.csv"), seed=5, tuning=0.4, use=use)


def test_a_test_file_is_for_reports_alone(tmp_path):
    rng = np.random.default_rng(2)
    for name, rows in (("rows.trn.bz2", 40), ("rows.tst.bz2", 20)):
        lines = (f"{1 if x[0] > 0 else -1} 1:{x[0]:.6f} 2:{x[1]:.6f}" for x in rng.normal(size=(rows, 2)))
        (tmp_path / name).write_bytes(bz2.compress(("\n".join(lines) + "\n").encode()))
    section = {"source": str(tmp_path / "rows.trn.bz2"), "seed": 1, "tuning": 10}
    reports, tunes = deal(Data(**section), 1, Path, 2), deal(Data(**section, use="tuning"), 1, Path, 2)
    assert (sum(reports.rows), reports.test.rows) == (30, 20)
    assert (sum(tunes.rows), tunes.test.rows) == (8, 2)
    with pytest.raises(ScenarioError, match=r"data\.resplit: the source has test rows of its own"):
        deal(Data(**section, resplit=True), 1, Path, 2)
    assert deal(Data(**section, resplit=True, train=20), 1, Path, 2).test.rows == 10


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"tuning": 0.2, "seed_of_rows": None}, "without data.seed each seed sets other rows aside"),
        ({"use": "tuning"}, "use: no rows are set aside; data.tuning says how many"),
        ({"tuning": 200}, "data.tuning = 200: of 200 rows some are set aside, and some are left"),
        ({"tuning": 1.5}, "a number of rows of at least 1, or a share below 1"),
        ({"resplit": True, "seed_of_rows": None}, "resplit: without data.seed each seed of the scenario splits anew"),
    ],
)
def test_rows_that_cannot_be_set_aside_are_refused_with_the_field_to_change(fields, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        deal_of(1, **fields)


def test_public_rows_are_a_share_of_the_test_rows_and_leave_it():
    found = dealt(train=160, public_share=0.25)
    assert found.public.shape == (10, 3)
    assert found.test.rows == 30
    with pytest.raises(ScenarioError, match=r"algorithm.graph_share = 0.25: the rows outside the training set \(1\)"):
        dealt(train=199, public_share=0.25)


def test_what_cannot_be_dealt_is_refused_with_the_field_to_change():
    with pytest.raises(ScenarioError, match=r"topology.agents = 161: more agents than the 160 training rows"):
        dealt(agents=161)
    with pytest.raises(ScenarioError, match=r"data.train = 200: synthetic: 200 training rows of 200"):
        dealt(train=200)
    with pytest.raises(ScenarioError, match=r"data.source = 'nowhere.csv': there is no data file"):
        deal(Data(source="nowhere.csv"), 1, Path, 5)


def test_parts_come_back_from_the_objectives_that_hold_them():
    found = dealt()
    kept = PartsOfObjectives("synthetic", [LocalObjective(part.X, part.y, LOGISTIC, 0.1) for part in found.parts])
    assert len(kept) == 5
    for one, other in zip(kept, found.parts, strict=True):
        assert one.name == other.name
        assert one.X.tolist() == np.asarray(other.X).tolist()
        assert one.y.tolist() == other.y.tolist()
    assert [part.rows for part in kept[1:3]] == found.rows[1:3]
