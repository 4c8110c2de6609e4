"""Worker processes: what one of them suffers, the others do not."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from simnet import Scenario, run
from simnet.studies import pool
from simnet.studies.keys import code_version
from simnet.studies.pool import RunJob
from tests.worlds import STUDIED


@dataclass(frozen=True)
class Poison:
    """Kills the process that receives it."""

    seed: int = 1

    def resolved(self) -> dict[str, object]:
        return {}

    def __reduce__(self):
        return os._exit, (7,)


def job(key: str, scenario: object = None, code: str | None = None) -> RunJob:
    return RunJob(key, code or code_version(), Scenario.of(STUDIED) if scenario is None else scenario)


def test_a_worker_that_dies_costs_its_own_run_only():
    jobs = [job("a"), job("poison", Poison()), job("b"), job("c", code="another")]
    records = {record.key: record for record in pool.execute(jobs, workers=2)}
    assert set(records) == {"a", "poison", "b", "c"}
    assert records["poison"].error == "the worker process died twice, with exit code 7"
    assert not records["poison"].final
    assert "another version of simnet" in records["c"].error
    expected = run(Scenario.of(STUDIED)).summary
    for key in ("a", "b"):
        found = dict(records[key].summary)
        assert {**found, "time": {**found["time"], "wall": None}} == {
            **expected,
            "time": {**expected["time"], "wall": None},
        }


def test_closing_the_iterator_stops_the_workers():
    endless = Scenario.of(STUDIED | {"rounds": 100_000})
    records = pool.execute([job("quick"), job("endless", endless)], workers=2)
    assert next(records).key == "quick"
    records.close()
    with pytest.raises(StopIteration):
        next(records)
