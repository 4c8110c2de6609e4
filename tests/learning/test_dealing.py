"""From the [data] section to the rows of each agent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simnet.errors import ScenarioError
from simnet.learning.dealing import DealtData, PartsOfObjectives, deal
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.learning.partitions import PARTITIONS
from simnet.learning.sources import Data


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
