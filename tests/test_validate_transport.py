"""The reliable transport stays near what ns-3's TCP NewReno measured; `make validate` has more runs."""

from __future__ import annotations

import json

import pytest

from benchmarks.report import RESULTS
from benchmarks.validate_transport import one, transfer

NS3 = [
    row["ns3"]
    for row in json.loads((RESULTS / "validation.json").read_text(encoding="utf-8"))["transfers"]
    if not row["ns3"]["ack_loss"]
]
SEEDS = {10_000: 400, 100_000: 100, 1_000_000: 20}


@pytest.mark.parametrize("ns3", NS3, ids=lambda row: f"{row['size'] // 1000} kB, loss {row['loss']}")
def test_a_message_weighs_and_takes_what_ns3_says(ns3):
    wire, seconds = transfer(ns3["size"], ns3["loss"], SEEDS[ns3["size"]] if ns3["loss"] else 1)
    assert wire == pytest.approx(ns3["wire_bytes_per_byte"], rel=0.15 if ns3["loss"] else 1e-3)
    assert seconds == pytest.approx(ns3["seconds"], rel=0.25 if ns3["loss"] else 0.01)


def test_without_loss_a_message_weighs_its_headers():
    """Seven packets of 1500 bytes at most, 52 of them headers."""
    wire, seconds = one(10_000, 0.0, 1)
    assert wire * 10_000 == 10_000 + 7 * 52
    assert seconds == pytest.approx(0.02 + (10_000 + 7 * 54) * 8 / 10e6)
