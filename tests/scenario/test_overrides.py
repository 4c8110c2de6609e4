"""`--set path=value` reaches every field, from every spelling of what was there before; and tables per method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet import Scenario
from simnet.errors import ScenarioError
from simnet.network.loss import Bernoulli
from simnet.scenario.overrides import merged, parse_override

PLAIN = Scenario.loads('[algorithm]\nname = "ipp-admm"')


def refusal(attempt: Callable[[], object]) -> str | None:
    """What a user would read, if anything is wrong."""
    try:
        attempt()
    except ScenarioError as error:
        return str(error)
    return None


def changed(*overrides: str) -> Scenario:
    return PLAIN.with_(**dict(map(parse_override, overrides)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=1", 1),
        ("x = 1e-3", 1e-3),
        ("x=true", True),
        ("x=[1, 2]", [1, 2]),
        ('x={kind="ring"}', {"kind": "ring"}),
        ('x="1"', "1"),
        ("x='a=b'", "a=b"),
        ("x=ipp-admm", "ipp-admm"),
        ("x=20 ms", "20 ms"),
        ("x=10 Mbit/s", "10 Mbit/s"),
        ("x=data/a file.csv", "data/a file.csv"),
        ("x=a=b", "a=b"),
        ("x=#5", "#5"),
        ("x=True", "True"),
    ],
)
def test_a_value_is_toml_and_a_bare_word_is_a_string(text: str, value: Any) -> None:
    assert parse_override(text) == ("x", value)


@given(st.text(st.characters(codec=None)) | st.text("=.[]{}\"'#\n ax1").map(lambda text: f"seed={text}"))
def test_any_text_is_an_override_or_one_printable_sentence(text: str) -> None:
    said = refusal(lambda: parse_override(text))
    assert said is None or said.isprintable()


SEGMENTS = st.sampled_from(
    ["network", "link", "loss", "override", "0", "1", "p", "kind", "", " ", "topology", "agents", "seed", "é", "\n"]
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=6).map(".".join) | st.text(st.characters(codec=None))
VALUES = (
    st.sampled_from(["1", "0.5", "ring", "20 ms", "[]", "{}", "[{}]", "nan", "{kind='none'}", "2020-01-01"]) | st.text()
)


@settings(deadline=None)
@given(st.lists(st.tuples(PATHS, VALUES).map("=".join), max_size=4))
def test_any_overrides_give_a_scenario_or_one_printable_sentence(overrides: list[str]) -> None:
    said = refusal(lambda: changed(*overrides))
    assert said is None or (said.isprintable() and len(said) < 240)


@settings(deadline=None)
@given(st.floats(0, 1), st.sampled_from(["0.05", "bernoulli", "{kind='bernoulli'}", "{kind='bernoulli', p=0.3}"]))
def test_a_field_inside_a_shorthand_can_be_set(p: float, before: str) -> None:
    loss = changed(f"network.link.loss={before}", f"network.link.loss.p={p!r}").network.link.loss
    assert loss == Bernoulli(kind="bernoulli", p=p)


def test_a_shorthand_of_the_file_gives_way_too() -> None:
    before = Scenario.loads('[algorithm]\nname = "admm"\n[network]\npacing = "barrier"\nlink.latency = "20 ms"')
    after = before.with_(**{"network.pacing.patience": 2, "network.link.latency.value": "30 ms"})
    assert after.resolved()["network"]["pacing"] == {"kind": "barrier", "patience": 2.0, "notices": True}
    assert after.resolved()["network"]["link"]["latency"] == {"kind": "constant", "value": 0.03}


def test_a_pacing_by_its_name_then_its_field() -> None:
    pacing = changed("network.pacing=barrier", "network.pacing.patience=2").resolved()["network"]["pacing"]
    assert pacing == {"kind": "barrier", "patience": 2.0, "notices": True}


def test_a_field_of_a_table_that_the_file_leaves_out_keeps_the_default_kind() -> None:
    assert changed("topology.agents=8").topology == changed("topology={kind='random', agents=8}").topology
    assert changed("compute.time.value=10 ms") == changed("compute.time=10 ms")


@pytest.mark.parametrize("order", [1, -1])
def test_the_kind_may_be_set_before_or_after_its_fields(order: int) -> None:
    both = ["compute.time.kind=lognormal", "compute.time.median=10 ms"][::order]
    assert changed(*both) == changed("compute.time={kind='lognormal', median='10 ms'}")


def test_entries_of_lists_are_counted_from_0_and_the_next_one_is_new() -> None:
    both = changed("network.override.0.agent=1", "network.override.1.link=[0, 1]", "network.override.1.loss=0.5")
    assert [entry.get("agent") for entry in both.content()["network"]["override"]] == [1, None]
    third = both.with_(**{"network.override.1.link.0": 2})
    assert third.network.override[1].link == (2, 1)
    assert third.network.override[0] == both.network.override[0]


def test_one_of_two_equal_entries_is_set_and_the_other_left_alone() -> None:
    twins = changed("network.override=[{agent=1}, {agent=1}]").with_(**{"network.override.1.agent": 2})
    assert [entry.agent for entry in twins.network.override] == [1, 2]


def test_an_entry_beyond_the_next_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"network\.override\.1\.agent: the list has no entry 1, and 0 adds one"):
        changed("network.override.1.agent=1")


def test_a_path_through_a_value_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r'name\.x: name = "adult" is not a table'):
        changed("name=adult", "name.x=1")


def test_a_part_of_the_api_can_be_set_and_then_changed_by_path() -> None:
    changed_twice = PLAIN.with_(
        **{"network.link.loss": Bernoulli(kind="bernoulli", p=0.5), "network.link.loss.p": 0.25}
    )
    assert changed_twice.network.link.loss == Bernoulli(kind="bernoulli", p=0.25)


@settings(deadline=None)
@given(st.integers(0, 2**53), st.text())
def test_an_override_says_the_same_as_a_line_of_the_file(seed: int, name: str) -> None:
    line = tomli_w.dumps({"name": name}).strip()
    try:
        by_file = Scenario.loads(f'{line}\nseed = {seed}\n[algorithm]\nname = "ipp-admm"')
    except ScenarioError:
        with pytest.raises(ScenarioError):
            changed(f"seed={seed}", line)
    else:
        assert changed(f"seed={seed}", line) == by_file


TEXT = """
rounds = 12

