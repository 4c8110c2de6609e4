"""What it costs to reach an error: first rounds, censored runs, medians, and the sentence that answers."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simnet
from simnet.errors import SimnetError
from simnet.report.study_page import read_study, study_page
from simnet.studies.reaching import Reach, at_target, costs, kaplan_meier, lows, reach
from simnet.studies.results import StudyResult
from tests import worlds
from tests.called import called


def rounds(errors: dict[int, list[float]], spent: float | None = 1.0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"run": run, "codec": "x", "round": number, "test_error": error, "wire_bytes": spent and spent * number}
            for run, each in errors.items()
            for number, error in enumerate(each, 1)
        ],
        schema_overrides={"wire_bytes": pl.Float64},
    )


def test_a_run_reaches_a_target_in_its_first_round_that_does():
    found = costs(rounds({0: [0.5, 0.2, 0.3], 1: [0.5, 0.4, 0.2]}), ["codec"], 0.25, "wire_bytes").to_dicts()
    assert found == [
        {"codec": "x", "target": 0.25, "cost": "wire_bytes", "n": 2, "reached": 2, "share": 1.0}
        | {"km_median": 2.0, "km95_low": 2.0, "km95_high": None, "least": 2.0, "most": 3.0}
    ]


def test_a_run_that_never_reaches_it_counts_as_costing_more():
    some = costs(rounds({0: [0.5, 0.1], 1: [0.5, 0.4], 2: [0.4, 0.4]}), [], 0.25, "wire_bytes").to_dicts()[0]
    assert (some["n"], some["reached"], some["km_median"], some["least"]) == (3, 1, None, 2.0)
    none = costs(rounds({0: [0.5], 1: [0.5]}), [], 0.25, "wire_bytes").to_dicts()[0]
    assert (none["share"], none["km_median"], none["most"]) == (0.0, None, None)


def test_a_cost_that_is_nowhere_finite_is_never_reached():
    found = costs(rounds({0: [0.1], 1: [0.1]}, spent=None), [], 0.25, "wire_bytes").to_dicts()[0]
    assert (found["n"], found["reached"], found["km_median"]) == (2, 0, None)


def test_one_run_of_three_is_no_median_whatever_the_others_had_spent_in_the_end():
    # All play one round; the two that miss the target had spent a little less than the one that reaches it.
    table = rounds({0: [0.1], 1: [0.5], 2: [0.5]})
    spent = pl.when(pl.col("run") == 0).then(243.0).otherwise(242.0).alias("wire_bytes")
    found = costs(table.with_columns(spent), ["codec"], 0.25, "wire_bytes").to_dicts()[0]
    assert (found["reached"], found["km_median"], found["km95_low"], found["least"]) == (1, None, None, 243.0)


def plain_median(pairs: list[tuple[int, bool]]) -> float | None:
    """Kaplan and Meier's median, run by run: the curve is the product of (at risk − events) / at risk."""
    alive = 1.0
    for cost in sorted({cost for cost, hit in pairs if hit}):
        at_risk = sum(other >= cost for other, _ in pairs)
        alive *= 1 - pairs.count((cost, True)) / at_risk
        if alive <= 0.5 + 1e-12:
            return float(cost)
    return None


PAIRS = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=15)


@given(PAIRS)
def test_the_median_is_the_one_that_a_plain_product_gives(pairs):
    found = kaplan_meier(np.array([float(cost) for cost, _ in pairs]), np.array([hit for _, hit in pairs]))
    assert found.value == plain_median(pairs)


@given(PAIRS)
def test_the_interval_holds_the_median(pairs):
    found = kaplan_meier(np.array([float(cost) for cost, _ in pairs]), np.array([hit for _, hit in pairs]))
    if found.value is not None:
        assert (found.low or 0.0) <= found.value <= (found.high or np.inf)


