"""[data]: tables of one's own, from the scenario file to the record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.cli.explain import explain
from simnet.errors import ScenarioError
from simnet.learning.data_section import Data
from simnet.record import fitness
from simnet.record.events import RunStarted
from simnet.record.log import read
from tests.called import called

PAGE = (Path(__file__).parents[2] / "docs/data.md").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the page shows, as files."""
    (tmp_path / "people.csv").write_text(re.findall(r"```csv\n(.*?)```", PAGE, re.S)[0])
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    (tmp_path / "people.toml").write_text("rounds = 2\n" + shown[0])
    (tmp_path / "public.toml").write_text("rounds = 2\n" + shown[0].replace('categorical = "text"', "") + shown[1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_shows_a_scenario_that_runs(folder):
    scenario = Scenario.load(folder / "people.toml")
    told = explain(scenario)["data"]
    assert told["rows of the file"] == "6 read"
    assert told["blanks"] == "2 cells: 0 and a feature of their own"
    assert told["columns of categories"] == "job (4), city (3)"
    assert (told["columns left out"], told["label"], told["features"]) == ("id", "churn", "11")
    result = run(scenario)
    first = next(event for _, _, event in result.events)
    assert isinstance(first, RunStarted)
    assert (first.prepared["rows"], first.prepared["features"], first.features) == (6, 11, 11)
    assert Scenario.loads(scenario.to_toml(), folder=folder) == scenario


def test_what_is_taken_from_the_rows_is_no_secret_of_the_run(folder):
    def told(name, **changes):
        caveats = Scenario.load(folder / name).with_(**{f"data.{k}": v for k, v in changes.items()}).caveats()
        return [word for word, caveat in fitness.PREPARED_BY.items() if caveat in caveats]

    assert told("people.toml") == ["peaks", "features"]
    assert told("people.toml", missing="drop") == ["peaks", "features", "blanks"]
    assert told("people.toml", missing="mean", scale="rows") == ["features", "means"]
    assert told("public.toml", missing="drop", scale="rows") == ["blanks"]
    assert told("public.toml", scale="rows", unlabelled="drop") == ["features", "unlabelled"]
    assert told("public.toml", scale="rows", unlabelled="drop", missing="drop") == ["blanks"]
    assert told("public.toml", scale="rows") == ["features"], "which columns have blanks"
    assert told("people.toml", source="banana") == [], "a well-known data set is public"


def test_a_scenario_in_an_older_log_says_as_they_are():
    older, newer = (
        Data.model_validate({"source": "synthetic", **said}) for said in ({"columns": "as-they-are"}, {"scale": "rows"})
    )
    assert older == newer


def test_a_plain_table_tells_nothing_new(folder):
    (folder / "plain.csv").write_text("1,2,0\n3,4,1\n5,6,0\n7,8,1\n")
    scenario = Scenario.of({"data": {"source": "plain.csv"}, "algorithm": {"name": "admm"}, "rounds": 1})
    result = run(scenario.with_(topology={"kind": "ring", "agents": 3}))
    first = next(event for _, _, event in result.events)
    assert isinstance(first, RunStarted)
    assert first.prepared == {}
    assert not {"drop", "categorical", "categories", "missing", "separator"} & set(first.scenario["data"])


def test_what_is_published_does_not_tell_what_became_of_private_rows(folder):
    rows = "".join(f"P{k};{k};1,5;nurse;Graz;{'yes' if k % 2 else 'no'}\n" for k in range(900))
    (folder / "people.csv").write_text("id;age;income;job;city;churn\n" + rows)
    fields = {"algorithm": {"name": "pp-admm"}, "privacy.noise": "fresh", "data.scale": "rows"}
    scenario = Scenario.load(folder / "public.toml").with_(**fields)
    plain = scenario.content()
    del plain["data"]["missing"]
    result = run(Scenario.of(plain, folder=folder), "runs")
    for words, told in ((["--public-rows"], 900), ([], None)):
        code, out, _ = called("publish", str(result.folder), "--out", f"published{len(words)}", *words)
        assert code == 0
        first = next(read(Path(out.removeprefix("wrote ").strip())))[2]
        assert isinstance(first, RunStarted)
        assert first.prepared.get("rows") == told


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"separator": ";;"}, 'data.separator = ";;": one character, such as ";"'),
        ({"decimal": ";"}, 'data.decimal = ";": choose one of ., ,'),
        ({"drop": "id"}, 'data.drop = "id": a list, each entry a column\'s name, or its index'),
        (
            {"categorical": "all"},
            'data.categorical = "all": a list of columns, by name or by index, such as .* or "text"',
        ),
        ({"categorical": [1.5]}, "data.categorical = .*: a list of columns"),
        ({"categories": {"job": "clerk"}}, "data.categories = .*: a list of words for each column, such as"),
        ({"missing": "zero"}, 'data.missing = "zero": choose one of drop, mean, category'),
        ({"source": "adult"}, "data.decimal = .*: adult has no columns to choose; only a CSV file has"),
    ],
)
def test_a_mistake_is_one_sentence(folder, changes, said):
    with pytest.raises(ScenarioError, match=said):
        Scenario.load(folder / "people.toml").with_(**{f"data.{k}": v for k, v in changes.items()})


def test_a_name_that_no_column_has_is_answered_by_those_that_there_are(folder):
    scenario = Scenario.load(folder / "people.toml").with_(**{"data.label": "Y"})
    with pytest.raises(ScenarioError, match=r"data\.label = 'Y': no column is called that; they are 'id', 'age', "):
        run(scenario)


@pytest.mark.parametrize("partition", ["even", "uneven", "skewed"])
def test_nobody_gets_fewer_rows_than_the_least(partition):
    data = {"source": "synthetic", "rows": 1000, "partition": partition, "concentration": 0.1, "min_rows": 20}
    scenario = Scenario.of({"data": data, "algorithm": {"name": "admm"}, "topology": {"kind": "ring", "agents": 30}})
    assert min(build(scenario).learning.rows) >= 20
    least = [min(build(scenario.with_(**{"data.min_rows": few})).learning.rows) for few in (1, 15)]
    assert partition == "even" or least[0] < 15 <= least[1]


def test_a_least_that_not_all_can_have_is_refused():
    data = {"source": "synthetic", "rows": 1000, "min_rows": 200}
    scenario = Scenario.of({"data": data, "algorithm": {"name": "admm"}})
    with pytest.raises(ScenarioError, match=r"data\.min_rows = 200: 5 agents would need 1,000 training rows"):
        build(scenario)
