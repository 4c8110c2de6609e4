"""A mistake in a scenario is one short sentence that names the field, whatever the mistake is."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from simnet.agent.outputs import Flooded
from simnet.errors import ScenarioError
from simnet.learning.neural import NeuralTask
from simnet.scenario import Scenario
from simnet.scenario.overrides import parse_override
from tests.portions import some
from tests.scenario.broken import Broken, broken_scenarios, least, reachable

BROKEN = broken_scenarios()
BY_PLACE = [(place, [*group]) for place, group in groupby(BROKEN, key=lambda broken: broken.place)]
SENTENCE = re.compile(r"""(?:[^ "]|"[^"]*")+(?: = .+:| is missing:|:) .+""")
JARGON = re.compile(r"Input should|validation error|\[type=|Value error|pydantic|NoneType|dict\b|\bstr\b|\bint\b|Errno")


def said_about(broken: Broken, folder: Path) -> str:
    """What the user reads."""
    path = folder / "scenario.toml"
    with broken.put(path), pytest.raises(ScenarioError) as caught:
        Scenario.load(path).with_(**dict(map(parse_override, broken.overrides)))
    return str(caught.value).replace(str(path), "{file}")


@pytest.mark.parametrize(("place", "group"), BY_PLACE, ids=[place for place, _ in BY_PLACE])
def test_a_mistake_is_one_sentence_that_names_the_field(place: str, group: list[Broken], tmp_path: Path) -> None:
    for broken in some(group, 3):
        said = said_about(broken, tmp_path)
        assert said.isprintable(), f"{broken.label}: one line, nothing hidden"
        assert said.startswith(broken.names), broken.label
        assert len(said) < 240, broken.label
        assert not JARGON.search(said), broken.label
        if not broken.names.startswith(("--set", "{file}")):
            assert SENTENCE.match(said), f"{broken.label}: path = value: what would be right"


def test_there_are_hundreds_of_different_mistakes() -> None:
    assert len(BROKEN) >= 300
    assert len({(broken.file, broken.overrides, broken.folder) for broken in BROKEN}) == len(BROKEN)


def test_without_the_mistake_each_of_these_files_loads() -> None:
    for reach in reachable():
        if reach.table is NeuralTask:
            continue  # every method of the table solves something, which a network has not
        floods = {"algorithm": {"name": "one-shot"}} if reach.table is Flooded else {}
        Scenario.of(reach.wrap(least(reach.table)) | floods)
