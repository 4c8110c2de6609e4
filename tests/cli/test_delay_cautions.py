"""`explain` says when duals hear everything too late."""

import pytest

from simnet.cli.explain import delay_cautions, explain
from tests.worlds import TICKS, world


@pytest.mark.parametrize("latency", [0.3, {"kind": "lognormal", "median": 0.3, "sigma": 0.1}])
@pytest.mark.parametrize("duals", ["node", "healing"])
def test_a_delay_above_the_period_is_a_caution(latency, duals):
    scenario = world(**{"network.pacing": TICKS, "network.link.latency": latency, "algorithm.duals": duals})
    (sentence,) = delay_cautions(scenario)
    assert "exceeds the period of 0.1 s" in sentence
    assert explain(scenario)["traffic"]["caution"] == sentence


@pytest.mark.parametrize(
    "changes",
    [{"network.link.latency": 0.05}, {"algorithm.duals": "edge"}, {"network.pacing": "barrier"}],
    ids=["in time", "edge", "barrier"],
)
def test_there_is_none_where_nothing_is_late_or_nobody_minds(changes):
    assert delay_cautions(world(**{"network.pacing": TICKS, "network.link.latency": 0.3} | changes)) == []
