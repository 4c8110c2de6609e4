"""Ages of used values, against plain lists of them."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import run
from simnet.record.events import ReleaseMade, ValueUsed
from simnet.record.used_values import BINS, UsedValues
from tests.worlds import TICKS, world

AGES = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.sampled_from([0.25, 0.5, 1.0, 2.0, 0.1, 0.3]))


def of_ages(ages: list[float], behind: list[int] | None = None) -> UsedValues:
    """Values of these ages, all of the start of the run."""
    values = UsedValues()
    values.open(1)
    for place, age in enumerate(sorted(ages)):
        values.used(age, 9, [0], [0 if behind is None else behind[place]])
    return values


def nearest_rank(values: list[float], percent: int) -> float:
    return sorted(values)[ceil(percent * len(values) / 100) - 1]


@pytest.mark.parametrize(
    ("young", "old", "p95"), [(19, 1, 1.0), (18, 2, 100.0), (19, 2, 100.0), (95, 5, 1.0), (94, 6, 100.0), (0, 1, 100.0)]
)
def test_the_95th_percentile_is_the_value_of_that_rank_and_not_the_one_beside_it(young, old, p95):
    found = of_ages([1.0] * young + [100.0] * old, [1] * young + [100] * old).summary()
    assert found["p95"] == p95
    assert p95 <= found["p95_seconds"] <= p95 * (1 + 1 / BINS)


@given(st.lists(AGES, min_size=1, max_size=60))
def test_the_95th_percentile_in_seconds_is_never_below_the_true_one_and_hardly_above(ages):
    found = of_ages(ages).summary()
    true = nearest_rank(ages, 95)
    assert true <= found["p95_seconds"] <= min(true * (1 + 1 / BINS), max(ages))
    assert found["max_seconds"] == max(ages)


@given(st.lists(st.tuples(AGES, st.integers(1, 3)), min_size=1, max_size=40))
def test_rounds_that_were_closed_and_rounds_that_are_open_add_up(used):
    together, apart = UsedValues(), UsedValues()
    together.open(1)
    apart.open(1)
    for age, round in sorted(used):
        together.used(age, 1, [0], [0])
        apart.used(age, round, [0], [0])
    each = apart.close(2)
    two = [age for age, round in used if round == 2]
    if two:
        assert nearest_rank(two, 95) <= each["p95_seconds"] <= each["max_seconds"] == max(two)
    else:
        assert each["p95_seconds"] == each["mean_seconds"] == 0.0
    whole, parts = together.summary(), apart.summary()
    assert parts["mean_seconds"] == pytest.approx(whole["mean_seconds"])
    assert [parts[name] for name in ("p95_seconds", "max_seconds")] == [whole["p95_seconds"], whole["max_seconds"]]


def test_no_value_has_no_age():
    assert of_ages([]).summary()["p95_seconds"] == 0.0


def test_a_run_tells_the_ages_that_its_events_give():
    result = run(world(**{"network.pacing": TICKS, "network.link.latency": "0.05 s", "network.link.loss": 0.3}))
    released: dict[tuple[int, int], float] = {}
    ages: dict[int, list[float]] = {}
    for _, t, event in result.events:
        if isinstance(event, ReleaseMade):
            released[event.agent, event.round] = t
        elif isinstance(event, ValueUsed):
            born = released.get((event.peer, event.round - event.staleness), 0.0)
            ages.setdefault(event.round, []).append(t - born)
    everything = [age for each in ages.values() for age in each]
    rounds = result.rounds.iter_rows(named=True)
    for told, found in [
        (result.summary["staleness"], everything),
        *(({name.removeprefix("staleness_"): row[name] for name in row}, ages[row["round"]]) for row in rounds),
    ]:
        true = nearest_rank(found, 95)
        assert true * (1 - 1e-9) <= told["p95_seconds"] <= true * (1 + 1 / BINS)
        assert told["mean_seconds"] == pytest.approx(sum(found) / len(found))
        assert told["max_seconds"] == pytest.approx(max(found))


def test_a_long_round_is_no_different():
    ages = [round**2 / 1000 for round in range(5000)]
    found = of_ages(ages).summary()
    true = nearest_rank(ages, 95)
    assert true <= found["p95_seconds"] <= true * (1 + 1 / BINS)
    assert found["mean_seconds"] == pytest.approx(sum(ages) / 5000)
