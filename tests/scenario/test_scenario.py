"""The laws of scenarios: written and read back they are the same, and a change changes what it names."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from simnet import Scenario
from simnet.errors import ScenarioError
from simnet.methods import METHODS
from simnet.scenario.schema import Place, fields, place, walk
from simnet.scenario.toml import dotted
from tests.portions import EVERYTHING
from tests.scenario.strategies import ABSENT, contents, scenarios, values

# Most tables that are drawn do not fit together and are drawn again: that is how the strategy works.
EXAMPLES = 500 if EVERYTHING else 25
LAW = settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.filter_too_much])
PLAIN = Scenario.loads('[algorithm]\nname = "admm"')


def leaves(content: Any, at: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], Any]:
    """Every plain value by its path."""
    if isinstance(content, dict):
        return {path: leaf for name, inner in content.items() for path, leaf in leaves(inner, (*at, name)).items()}
    if isinstance(content, list):
        return {path: leaf for index, inner in enumerate(content) for path, leaf in leaves(inner, (*at, index)).items()}
    return {at: content}


@LAW
@given(scenarios())
def test_a_scenario_written_as_toml_loads_as_the_same_scenario(scenario: Scenario) -> None:
    again = Scenario.loads(scenario.to_toml())
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert again.to_toml() == scenario.to_toml()


@LAW
@given(scenarios())
def test_what_the_user_set_is_enough_to_make_the_scenario(scenario: Scenario) -> None:
    assert Scenario.of(scenario.content()) == scenario
    assert scenario.with_() == scenario
    assert leaves(scenario.content()).items() <= leaves(scenario.resolved()).items()


@LAW
@given(contents())
def test_reading_leaves_the_content_alone(content: dict[str, Any]) -> None:
    before = copy.deepcopy(content)
    Scenario.of(content).with_(seed=3)
    assert content == before


@LAW
@given(scenarios())
def test_scenarios_survive_copies_and_other_processes(scenario: Scenario) -> None:
    assert copy.deepcopy(scenario) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert pickle.loads(pickle.dumps(scenario)).content() == scenario.content()


@LAW
@given(st.data(), scenarios())
def test_a_change_changes_only_what_it_names(data: st.DataObject, scenario: Scenario) -> None:
    resolved = leaves(scenario.resolved())
    free = [path for path in resolved if not is_tag(scenario, path) and not inside_what_a_preset_gives(scenario, path)]
    path = data.draw(st.sampled_from(free))
    value = data.draw(values(place_at(scenario, path)))
    try:
        changed = scenario.with_(**{dotted(path): value})
    except ScenarioError:
        return  # it no longer fits the other fields of its table
    assert all_but(path, changed) == all_but(path, scenario)
    assert changed.with_(**{dotted(path): resolved[path]}) == scenario


def all_but(path: tuple[str | int, ...], scenario: Scenario) -> dict[tuple[str | int, ...], Any]:
    """Every value but the one at `path`; and if that is a preset, but those which the preset gives."""
    given = leaves(scenario.content())
    kept = {other: leaf for other, leaf in leaves(scenario.resolved()).items() if other != path}
    if path[-1] != "preset":
        return kept
    table = path[:-1]
    return {other: leaf for other, leaf in kept.items() if other[: len(table)] != table or other in given}


def inside_what_a_preset_gives(scenario: Scenario, path: tuple[str | int, ...]) -> bool:
    """Whether the value stands in a table that a preset gives: whoever writes such a table replaces all of it."""
    given = leaves(scenario.content())
    presets = [other[:-1] for other in given if other[-1] == "preset"]
    return any(path[: len(table)] == table and len(path) > len(table) + 1 and path not in given for table in presets)


@LAW
@given(scenarios(), st.sampled_from(sorted(METHODS)))
def test_another_method_keeps_the_parameters_that_both_have(scenario: Scenario, method: str) -> None:
    try:
        other = scenario.with_method(method)
    except ScenarioError:
        return  # the method does not go with the other sections
    set_before, set_after = scenario.content()["algorithm"], other.content()["algorithm"]
    hubs = [name in ("dp-admm", "dp-acc-admm") for name in (scenario.algorithm.name, method)]
    known = METHODS[method].model_fields if hubs[0] == hubs[1] else {"loss"}
    assert set_after == {name: value for name, value in set_before.items() if name in known} | {"name": method}
    changed = {"algorithm": None} | ({"topology": None} if hubs[1] else {})
    assert other.resolved() | changed == scenario.resolved() | changed
    assert scenario.with_method(scenario.algorithm.name) == scenario


def test_an_unknown_method_is_named_with_the_choices() -> None:
    with pytest.raises(ScenarioError, match=r'algorithm\.name = "ipp": choose one of admm, .*did you mean'):
        PLAIN.with_method("ipp")


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ('network.link.latency = "20 ms"', "network.link.latency = 0.02"),
        ('network.link.latency = "20 ms"', 'network.link.latency = { kind = "constant", value = 0.02 }'),
        ('network.link.bandwidth = "10 Mbit/s"', "network.link.bandwidth = 10_000_000"),
        ('network.pacing = "barrier"', 'network.pacing = { kind = "barrier" }'),
        ('network.link.loss = "none"', 'network.link.loss = { kind = "none" }'),
        ("network.link.loss = 0.05", 'network.link.loss = { kind = "bernoulli", p = 0.05 }'),
        ('compute.time = "35 us"', "compute.time = 35e-6"),
        ("rounds = 1e2", "rounds = 100"),
    ],
)
def test_two_spellings_are_one_scenario(words: str, plain: str) -> None:
    first, second = (Scenario.loads(f'{line}\n[algorithm]\nname = "admm"') for line in (words, plain))
    assert first == second
    assert hash(first) == hash(second)
    assert first.to_toml() == second.to_toml()
    assert first != PLAIN or words.endswith('"none"')


def test_a_default_written_out_is_the_same_scenario_as_a_default_left_out() -> None:
    assert Scenario.loads(PLAIN.to_toml()) == PLAIN
    assert PLAIN.content() == {"algorithm": {"name": "admm"}}


def test_nothing_changes_after_validation() -> None:
    with pytest.raises(ValueError, match="frozen"):
        PLAIN.seed = 2


def test_none_unsets_an_optional_field() -> None:
    with_rows = PLAIN.with_(**{"data.source": "synthetic", "data.rows": 50})
    assert with_rows.with_(**{"data.rows": None}).data.rows is None


def test_a_file_that_the_scenario_names_is_looked_up_beside_it_first(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "graph.txt").touch()
    (tmp_path / "beside" / "s.toml").write_text('[algorithm]\nname = "admm"', encoding="utf-8-sig")
    monkeypatch.chdir(tmp_path)
    scenario = Scenario.load(tmp_path / "beside" / "s.toml")
    assert scenario.find("graph.txt") == tmp_path / "beside" / "graph.txt"
    assert scenario.with_(seed=2).find("graph.txt") == tmp_path / "beside" / "graph.txt"
    assert scenario.find("elsewhere.txt") == Path("elsewhere.txt")


def test_optional_fields_are_absent_by_default() -> None:
    """TOML has no null: an optional field with another default could never be written as unset."""
    for path, _, table in walk(Scenario):
        for name, info in fields(table).items():
            if type(None) in get_args(info.annotation):
                assert info.default is None, dotted((*path, name))


def test_a_table_left_out_is_the_table_with_only_its_kind() -> None:
    """So that setting one of its fields from outside changes that field alone."""
    for path, _, table in walk(Scenario):
        for name, info in fields(table).items():
            default = place(info).default
            if isinstance(default, BaseModel):
                required = {key: getattr(default, key) for key, i in fields(type(default)).items() if i.is_required()}
                assert default == type(default)(**required), dotted((*path, name))


def place_at(scenario: Scenario, path: tuple[str | int, ...]) -> Place:
    """The place of a value that the scenario holds."""
    model: Any = scenario
    here = Place(tables=(Scenario,))
    for part in path:
        if isinstance(part, int):
            assert here.item is not None
            here, model = here.item, model[part]
        else:
            info = fields(type(model))[part]
            here, model = (
                place(info),
                getattr(model, {i.alias: n for n, i in type(model).model_fields.items()}.get(part, part)),
            )
    return here


def is_tag(scenario: Scenario, path: tuple[str | int, ...]) -> bool:
    return bool(path[:-1]) and place_at(scenario, path[:-1]).tag == path[-1]


@LAW
@given(
    scenarios(
        fixed={
            "rounds": st.integers(1, 3),
            "topology.kind": st.sampled_from(["ring", "star"]),
            "topology.agents": st.integers(2, 5),
            "network.override": st.just(ABSENT),
        }
    )
)
def test_generated_scenarios_keep_to_what_is_fixed(scenario: Scenario) -> None:
    assert scenario.rounds <= 3
    assert scenario.topology.kind in ("ring", "star")
    assert scenario.resolved()["topology"]["agents"] <= 5
    assert scenario.network.override == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"name": "dp-admm", "topology": "ring"}, 'topology.kind = "ring": dp-admm computes at the hub of a star'),
        ({"name": "dp-admm", "duals": "healing"}, "algorithm.duals: dp-admm has no such field"),
        ({"name": "r-admm", "duals": "edge"}, "r-admm's rest in even ones; choose node or healing"),
        ({"name": "m-admm", "duals": "edge", "dual_step": 0.5}, "one η for all agents and rounds"),
        ({"name": "m-admm", "duals": "edge", "penalty_growth": 1.1}, "one η for all agents and rounds"),
        ({"name": "m-admm", "duals": "edge", "dual_growth": 1.1}, "one η for all agents and rounds"),
        ({"name": "m-admm", "duals": "healing", "agent_dual_step": [0.1, 0.2]}, "both ends weigh by the same dual"),
        ({"name": "pdml", "loss": "smoothed-hinge"}, "unbiased loss is convex for logistic only"),
        ({"name": "dvp", "sigma": 1.0}, "algorithm.sigma = 1.0: gamma-type noise has a noise_rate"),
        ({"name": "dvp", "noise": "gaussian", "noise_rate": 1.0}, "Gaussian noise has a sigma"),
        ({"name": "dvp", "noise": "gaussian", "calibration": "paper"}, "no paper has a price for Gaussian noise"),
        ({"name": "ipp-admm", "test": "noise-free", "calibration": "paper"}, "covers only 'shared-noise'"),
        ({"name": "pvp", "noise_rate": 2.0, "calibration": "none"}, "there is no noise"),
        ({"name": "r-admm", "agent_noise_rate": [2.0], "calibration": "none"}, "there is no noise"),
        (
            {"name": "m-admm", "agent_noise_rate": [2.0], "noise": "gaussian"},
            "agent_noise_rate.*Gaussian noise has a sigma",
        ),
        ({"name": "pdml", "label_epsilon": 2.0, "calibration": "none"}, "there is no noise"),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_reason(content, said):
    fields = dict(content)
    sections: dict[str, object] = {}
    if "topology" in fields:
        sections["topology"] = {"kind": fields.pop("topology")}
    if "calibration" in fields:
        sections["privacy"] = {"calibration": fields.pop("calibration")}
    with pytest.raises(ScenarioError, match=said):
        Scenario.of({"algorithm": fields, **sections})


def test_top_k_sends_no_entry_without_its_sum():
    healing = {"name": "admm", "duals": "healing", "heal_every": 3}
    with pytest.raises(
        ScenarioError, match=r"algorithm\.heal_every = 3: with a codec such as top-k each entry travels with"
    ):
        Scenario.of({"algorithm": healing, "network": {"codec": "top-k"}})
    assert Scenario.of({"algorithm": healing, "network": {"codec": "int8"}}).algorithm.heal_every == 3


def test_a_hub_that_loses_its_state_cannot_begin_again():
    crash = {"kind": "crash", "agent": 0, "at": 1.0, "duration": 1.0, "state": "lost"}
    with pytest.raises(ScenarioError, match="dp-admm cannot begin again without its state"):
        Scenario.of({"algorithm": {"name": "dp-admm"}, "fault": [crash]})
    assert Scenario.of({"algorithm": {"name": "r-admm"}, "fault": [crash]}).fault[0].state == "lost"


def test_a_method_with_a_hub_needs_no_topology_to_be_named():
    assert Scenario.of({"algorithm": {"name": "dp-acc-admm"}}).topology.kind == "star"


def test_plain_m_admm_may_have_edge_duals():
    assert Scenario.of({"algorithm": {"name": "m-admm", "duals": "edge"}}).algorithm.duals == "edge"
