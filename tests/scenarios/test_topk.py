"""Sending only the entries that moved most: ADMM still finds the optimum, with and without loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from analysis.duals_under_loss import distance, optimum
from simnet import Scenario, run

BASE = Scenario.of(
    {
        "rounds": 100,
        "data": {"source": "synthetic", "rows": 500, "train": 400, "features": 8, "bias": False},
        "topology": {"kind": "complete", "agents": 4},
        "algorithm": {"name": "admm", "eta": 0.02, "regulariser": 0.1, "tolerance": 1e-9},
        "network": {"codec": "top-k", "topk": {"share": 0.25}},
    }
)
PLACES_AND_VALUES = 1 + 4 + 4 + 2 * (2 + 8)
"""Two of eight entries: number of parts, length, number of entries, and a place and a value for each."""


@pytest.fixture(scope="module")
def best() -> np.ndarray:
    return optimum(BASE)


@pytest.mark.parametrize(
    ("duals", "size"), [("node", PLACES_AND_VALUES), ("healing", PLACES_AND_VALUES + 5 + 5 + 2 * 8), ("edge", 29)]
)
def test_a_quarter_of_the_entries_is_enough_to_find_the_optimum(best, duals, size):
    far, bytes_a_message = distance(BASE.with_(**{"algorithm.duals": duals}), best)
    assert far < 1e-6
    assert bytes_a_message == size
    assert size < 1 + 4 + 8 * 8, "less than the whole model"


@pytest.mark.parametrize("duals", ["healing", "edge"])
def test_and_also_if_one_message_in_ten_is_lost(best, duals):
    far, _ = distance(BASE.with_(**{"algorithm.duals": duals, "network.link.loss": 0.1}), best)
    assert far < 1e-6
    broken, _ = distance(BASE.with_(**{"network.link.loss": 0.1}), best)
    assert broken > 0.01, "the papers' duals have lost what they lost"


@pytest.mark.parametrize("values", ["float32", "float16", "int8"])
def test_entries_written_with_fewer_bits_end_as_near_as_their_bits_allow(best, values):
    far, _ = distance(BASE.with_(**{"network.topk.values": values}), best)
    assert far < {"float32": 1e-6, "float16": 2e-3, "int8": 2e-2}[values]


@pytest.mark.parametrize("name", ["dp-admm", "dp-acc-admm"])
def test_a_hub_and_its_leaves_send_each_other_entries_too(name):
    star = BASE.with_(**{"topology.kind": "star"}).with_method(name)
    star = star.with_(**{"algorithm.hub": "untrusted", "privacy.calibration": "none", "rounds": 30})
    whole, part = run(star.with_(**{"network.codec": "float64"})), run(star)
    objectives = part.rounds["objective"].to_list()
    assert all(later < earlier for earlier, later in pairwise(objectives[5:])), "more slowly, but it learns"
    sent = [result.summary["communication"]["payload_bytes"] for result in (whole, part)]
    assert sent[1] < 0.6 * sent[0]
