"""What a study file may say, and what is said about one that is wrong."""

from __future__ import annotations

import pytest

from simnet.errors import ScenarioError
from simnet.studies.runs import plan
from simnet.studies.spec import Study
from tests.worlds import STUDIED, study_content


def test_a_dotted_key_and_nested_tables_are_the_same_study():
    text = 'name = "x"\nscenario.algorithm.name = "admm"\n[grid]\n{} = [0.1, 0.2]'
    assert Study.loads(text.format("algorithm.eta")) == Study.loads(text.format('"algorithm.eta"'))


def test_the_base_scenario_is_looked_up_beside_the_study(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "base.toml").write_text('name = "found"\nalgorithm.name = "admm"')
    (tmp_path / "deep" / "study.toml").write_text('name = "x"\nbase = "../base.toml"')
    monkeypatch.chdir(tmp_path / "deep")
    assert Study.load("study.toml").base.name == "found"


def test_a_number_of_replicates_counts_seeds_from_the_base_on():
    assert Study.of(study_content(scenario=STUDIED | {"seed": 7}, replicates=3)).seeds == (7, 8, 9)
    assert Study.of(study_content(replicates=[5, 1])).seeds == (5, 1)


def test_a_table_as_a_value_sets_the_fields_that_it_names():
    study = Study.of(
        study_content(grid={"algorithm": [{"name": "admm", "eta": 0.1}, {"name": "ipp-admm", "clip": 1.0}]})
    )
    assert study.axes == (
        ({"algorithm.name": "admm", "algorithm.eta": 0.1}, {"algorithm.name": "ipp-admm", "algorithm.clip": 1.0}),
    )
    assert study.fields == ["algorithm.name", "algorithm.eta", "algorithm.clip"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, 'name = "": a line of text, not blank'),
        ({"nmae": "x"}, "nmae: there is no such field (did you mean name?)"),
        ({"scenario": None}, "base: name a scenario's file, or write the scenario under [scenario]"),
        ({"base": "x.toml"}, "base = "),
        ({"base": "absent.toml", "scenario": None}, "absent.toml: the scenario cannot be read"),
        ({"scenario": {"rounds": 3}}, "algorithm.name is missing"),
        ({"grid": [1]}, "grid = [1]: a table of scenario fields, each with a list of values"),
        ({"grid": {"algorithm.eta": []}}, "grid.algorithm.eta = []: a list of values, at least one"),
        ({"grid": {"algorithm": {"eta": 0.1}}}, "grid.algorithm.eta = 0.1: a list of values, at least one"),
        ({"grid": {"algorithm.etaa": [1]}}, "algorithm.etaa: admm has no such field (did you mean eta?)"),
        ({"grid": {"algorithm.eta": [0.1, -1]}}, "algorithm.eta = -1: a number above 0"),
        ({"grid": {"algorithm.eta": [0.1, 0.1]}}, "two runs of the study are the same: algorithm.eta = 0.1"),
        ({"grid": {"algorithm.clip": [1.0]}}, "algorithm.clip: admm has no such field (ipp-admm has it)"),
        ({"grid": {"algorithm.name": ["adm"]}}, "did you mean admm?"),
        ({"grid": {"seed": [1, 2]}}, "seed: give the seeds as `replicates`"),
        ({"zip": [{"rounds": [1, 2], "algorithm.duals": ["node"]}]}, "rounds has 2, algorithm.duals has 1"),
        ({"zip": [{"algorithm.eta": [1, 2]}]}, "algorithm.eta: set by one list of the study only"),
        ({"zip": [{}]}, "zip.0: name at least one field"),
        ({"replicates": 0}, "replicates = 0: a whole number of at least 1, or a list of different seeds"),
        ({"replicates": [1, 1]}, "replicates = [1, 1]: a whole number"),
        ({"replicates": []}, "replicates = []: a whole number"),
        ({"replicates": "many"}, 'replicates = "many": a whole number'),
        ({"replicates": 10**6, "grid": {"rounds": [1, 2]}}, "2,000,000 runs, and a study has at most 1,000,000"),
        ({"scenario": STUDIED | {"data": {"source": "absent.csv"}}}, "there is no data file"),
    ],
)
def test_a_broken_study_is_refused_with_a_sentence(changes, sentence):
    broken = {name: value for name, value in study_content(**changes).items() if value is not None}
    with pytest.raises(ScenarioError) as refused:
        plan(Study.of(broken))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