def test_the_interval_of_the_median_is_the_one_that_textbooks_print():
    # Remission of leukaemia under 6-MP (Freireich 1963; Collett): 23 weeks, 95 % from 13 on, no upper end.
    weeks = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    found = kaplan_meier(np.array(weeks, dtype=float), np.arange(21) < 9)
    assert (found.value, found.low, found.high) == (23.0, 13.0, None)


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=1, max_size=6), min_size=1, max_size=4))
def test_the_rounds_that_are_new_lows_tell_as_much_as_all_of_them(errors):
    table = rounds(dict(enumerate(errors)))
    for target in (0.05, 0.1, 0.25, 0.4):
        every, some = (costs(each, ["codec"], target, "wire_bytes") for each in (table, lows(table)))
        assert every.equals(some)


def answered(errors: dict[str, dict[int, list[float]]], target: float, by: str = "bytes") -> Reach:
    """Settings of a field `codec`."""
    tables = [rounds(each).with_columns(codec=pl.lit(name)) for name, each in errors.items()]
    table = pl.concat(each.with_columns(run=pl.col("run") + 10 * k) for k, each in enumerate(tables))
    return at_target(table, ["codec"], target, by)


def test_the_answer_names_the_cheapest_setting_the_next_and_the_seeds():
    found = answered(
        {"slow": {0: [0.5] * 3 + [0.1], 1: [0.5] * 3 + [0.1]}, "fast": {0: [0.5, 0.1], 1: [0.5, 0.1]}}, 0.2
    )
    assert [each["values"] for each in found.settings] == [("fast",), ("slow",)]
    assert found.answer() == (
        "The least cost of a test error of 0.2 is 2 B, with codec fast (median; 2 of 2 seeds reach it): "
        "50 % less than with codec slow, the next, but their 95 % intervals overlap."
    )


def test_the_answer_says_where_most_seeds_never_get_there():
    never, once = {0: [0.5], 1: [0.5], 2: [0.5]}, {0: [0.1], 1: [0.5], 2: [0.5]}
    assert answered({"a": never, "b": never}, 0.2).answer() == (
        "No run reaches a test error of 0.2; the least is 0.5, with codec a."
    )
    assert answered({"a": never, "b": once}, 0.2).answer() == (
        "No setting reaches a test error of 0.2 in half of its seeds; codec b does most often: 1 of 3 seeds."
    )
    assert answered({"a": never, "b": {0: [0.1], 1: [0.1]}}, 0.2).answer() == (
        "The least cost of a test error of 0.2 is 1 B, with codec b (median; 2 of 2 seeds reach it); "
        "no other setting reaches it in half of its seeds."
    )


def test_two_settings_that_cost_the_same_are_said_to():
    assert answered({"a": {0: [0.1]}, "b": {0: [0.1]}}, 0.2).answer().endswith("as much as with codec b, the next.")


def test_a_cost_that_a_study_does_not_know_is_refused_with_those_that_it_does():
    with pytest.raises(SimnetError, match="by = joules: the study does not know it, choose one of bytes, rounds"):
        answered({"a": {0: [0.1]}}, 0.2, "joules")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    content = worlds.study_content(replicates=2, grid={"algorithm.eta": [0.01, 0.05]})
    return simnet.study(content, tmp_path_factory.mktemp("results"), workers=1)


def test_the_command_tells_what_python_does(study):
    error = study.rounds["test_error"].min()
    told = json.loads(called("reach", str(study.folder), "--target", str(error), "--json")[1])
    found = reach(study, error)
    assert told["answer"] == found.answer()
    assert [each["bytes"]["km_median"] for each in told["settings"]] == [
        each["bytes"]["km_median"] for each in found.settings
    ]
    assert sum(each["reached"] for each in told["seeds"]) == sum(each["rounds"]["reached"] for each in found.settings)


def test_the_command_fits_80_columns_and_shows_seeds_that_never_get_there(study):
    told = called("reach", str(study.folder), "--target", "0.0001", "--seeds")[1]
    assert "0 of 2" in told
    assert "never in" in told
    assert "No run reaches a test error of 0.0001; the least is 0." in told
    assert max(map(len, told.splitlines()[:-1])) <= 80


