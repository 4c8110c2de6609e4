"""What `simnet list` says of a user's file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from simnet.cli import app
from simnet.errors import ScenarioError
from simnet.scenario.own_parts import described

MY_PARTS = Path(__file__).parents[2] / "scenarios" / "parts" / "my_parts.py"


def test_the_parts_of_a_file_are_told_with_place_fields_defaults_and_meaning():
    found = described(MY_PARTS)
    assert found["my_parts.py:Dithered"] == {
        "for network.codec": "Whole multiples of a step in 2 bytes each, rounded at random so that the mean is exact.",
        "step": "what is rounded to (a number above 0; default 0.001)",
    }
    places = [next(iter(lines)).removeprefix("for ") for lines in found.values()]
    assert places == [
        "network.link.latency",
        "network.link.loss",
        "network.link.bandwidth",
        "network.codec",
        "network.pacing",
        "topology",
        "fault",
        "data.source",
        "data.partition",
        "metric",
        "output",
    ]


def test_a_file_without_parts_or_with_a_mistake_is_one_sentence(tmp_path):
    (tmp_path / "empty.py").write_text("class Thing: ...\n")
    (tmp_path / "wrong.py").write_text("import nothing_such\n")
    for name, said in {"empty": "holds no part", "wrong": "cannot be loaded", "absent": "cannot be read"}.items():
        with pytest.raises(ScenarioError, match=said):
            described(tmp_path / f"{name}.py")


def test_the_list_knows_the_parts_that_installed_packages_bring(tmp_path, monkeypatch):
    info = tmp_path / "delays-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: delays\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[simnet.parts]\nweibull = delays.of_mine:Weibull\n")
    before = CliRunner().invoke(app, ["list"]).output
    assert "parts of other packages" not in before
    monkeypatch.syspath_prepend(tmp_path)
    after = CliRunner().invoke(app, ["list"]).output
    assert "weibull    delays.of_mine:Weibull" in after
