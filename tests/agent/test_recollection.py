"""What an agent keeps for its outputs: each release once, the newest ones, and nothing that nobody released."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simnet.agent.recollection import Recollection
from simnet.errors import ScenarioError
from simnet.methods.peer import Known, Peer, Proposal
from tests.worlds import world


class Idle(Peer):
    """A peer that computes nothing."""

    def propose(self, t: int) -> Proposal:
        return Proposal(None, skipped="listening")

    def absorb(self, t: int, sent: Any, known: Any) -> None:
        return


def recollection(*outputs: Any) -> Recollection:
    return Recollection(world(output=list(outputs)).output)


def test_a_crash_that_takes_an_agents_state_takes_its_own_releases_and_not_what_it_has_heard():
    memory, peer = recollection("last", "tail", "neighbours", "tail+neighbours"), Idle(2)
    known = [Known(5, 1, (np.array([8.0, 0.0]),))]
    memory.models(1, peer, (np.array([2.0, 0.0]),), known)
    memory.forget()
    last, tail, neighbours, both = memory.models(2, peer, None, known)
    assert (last[0], tail[0], neighbours[0], both[0]) == (0.0, 0.0, 8.0, 8.0)


def test_a_value_counts_once_however_often_it_is_used_and_the_newest_are_kept():
    memory, peer = recollection({"kind": "tail+neighbours", "releases": 2}), Idle(1)
    first, second, third = (Known(5, t, (np.array([float(t)]),)) for t in (1, 2, 3))
    found = [memory.models(t, peer, None, [v])[0][0] for t, v in enumerate([first, first, second, second, third], 1)]
    assert found == [1.0, 1.0, 1.5, 1.5, 2.5]


def test_the_values_that_everybody_starts_from_are_no_releases():
    memory, peer = recollection("neighbours"), Idle(1)
    assert memory.models(1, peer, (np.array([4.0]),), [Known(5, 0, (np.array([0.0]),))])[0][0] == 4.0


def test_a_message_that_tells_no_model_of_that_length_is_refused_with_the_way_out():
    memory, peer = recollection("neighbours"), Idle(3)
    with pytest.raises(ScenarioError, match="`own_model` and `model_heard`"):
        memory.models(1, peer, (np.zeros(2),), [])
