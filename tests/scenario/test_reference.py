"""The scenario reference and the starter scenario say what the models say."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

from simnet.scenario import Scenario
from simnet.scenario.reference import commented, reference
from simnet.scenario.schema import fields, place, walk

DOCS = Path(__file__).parents[2] / "docs" / "scenario.md"


def test_the_shipped_reference_is_up_to_date() -> None:
    shipped = DOCS.read_text(encoding="utf-8")
    assert shipped == reference(), "run: python -m simnet.scenario.reference > docs/scenario.md"


def test_the_example_of_the_reference_loads() -> None:
    examples = re.findall(r"```toml\n(.*?)```", reference(), flags=re.DOTALL)
    assert [Scenario.loads(example) for example in examples] == [Scenario.loads(commented())]


def test_every_field_and_every_kind_is_in_the_reference() -> None:
    text = reference()
    for _, kind, table in walk(Scenario):
        assert kind is None or f"- `{kind}`: " in text
        for name, info in fields(table).items():
            assert f"| `{name}` |" in text or f"`{name}` is one of:" in text
            assert (info.description or "").replace("|", r"\|") in text
            assert all(f"`{choice}`" in text for choice in place(info).choices)


def test_every_link_of_the_reference_leads_to_a_heading() -> None:
    text = reference()
    headings = {re.sub(r"[^a-z0-9-]", "", line.lower()) for line in text.splitlines() if line.startswith("## ")}
    links = set(re.findall(r"\]\(#(.*?)\)", text))
    assert links <= headings
    assert len(links) > 10


def test_the_starter_scenario_is_private_learning_over_a_slow_and_lossy_network() -> None:
    starter = Scenario.loads(commented()).resolved()
    assert starter["algorithm"]["name"] == "ipp-admm"
    assert starter["network"]["pacing"]["kind"] == "deadline"
    assert starter["network"]["link"]["latency"]["kind"] == "lognormal"
    assert starter["network"]["link"]["loss"] == {"kind": "bernoulli", "p": 0.05}


def test_every_line_of_the_starter_scenario_is_explained() -> None:
    lines = commented().splitlines()
    assert max(map(len, lines)) <= 110
    for before, line in pairwise(lines):
        if line and not line.startswith("#"):
            assert " # " in line or before.startswith("# ")


def test_the_starter_scenario_writes_nothing_but_what_its_comments_explain() -> None:
    written = tomllib.loads(commented())
    assert Scenario.of(written).content().keys() == written.keys()
