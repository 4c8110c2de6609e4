"""The shape of a scenario file is read off the models."""

from __future__ import annotations

import pytest

from simnet.methods import METHODS
from simnet.network.loss import Bernoulli, NoLoss
from simnet.network.model import LinkModel, Override
from simnet.parts.part import Section
from simnet.scenario import Scenario
from simnet.scenario.schema import fields, locate, place, walk


def test_every_method_and_every_kind_is_reached() -> None:
    found = {(path, kind) for path, kind, _ in walk(Scenario)}
    assert {(("algorithm",), method) for method in METHODS} <= found
    assert ((), None) in found
    assert (("network", "link", "loss"), "bernoulli") in found
    assert (("network", "override", 0, "latency"), "uniform") in found


def test_fields_go_by_their_names_in_the_file() -> None:
    assert {"from", "to", "agent"} <= fields(Override).keys()
    assert "source" not in fields(Override)


def test_a_union_knows_its_kinds_its_tag_and_its_shorthand() -> None:
    loss = place(fields(LinkModel)["loss"])
    assert loss.tag == "kind"
    assert {"none": NoLoss, "bernoulli": Bernoulli}.items() <= loss.kinds.items()
    assert loss.spelled_out(0.05) == {"kind": "bernoulli", "p": 0.05}
    assert loss.spelled_out({"kind": "none"}) == {"kind": "none"}
    assert place(fields(Override)["loss"]).kinds == loss.kinds, "optional or not"


@pytest.mark.parametrize(
    ("loc", "path"),
    [
        (("network", "link", "loss", "bernoulli", "p"), ("network", "link", "loss", "p")),
        (("network", "override", 0, "loss", "none", "kind"), ("network", "override", 0, "loss", "kind")),
        (("network", "override", 0, "link", 1), ("network", "override", 0, "link", 1)),
        (("data", "label", "str"), ("data", "label")),
        (("algorithm", "admm", "max_releases"), ("algorithm", "max_releases")),
        (("nonsense", "deep", 3), ("nonsense",)),
    ],
)
def test_tags_and_type_names_are_no_part_of_a_path(loc: tuple[str | int, ...], path: tuple[str | int, ...]) -> None:
    assert locate(Scenario, loc)[0] == path


def test_a_part_with_fields_of_plain_types_gets_plain_words() -> None:
    class Mine(Section):
        length: float
        label: str | int | None = None
        shape: complex = 0j

    assert [place(info).what for info in fields(Mine).values()] == [
        "a number",
        "a text or a whole number",
        "something else",
    ]


def test_every_place_of_the_file_can_say_what_would_be_right() -> None:
    for _, _, table in walk(Scenario):
        for info in fields(table).values():
            assert place(info).what
