from __future__ import annotations

import pytest

from simnet.errors import ScenarioError
from simnet.network.latency import Constant
from simnet.network.loss import NoLoss
from simnet.network.model import LinkModel
from simnet.network.queueing import Queue


def test_a_link_is_perfect_unless_told_otherwise():
    assert LinkModel() == LinkModel(Constant(0.0), NoLoss(), None, Queue(), None, 0, "fifo", 0.0, 0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": 0}, "bandwidth = 0: must be finite and greater than 0"),
        ({"overhead": -1}, "overhead = -1: must be finite and at least 0"),
        ({"mtu": 20, "overhead": 20}, "mtu = 20: must be greater than overhead = 20"),
        ({"order": "lifo"}, "order = 'lifo': must be 'fifo' or 'free'"),
        ({"duplication": 1.5}, "duplication = 1.5: a probability"),
        ({"corruption": -0.5}, "corruption = -0.5: a probability"),
    ],
)
def test_an_impossible_link_is_refused_with_its_field(settings, message):
    with pytest.raises(ScenarioError, match=message):
        LinkModel(**settings)
