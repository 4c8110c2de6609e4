"""The JSON Schema of scenario and study files accepts what simnet accepts, and marks the usual mistakes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from simnet import Scenario
from simnet.scenario.json_schema import scenario_schema, study_schema
from simnet.scenario.reference import commented
from simnet.studies.spec import StudyFile
from tests.called import called

ROOT = Path(__file__).parents[2] / "scenarios"
SCENARIO = Draft7Validator(scenario_schema())
STUDY = Draft7Validator(study_schema(StudyFile))
FILES = {str(path.relative_to(ROOT)): tomllib.loads(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.toml")}
RIGHT = {"algorithm": {"name": "pp-admm"}}


def fits(content: dict) -> bool:
    return SCENARIO.is_valid(content)


@pytest.mark.parametrize("schema", [scenario_schema(), study_schema(StudyFile)])
def test_they_are_json_schemas(schema):
    Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("name", FILES)
def test_every_shipped_file_fits(name):
    content = FILES[name]
    is_study = "base" in content or "scenario" in content
    assert [error.message[:200] for error in (STUDY if is_study else SCENARIO).iter_errors(content)] == []


def test_resolved_scenarios_fit_too():
    for name, content in FILES.items():
        if "algorithm" in content and "audit" not in content:
            resolved = Scenario.load(ROOT / name).resolved()
            assert [error.message[:200] for error in SCENARIO.iter_errors(resolved)] == [], name


def test_shorthands_units_percentages_and_parts_of_ones_own_fit():
    link = {"latency": "20 ms", "loss": "5%", "bandwidth": "10 Mbit/s", "queue": 64}
    assert fits(RIGHT | {"network": {"link": link, "codec": "int8", "pacing": "ideal"}, "rounds": 1e2})
    assert fits(RIGHT | {"data": {"source": "mine.csv", "train": 0.5, "label": 3, "drop": ["a", 1]}})
    assert fits({"algorithm": {"name": "mine.py:Mine", "speed": 3}, "network": {"link": {"loss": {"kind": "m.py:L"}}}})


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"algorithm": {"name": "pp-adm"}},
        {"algorithm": {"name": "pp-admm", "etta": 0.1}},
        {"algorithm": {"name": "pp-admm", "eta": 0}},
        RIGHT | {"round": 3},
        RIGHT | {"rounds": 2.5},
        RIGHT | {"rounds": "3"},
        RIGHT | {"privacy": {"calibration": "prooven"}},
        RIGHT | {"network": {"link": {"loss": {"kind": "bursts", "rate": 0.1}}}},
        RIGHT | {"network": {"link": {"latency": {"kind": "constant", "value": "20 Mbit/s"}}}},
        RIGHT | {"network": {"link": {"mtu": "two"}}},
        RIGHT | {"data": {"bias": "yes"}},
    ],
    ids=str,
)
def test_the_usual_mistakes_are_marked(wrong):
    assert not fits(wrong)


def test_fields_have_descriptions_and_defaults_for_editors():
    told = scenario_schema()
    assert told["properties"]["rounds"]["description"].startswith("T, rounds")
    assert told["definitions"]["Privacy"]["properties"]["epsilon"]["default"] == 1.0
    assert "η" in told["definitions"]["PpAdmm"]["properties"]["eta"]["description"]


def test_the_command_prints_either():
    assert json.loads(called("schema")[1]) == scenario_schema()
    assert json.loads(called("schema", "study")[1]) == study_schema(StudyFile)
    assert called("schema", "run") == (2, "", "run: there is a schema of `scenario` files and one of `study` files")


def test_what_init_writes_fits():
    assert fits(tomllib.loads(commented()))
