"""The world: what a scenario becomes."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.build import build, cautions, deal_data
from tests.worlds import TICKS, world


def test_the_parts_of_a_world_are_those_that_were_dealt_although_only_the_objectives_hold_them():
    chosen = world()
    built = build(chosen)
    dealt = deal_data(chosen, built.agents)
    assert built.learning.rows == dealt.rows
    for kept, part in zip(built.learning.parts, dealt.parts, strict=True):
        assert kept.name == part.name
        assert np.asarray(kept.X).tolist() == np.asarray(part.X).tolist()
        assert kept.y.tolist() == part.y.tolist()
    assert [part.rows for part in built.learning.parts[1:3]] == dealt.rows[1:3]


LATE = {"network.pacing": TICKS, "network.link.latency": 0.3}


@pytest.mark.parametrize("latency", [0.3, {"kind": "lognormal", "median": 0.3, "sigma": 0.1}])
@pytest.mark.parametrize("duals", ["node", "healing"])
def test_a_delay_above_the_period_is_a_caution(latency, duals):
    (sentence,) = cautions(build(world(**LATE | {"network.link.latency": latency, "algorithm.duals": duals})))
    assert "on all links exceeds the period of 0.1 s (it is up to 0.3 s)" in sentence
    assert f"{duals} duals may diverge" in sentence


def test_the_time_to_send_a_value_counts_and_one_slow_agent_is_enough():
    slow = {"network.link.latency": 0.09, "network.override": [{"agent": 0, "bandwidth": "30 kbit/s"}]}
    (sentence,) = cautions(build(world(**LATE | slow)))
    assert "on 6 of 18 links" in sentence


@pytest.mark.parametrize(
    "changes",
    [{"network.link.latency": 0.05}, {"algorithm.duals": "edge"}, {"network.pacing": "barrier"}],
    ids=["in time", "edge", "barrier"],
)
def test_there_is_no_caution_where_nothing_is_late_or_nobody_minds(changes):
    assert cautions(build(world(**LATE | changes))) == []


def told_of(**changes: object) -> list[str]:
    return cautions(build(world(**{"network.pacing": {"kind": "deadline", "period": 0.2}} | changes)))


def test_a_period_that_was_probably_meant_in_milliseconds_is_cautioned():
    (found,) = told_of(**{"network.pacing.period": 200, "network.link.latency": "20 ms"})
    assert found == (
        "network.pacing.period is 200 s, and most values arrive within 0.02 s: write a unit, such as "
        '"200 ms", if no seconds are meant'
    )
    assert told_of(**{"network.pacing.period": "200 ms", "network.link.latency": "20 ms"}) == []
    assert told_of(**{"network.pacing.period": 60, "network.link.latency": "2 s"}) == [], "satellites, duty cycles"


def test_a_latency_that_no_link_has_is_cautioned(tmp_path):
    graph = tmp_path / "graph.csv"
    topology = {"kind": "file", "file": str(graph)}
    graph.write_text("source,target,latency\na,b,5 ms\nb,c,5 ms\n")
    assert told_of(topology=topology, **{"network.link.latency": "20 ms"}) == [
        "network.link.latency counts for no link: topology.file gives each a latency of its own"
    ]
    assert told_of(topology=topology) == []
    graph.write_text("source,target,latency\na,b,5 ms\nb,c,\n")
    assert told_of(topology=topology, **{"network.link.latency": "20 ms"}) == []
