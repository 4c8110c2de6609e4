"""From the [data] section to the rows of each agent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import DataError, ScenarioError
from simnet.learning.dealing import PARTITIONS, DealtData, PartsOfObjectives, deal, even, skewed, uneven
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.learning.sources import FILE, SOURCES, Data

alphas = st.floats(1e-4, 1e6)
seeds = st.integers(0, 2**32)


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_every_row_has_one_holder(parts: list[np.ndarray], rows: int, agents: int) -> None:
    assert len(parts) == agents
    assert min(len(part) for part in parts) >= 1
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(rows))


@given(st.integers(1, 30), st.integers(0, 300), seeds)
def test_even_parts_differ_by_at_most_one_row(agents, spare, seed):
    parts = even(agents + spare, agents, generator(seed))
    assert_every_row_has_one_holder(parts, agents + spare, agents)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 20), st.integers(0, 300), alphas, seeds)
def test_uneven_parts_have_every_row_once_and_nobody_without_one(agents, spare, alpha, seed):
    rows = agents + spare
    parts = uneven(rows, agents, alpha, generator(seed))
    assert_every_row_has_one_holder(parts, rows, agents)


@given(st.integers(1, 20), st.integers(0, 300), st.floats(0, 1), alphas, seeds)
def test_skewed_parts_have_every_row_once_and_nobody_without_one(agents, spare, share, alpha, seed):
    rows = agents + spare
    y = np.where(generator(seed).random(rows) < share, 1.0, -1.0)
    parts = skewed(y, agents, alpha, generator(seed + 1))
    assert_every_row_has_one_holder(parts, rows, agents)


def test_rows_are_dealt_at_random_and_the_same_generator_deals_the_same():
    for divide in (
        lambda rng: even(1000, 4, rng),
        lambda rng: uneven(1000, 4, 1.0, rng),
        lambda rng: skewed(np.repeat([1.0, -1.0], 500), 4, 1.0, rng),
    ):
        first, again, other = divide(generator(1)), divide(generator(1)), divide(generator(2))
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
        # Nobody holds one run of consecutive rows.
        assert all(np.ptp(part) >= len(part) for part in first if 1 < len(part) < 500)


def test_uneven_sizes_have_the_variance_of_a_dirichlet_share():
    agents, rows, alpha = 5, 10_000, 2.0
    rng = generator(7)
    shares = np.array([[len(part) / rows for part in uneven(rows, agents, alpha, rng)] for _ in range(400)])
    # Var = (1/n)(1 − 1/n)/(nα + 1)
    expected = (1 / agents) * (1 - 1 / agents) / (agents * alpha + 1)
    assert shares.var() == pytest.approx(expected, rel=0.1)


def test_the_smaller_alpha_the_more_the_positive_shares_of_agents_differ():
    y = np.where(generator(3).random(5000) < 0.25, 1.0, -1.0)

    def spread(alpha: float) -> float:
        rng = generator(5)
        draws = [np.std([np.mean(y[part] > 0) for part in skewed(y, 8, alpha, rng)]) for _ in range(20)]
        return float(np.mean(draws))

    strong, mild, none = spread(0.1), spread(2.0), spread(1e6)
    assert strong > 2 * mild > 4 * none
    assert none < 0.01


def test_with_huge_alpha_each_class_is_shared_out_evenly():
    y = np.repeat([1.0, -1.0], [300, 900])
    for part in skewed(y, 3, 1e6, generator(0)):
        assert abs(np.sum(y[part] > 0) - 100) <= 1
        assert abs(np.sum(y[part] < 0) - 300) <= 2


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan"), 1e300])
def test_an_alpha_that_is_no_dirichlet_parameter_is_refused(alpha):
    with pytest.raises(DataError, match="alpha"):
        uneven(10, 2, alpha, generator(0))
    with pytest.raises(DataError, match="alpha"):
        skewed(np.ones(10), 2, alpha, generator(0))


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


def test_a_source_tells_which_files_it_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMNET_DATA", str(tmp_path))
    (tmp_path / "a9a").mkdir()
    train, test = tmp_path / "a9a/a9a.xz", tmp_path / "a9a/a9a.t.xz"
    for path in (train, test, tmp_path / "mine.csv"):
        path.touch()
    for source, files in {
        "a9a": [train, test],
        "mine.csv": [tmp_path / "mine.csv"],
        "adult": [],
        "twonorm": [],
    }.items():
        data = Data(source=source)
        assert data.origin is SOURCES.get(source, FILE)
        assert data.origin.files(data, Path) == files


@pytest.mark.parametrize("source", ["adult", "synthetic", "twonorm", "ringnorm", "waveform"])
def test_a_built_in_source_gives_rows_under_its_name(source):
    data = Data(source=source)
    whole, test = data.origin.read(data, Path, np.random.default_rng(1))
    assert (whole.name, test) == (source, None)
    assert whole.rows == (45_222 if source == "adult" else 5_000)
