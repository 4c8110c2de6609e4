"""What the study `radio` adds to its tables."""

from __future__ import annotations

import json

import polars as pl
import pytest

from analysis.radio import Reached, complete
from simnet.studies.results import StudyResult

WATTS = {"send_watts": 1.5, "receive_watts": 1.0, "idle_watts": 0.5}
SCENARIO = {"cost": {"energy": WATTS}, "topology": {"degree": 4}, "network": {"link": {"bandwidth": 8e3}}}
METHODS = ("admm", "pp-admm", "ipp-admm", "m-admm", "r-admm")


def study(seeds: int = 10) -> StudyResult:
    """On links each method is slower than the one before; in a cell the last one is first, and one never gets there."""
    rows = []
    for channel in (None, "csma"):
        for medium in ("unicast", "shared"):
            for number, method in enumerate(METHODS):
                for seed in range(seeds):
                    late = 1 if channel and method == "r-admm" else number + 2
                    error = 0.3 if channel and method == "m-admm" else 0.2
                    rows.append((len(rows), seed, channel, medium, method, late, error))
    names = ("run", "seed", "network.channel.kind", "network.medium", "algorithm.name", "t", "test_error")
    table = pl.DataFrame(
        rows, schema=dict(zip(names, (int, int, str, str, str, float, float), strict=True)), orient="row"
    )
    plan = {"name": "radio", "question": None, "fields": [], "together": [], "runs": []}
    figures = {"wire_bytes": 3000.0, "airtime_sent": 7.0, "joules": 10.0}
    runs = table.with_columns(
        pl.lit(json.dumps(SCENARIO)).alias("resolved"), **{k: pl.lit(v) for k, v in figures.items()}
    )
    found = StudyResult(None, plan, runs)
    found._rounds = runs.with_columns(pl.lit(1).alias("round"))
    return found


@pytest.mark.parametrize(
    ("network", "air", "joules"),
    [
        ("links, unicast", 3.0, 10 + 3 * 1.0 + 3 * 0.5),
        ("links, shared", 3.0, 10 + 3 * 1.0 + 4 * 3 * 0.5),
        ("cell, unicast", 7.0, 10.0),
        ("cell, broadcast", 7.0, 10.0),
    ],
)
def test_the_airtime_of_links_is_that_of_their_bytes_and_a_cell_keeps_its_own(network, air, joules):
    found = study(1)
    rows = complete(found, found.runs).filter(network=network)
    assert rows.height == len(METHODS)
    assert rows["airtime_sent"].unique().to_list() == [air]
    assert rows["joules"].unique().to_list() == [joules]


def test_methods_that_change_places_are_found_and_those_that_never_arrive_are_not_ranked():
    reached = Reached(study())
    assert reached.ranking("t", "links, unicast") == list(METHODS)
    assert reached.ranking("t", "cell, broadcast") == ["r-admm", "admm", "pp-admm", "ipp-admm"]
    assert reached.sooner("t", "cell, broadcast", "ipp-admm", "m-admm") == 10
    passes = [("r-admm", other) for other in METHODS[:4]]
    assert reached.turned("t", "links, unicast", "cell, broadcast") == passes
    assert reached.turned("t", "links, unicast", "links, shared") == []
