"""Who gets which rows, and partitions of the user's own."""

from __future__ import annotations

from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario
from simnet.build import build
from simnet.errors import DataError, ScenarioError
from simnet.learning.dataset import Dataset
from simnet.learning.partitions import PARTITIONS, RowPartition, even, skewed, uneven
from simnet.record.fitness import ROWS_DEAL

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


class Fixed(RowPartition):
    """Deals what the test wants."""

    parts: tuple[tuple[int, ...], ...]

    @property
    def word(self):
        return "own.py:Fixed"

    def deal(self, rows, agents, rng):
        return self.parts


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (((0, 1, 2, 3),), "it deals to 1 agents, and there are 2"),
        (((0, 1, 2, 3), ()), "agent 1 gets no row"),
        (((0, 1), (1, 2, 3)), "each of the 4 training rows belongs to exactly one agent"),
        (((0, 1), (2,)), "each of the 4 training rows belongs to exactly one agent"),
        (((0, 1), (2, 4)), "each of the 4 training rows belongs to exactly one agent"),
    ],
)
def test_what_a_partition_of_the_users_own_deals_is_checked(parts, said):
    rows = Dataset("rows", np.ones((4, 1)), np.ones(4))
    with pytest.raises(ScenarioError, match=f"data.partition = 'own.py:Fixed': {said}"):
        Fixed(parts=parts).dealt(rows, 2, 1.0, generator(0))


BY_REGION = dedent(
    '''
    import numpy as np
    from simnet.extend import Field, RowPartition, Whole

    class ByRegion(RowPartition):
        """Neighbours in one feature share an agent."""

        feature: Whole = Field(0, description="which feature")

        def deal(self, rows, agents, rng):
            return np.array_split(np.argsort(rows.X[:, self.feature], kind="stable"), agents)
    '''
)


def test_a_partition_of_the_users_own_deals_by_what_rows_hold(tmp_path):
    (tmp_path / "own.py").write_text(BY_REGION)
    content = {"data": {"source": "synthetic", "rows": 50, "features": 3}, "algorithm": {"name": "admm"}}
    for partition in ("own.py:ByRegion", {"kind": "own.py:ByRegion", "feature": 2}):
        data = content["data"] | {"partition": partition}
        scenario = Scenario.of(content | {"data": data, "topology": {"agents": 4, "kind": "ring"}}, folder=tmp_path)
        assert scenario.resolved()["data"]["partition"] == partition
        column = scenario.data.partition.feature
        highest = [(part.X[:, column].min(), part.X[:, column].max()) for part in build(scenario).learning.parts]
        assert all(before[1] <= after[0] for before, after in pairwise(highest))
        assert ROWS_DEAL in scenario.caveats()


def test_of_the_words_only_skewed_looks_at_the_rows():
    looks = {word: partition.looks_at for word, partition in PARTITIONS.items()}
    assert looks == {"even": "nothing", "uneven": "nothing", "skewed": "labels"}


OWN = """
import numpy as np
from simnet.extend import RowPartition


class Sorting(RowPartition):
    \"""By the first feature, whatever it says of that; and it writes into the rows.\"""

    looks_at = {looks_at!r}

    def deal(self, rows, agents, rng):
        found = np.array_split(np.argsort(rows.X[:, 0], kind="stable"), agents)
        if rows.X.flags.writeable:
            rows.X[:] = 1000.0
        return found


class Twice(RowPartition):
    \"""All rows for everybody.\"""

    def deal(self, rows, agents, rng):
        return []

    def dealt(self, rows, agents, concentration, rng):
        return [np.arange(rows.rows)] * agents
"""


def dealt_by(tmp_path, name: str, looks_at: str) -> list[np.ndarray]:
    (tmp_path / "own.py").write_text(OWN.format(looks_at=looks_at))
    data = {"source": "synthetic", "rows": 200, "features": 3, "train": 100, "partition": f"own.py:{name}"}
    content = {"data": data, "topology": {"kind": "ring", "agents": 4}, "algorithm": {"name": "admm"}}
    return [part.X for part in build(Scenario.of(content, folder=tmp_path)).learning.parts]


def test_a_partition_sees_what_it_says_that_it_looks_at_and_changes_no_row(tmp_path):
    """One that called itself blind used to see all, and one that wrote into the rows made ε false."""
    blind, seeing = dealt_by(tmp_path, "Sorting", "nothing"), dealt_by(tmp_path, "Sorting", "rows")
    assert max(np.linalg.norm(rows, axis=1).max() for rows in seeing) <= 1.0
    assert all(a[:, 0].max() <= b[:, 0].min() for a, b in pairwise(seeing))
    assert not all(a[:, 0].max() <= b[:, 0].min() for a, b in pairwise(blind))


def test_nobody_deals_rows_past_the_check(tmp_path):
    with pytest.raises(ScenarioError, match="`dealt` checks that each row has one holder; write `deal` instead"):
        dealt_by(tmp_path, "Twice", "rows")