[topology]
kind = "ring"
agents = 6

[algorithm]
name = "ipp-admm"
eta = 0.02
loss = "smoothed-hinge"

[methods.m-admm]
rounds = 20
algorithm.penalty_growth = 1.05

[methods.dp-admm.algorithm]
penalty = 0.1

[methods.r-admm]
topology = { kind = "complete", agents = 4 }
"""


def test_a_method_takes_its_own_table_and_keeps_the_rest():
    scenario = Scenario.loads(TEXT).with_method("m-admm")
    assert (scenario.rounds, scenario.topology.kind) == (20, "ring")
    assert (scenario.algorithm.eta, scenario.algorithm.penalty_growth) == (0.02, 1.05)
    assert scenario.methods == {}
    assert Scenario.loads(TEXT).with_method("pp-admm").rounds == 12


def test_a_table_of_another_kind_replaces_the_one_before():
    topology = Scenario.loads(TEXT).with_method("r-admm").topology
    assert (topology.kind, topology.agents) == ("complete", 4)
    before = {"a": {"kind": "x", "p": 1, "deep": {"q": 1, "r": 2}}, "b": 1}
    assert merged(before, {"a": {"deep": {"q": 3}}}) == {"a": {"kind": "x", "p": 1, "deep": {"q": 3, "r": 2}}, "b": 1}
    assert merged(before, {"a": {"kind": "y"}}) == {"a": {"kind": "y"}, "b": 1}


def test_a_method_with_a_hub_takes_the_same_agents_to_a_star_and_only_the_loss_along():
    scenario = Scenario.loads(TEXT).with_method("dp-admm")
    assert (scenario.topology.kind, scenario.topology.agents) == ("star", 6)
    assert (scenario.algorithm.loss, scenario.algorithm.penalty) == ("smoothed-hinge", 0.1)
    assert scenario.algorithm.eta == Scenario.of({"algorithm": {"name": "dp-admm"}}).algorithm.eta


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[methods.madmm]", "methods.madmm: algorithm.name = .*did you mean m-admm"),
        ("[methods.pvp.algorithm]\netta = 1", r"methods.pvp: algorithm.etta: pvp has no such field \(did you mean eta"),
        ("methods = 3", "methods = 3: a table for each method"),
        ("methods.pvp = 3", "a table for each method"),
    ],
)
def test_a_mistake_in_a_table_is_found_when_the_file_is_read(line, said):
    with pytest.raises(ScenarioError, match=said):
        Scenario.loads(f'{line}\n[algorithm]\nname = "admm"')


def test_tables_survive_writing_and_reading():
    scenario = Scenario.loads(TEXT)
    assert Scenario.loads(scenario.to_toml()) == scenario
    assert hash(Scenario.loads(scenario.to_toml())) == hash(scenario)