def priced(errors: dict[str, tuple[float | None, list[float]]], target: float, by: str = "bytes") -> Reach:
    """Settings of a field `method`, each with its proven ε and the errors of its one run; a round is half a second."""
    rows = [
        {"run": run, "algorithm.name": name, "round": number, "test_error": error, "proven_epsilon": epsilon}
        | {"wire_bytes": 1e3 * number, "t": 0.5 * number}
        for run, (name, (epsilon, each)) in enumerate(errors.items())
        for number, error in enumerate(each, 1)
    ]
    return at_target(pl.DataFrame(rows), ["algorithm.name"], target, by)


def test_the_answer_is_about_settings_that_prove_an_epsilon_and_names_bytes_and_seconds():
    found = priced({"admm": (None, [0.1]), "pp-admm": (1.0, [0.5, 0.1]), "gossip": (1.0, [0.5] * 2)}, 0.2)
    assert found.answer() == (
        "The least cost of a test error of 0.2 at a proven ε of at most 1 is 2 kB and 1 s, with pp-admm (medians; 1 of "
        "1 seeds reach it); no other setting reaches it in half of its seeds. Without a proven ε it is 1 kB and 0.5 s, "
        "with admm (medians; 1 of 1 seeds reach it)."
    )
    assert found.ranked("seconds").answer().startswith("The least cost of a test error of 0.2 at a proven ε of at most")
    assert "is 1 s and 2 kB, with pp-admm" in found.ranked("seconds").answer()


def test_no_epsilon_is_named_where_settings_have_different_ones_or_none():
    assert " ε " not in priced({"a": (1.0, [0.1]), "b": (2.0, [0.1])}, 0.2).answer()
    assert " ε " not in priced({"a": (None, [0.1]), "b": (None, [0.1])}, 0.2).answer()
    assert priced({"a": (None, [0.1]), "b": (1.0, [0.5])}, 0.2).answer() == (
        "No run reaches a test error of 0.2 at a proven ε of at most 1; the least is 0.5, with b. Without a proven ε "
        "it is 1 kB and 0.5 s, with a (medians; 1 of 1 seeds reach it)."
    )


def test_an_answer_that_not_all_seeds_reach_says_what_it_costs_for_all():
    errors = {"lucky": ([0.5, 0.1], [0.5, 0.5]), "sure": ([0.5, 0.5, 0.1], [0.5, 0.5, 0.1])}
    rows = [
        {"run": f"{name}{seed}", "algorithm.name": name, "round": number, "test_error": error, "proven_epsilon": 1.0}
        | {"wire_bytes": 1e3 * number, "t": 0.5 * number}
        for name, seeds in errors.items()
        for seed, each in enumerate(seeds)
        for number, error in enumerate(each, 1)
    ]
    answer = at_target(pl.DataFrame(rows), ["algorithm.name"], 0.2, "bytes").answer()
    assert "is 2 kB and 1 s, with lucky (medians; 1 of 2 seeds reach it): 33 % less than with sure" in answer
    assert answer.endswith("For all seeds it is 3 kB and 1.5 s, with sure (medians; 2 of 2 seeds reach it).")


def test_a_target_that_is_no_number_is_a_sentence(study):
    with pytest.raises(SimnetError, match=r"^target = 'a': a test error is a finite number$"):
        reach(study, "a")


def test_a_study_that_names_a_target_is_asked_for_it(tmp_path):
    content = worlds.study_content(replicates=2, target=0.43, grid={"algorithm.eta": [0.01, 0.05]})
    found = simnet.study(content, tmp_path, workers=1)
    told = json.loads(called("reach", str(found.folder), "--json")[1])
    assert (told["target"], told["answer"]) == (0.43, reach(found, 0.43).answer())
    page = study_page(read_study(found.folder))
    assert told["answer"] in page
    assert StudyResult.load(found.folder).target == 0.43


def test_a_study_without_a_target_asks_for_one(study):
    assert called("reach", str(study.folder)) == (
        2,
        "",
        "--target: the study names none; say which test error is to be reached, such as 0.2",
    )


def test_in_a_notebook_an_answer_is_its_sentence_and_a_table(study):
    found = study.reach(0.4)
    assert repr(found) == f"Reach({found.answer()})"
    assert found._repr_html_().count("<tr>") == 1 + len(found.settings)
    with pytest.raises(SimnetError, match="target: the study names none"):
        study.reach()
