"""Each sentence names the field as it stands in the file and says what would be right."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from simnet.errors import ScenarioError
from simnet.parts.fields import Count
from simnet.parts.part import OneOf, Part, Section, table
from simnet.scenario import Scenario
from simnet.scenario.messages import sentence
from simnet.studies.spec import Study


def said(text: str, method: str = "ipp-admm") -> str:
    with pytest.raises(ScenarioError) as caught:
        Scenario.loads(f'algorithm.name = "{method}"\n{text}')
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seed = -1", "seed = -1: a whole number of at least 0"),
        ("rounds = true", "rounds = true: a whole number of at least 1"),
        ('name = ""', 'name = "": a line of text, not blank'),
        ("data.bias = 1", "data.bias = 1: true or false"),
        ("data.label = [1]", "data.label = [1]: a column's name, or its index as a whole number"),
        ("data.positive = true", "data.positive = true: a text or a number"),
        ("data = 3", "data = 3: a table"),
        (
            'network.link.bandwidth = "fast"',
            'network.link.bandwidth = "fast": a bit rate such as 1e7 or "10 Mbit/s", above 0',
        ),
        (
            "network.override = [{ link = [1] }]",
            "network.override.0.link = [1]: a list of 2, each a whole number of at least 0",
        ),
        ("network.override = [{ link = [1, -2] }]", "network.override.0.link.1 = -2: a whole number of at least 0"),
        (
            "network.override = { agent = 1 }",
            "network.override = { agent = 1 }: a list of tables, each begun by [[network.override]]",
        ),
        ("network.override = [3]", "network.override.0 = 3: a table"),
    ],
)
def test_a_wrong_value_is_shown_with_what_would_be_right(text: str, sentence: str) -> None:
    assert said(text) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("netwrok.codec = 1", "netwrok: there is no such field (did you mean network?)"),
        (
            "algorithm.Max-Releases = 3",
            "algorithm.Max-Releases: ipp-admm has no such field (did you mean max_releases?)",
        ),
        ("algorithm.reg = 3", "algorithm.reg: ipp-admm has no such field (did you mean regulariser?)"),
        ("algorithm.epsilon = 3", "algorithm.epsilon: ipp-admm has no such field (did you mean privacy.epsilon?)"),
        ("network.latency = 3", "network.latency: there is no such field (did you mean network.link.latency?)"),
        (
            "topology = { kind = 'ring', degree = 3 }",
            "topology.degree: ring has no such field (regular and small-world have it)",
        ),
        ("log.what = 3", "log.what: there is no such field, choose from private"),
        (
            "network.link.latency = { kind = 'lognormal', medain = 1, sigma = 1 }",
            "network.link.latency.medain: lognormal has no such field (did you mean median?)",
        ),
        (
            "data.partition = { kind = 'skewed', concentration = 1 }",
            "data.partition.concentration: skewed has no such field (did you mean data.concentration?)",
        ),
        # No field of another section, although latencies have an alpha and agents of [compute] a time.
        (
            "data.partition = { kind = 'skewed', alpha = 1 }",
            "data.partition.alpha: skewed has no such field, and none at all",
        ),
        (
            "fault = [{ kind = 'crash', agent = 0, time = 1 }]",
            "fault.0.time: crash has no such field, choose from at, every, duration, agent, state",
        ),
        (
            "topology = { kind = 'file', file = 'x', agent = 3 }",
            "topology.agent: file has no such field, choose from",
        ),
        ('data."a b" = 3', 'data."a b": there is no such field'),
    ],
)
def test_an_unknown_field_is_answered_with_where_it_could_be(text: str, sentence: str) -> None:
    assert said(text).startswith(sentence)


def test_of_many_methods_with_a_field_some_are_named() -> None:
    told = said("algorithm.eta = 3", "gossip")
    assert told.startswith("algorithm.eta: gossip has no such field (admm, dvp, pvp and ")
    assert told.endswith(" others have it)")


@pytest.mark.parametrize("field", ["grid", "zip", "base", "scenario", "replicates"])
def test_a_study_is_sent_to_the_command_for_studies(field: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{field}: this belongs to a study, and `simnet sweep` does"):
        Scenario.of({"name": "x", field: {}})


def test_a_scenario_is_sent_to_the_command_for_scenarios() -> None:
    with pytest.raises(ScenarioError, match=r"^algorithm: this belongs to a scenario, which `simnet run` simulates"):
        Study.of({"name": "x", "algorithm": {"name": "admm"}})


def test_a_field_of_another_method_says_which_method_has_it() -> None:
    assert (
        said("algorithm.max_releases = 3", "admm") == "algorithm.max_releases: admm has no such field (ipp-admm has it)"
    )


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("topology.agents = 5", "topology.kind is missing: choose one of random, ring,", "matrix"),
        ("topology.kind = 'Ring '", 'topology.kind = "Ring ": choose one of random, ring,', "(did you mean ring?)"),
        ("topology.kind = 3", "topology.kind = 3: choose one of random, ring,", "matrix"),
        ("topology = 'ring'", 'topology = "ring": a table whose kind is one of random, ring,', "matrix"),
        ("topology.kind = 'file'", "topology.file is missing: a line of text", "not blank"),
        ("network.transport = {}", "network.transport.kind is missing: ", "choose one of datagram, reliable"),
        (
            "data.partition = 'evn'",
            'data.partition = "evn": choose one of even, uneven, skewed',
            "(did you mean even?)",
        ),
    ],
)
def test_a_missing_or_unknown_kind_lists_the_choices(text: str, begin: str, end: str) -> None:
    assert said(text).startswith(begin)
    assert said(text).endswith(end)


def test_without_a_method_the_methods_are_listed() -> None:
    for nothing in ("", "[algorithm]"):
        with pytest.raises(ScenarioError, match=r"^algorithm\.name is missing: choose one of admm, "):
            Scenario.loads(nothing)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("network.link.loss = 1.4", "network.link.loss = 1.4: a probability lies between 0 and 1"),
        (
            "network.link.loss = { kind = 'bernoulli', p = 1.4 }",
            "network.link.loss.p = 1.4: a probability lies between 0 and 1",
        ),
        ("network.link.loss = 'bernoulli'", "network.link.loss.p is missing: a probability lies between 0 and 1"),
        ("network.link.latency = '20 m'", 'network.link.latency = "20 m": a time such as 0.02 or "20 ms", at least 0'),
        (
            "network.override = [{ agent = 0, latency = true }]",
            'network.override.0.latency = true: a time such as 0.02 or "20 ms", at least 0',
        ),
        (
            "network.pacing = 'barier'",
            'network.pacing = "barier": choose one of ideal, barrier, deadline, quorum, free (did you mean barrier?)',
        ),
    ],
)
def test_a_shorthand_is_named_as_it_was_written(text: str, sentence: str) -> None:
    assert said(text) == sentence


def test_a_check_over_a_whole_table_names_the_field_and_its_value() -> None:
    latency = "network.link.latency = { kind = 'uniform', low = '3 s', high = 2 }"
    assert said(latency) == 'network.link.latency.low = "3 s": at most high, which is 2 s'


def test_the_misspelling_is_told_and_not_the_field_that_is_missing_because_of_it() -> None:
    assert (
        said("topology = { kind = 'file', fil = 'x' }") == "topology.fil: file has no such field (did you mean file?)"
    )


class Shape(Part):
    """What a drawing is made of."""


class Disc(Shape):
    kind: Literal["disc"]
    radius: Count = Field(1, description="")


class Hole(Shape):
    kind: Literal["hole"]


class Box(Shape):
    kind: Literal["box"]
    inside: Annotated[Shape, OneOf(table(Disc, Hole))] | None = Field(None, description="")


class Drawing(Section):
    figure: list[Annotated[Shape, OneOf(table(Disc, Box))]] = Field([], description="")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"figure": [{"kind": "disc", "radius": 0}]}, "figure.0.radius = 0: a whole number of at least 1"),
        (
            {"figure": [{"kind": "box", "inside": {"kind": "disc", "radius": "x"}}]},
            'figure.0.inside.radius = "x": a whole number of at least 1',
        ),
        (
            {"figure": [{"kind": "box", "inside": {"kind": "hol"}}]},
            'figure.0.inside.kind = "hol": choose one of disc, hole',
        ),
        ({"figure": [{"kind": "box", "radius": 1}]}, "figure.0.radius: box has no such field (disc has it)"),
        ({"figure": [{}]}, "figure.0.kind is missing: choose one of disc, box"),
    ],
)
def test_sections_that_do_not_exist_yet_get_sentences_too(content: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Drawing.model_validate(content)
    assert sentence(caught.value, Drawing, content).startswith(expected)
