"""The world: what a scenario becomes."""

from __future__ import annotations

import numpy as np

from simnet.build import build, deal_data
from tests.worlds import world


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
