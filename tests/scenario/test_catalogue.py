"""What `simnet list` shows is what a scenario may hold."""

from __future__ import annotations

import json
from pathlib import Path

import simnet
from simnet.scenario.catalogue import catalogue


def test_the_stored_catalogue_is_the_models_own():
    stored = Path(simnet.__file__).with_name("catalogue.json").read_text(encoding="utf-8")
    assert json.loads(stored) == catalogue(), "run make docs"


def test_everything_has_a_name_and_methods_have_a_line():
    found = catalogue()
    assert {"ipp-admm", "dp-acc-admm"} <= set(found["algorithms"])
    assert all(found["algorithms"].values())
    assert all(found.values())
