"""What leaves an agent is paid for, whatever its method says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simnet import Result, Scenario, run
from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.program import due
from simnet.errors import ScenarioError
from simnet.methods import peer
from simnet.methods.peer import Proposal
from simnet.privacy.ledger import BARE, RECYCLED, Charge, Ledger
from simnet.record import events
from tests.methods.noisy_descent import NoisyDescent, running
from tests.worlds import ROWS, unlawful, world

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer")
GAUSSIAN = Charge.of("gaussian", {"sensitivity": 1.0, "sigma": 9.0})
TEST = Charge.of("threshold-test", {"sensitivity": 1.0, "threshold_scale": 9.0, "query_scale": 9.0, "cap": 2.0}, "test")
QUERY = Charge.of("pure", {"epsilon": 0.1}, "test")
UPLOAD = Charge.of("trusted-upload", {})
SOMETHING = (np.zeros(2),)


def story(calibration: str, **fields: str) -> Scenario:
    return running(world(privacy={"calibration": calibration}), NoisyDescent(**fields))


def lawful_run(scenario: Scenario) -> Result:
    found = run(scenario)
    assert unlawful(found) == []
    return found


def epsilon(found: Result) -> float | None:
    return found.summary["privacy"]["proven_epsilon"]


@pytest.mark.parametrize(
    ("charges", "paid"),
    [
        ((GAUSSIAN,), (GAUSSIAN,)),
        ((), (BARE,)),
        ((TEST,), (TEST, BARE)),
        ((TEST, GAUSSIAN), (TEST, GAUSSIAN)),
        ((UPLOAD,), (BARE,)),
        ((RECYCLED,), (BARE,)),
        ((TEST, RECYCLED), (TEST, BARE)),
    ],
)
def test_a_release_is_paid_or_bare(charges, paid):
    assert due(Proposal(SOMETHING, 1, 0.0, charges), Ledger(1e-4), heard=False) == paid


def test_what_is_recycled_has_a_source():
    again, ledger = Proposal(SOMETHING, 1, 0.0, (RECYCLED,)), Ledger(1e-4)
    assert due(again, ledger, heard=True) == (RECYCLED,)
    ledger.spend(RECYCLED)
    assert due(again, ledger, heard=False) == (BARE,)
    ledger.spend(GAUSSIAN)
    assert due(again, ledger, heard=False) == (RECYCLED,)


def test_a_test_that_nothing_pays_for_is_a_bare_one():
    asked, ledger = peer.Test(False, 0.0), Ledger(1e-4)
    bare = replace(BARE, kind="test")
    assert due(Proposal(None, 1, 0.0, (), asked, "test"), ledger, heard=True) == (bare,)
    assert due(Proposal(SOMETHING, 1, 0.0, (GAUSSIAN,), asked), ledger, heard=True) == (bare, GAUSSIAN)
    assert due(Proposal(None, 1, 0.0, (TEST,), asked, "test"), ledger, heard=True) == (TEST,)
    ledger.spend(TEST)
    assert due(Proposal(None, 1, 0.0, (), asked, "test"), ledger, heard=True) == ()


def test_a_query_that_is_paid_for_once_is_not_paid_for_ever():
    asked, ledger = peer.Test(False, 0.0), Ledger(1e-4)
    ledger.spend(QUERY)
    assert due(Proposal(None, 1, 0.0, (), asked, "test"), ledger, heard=True) == (replace(BARE, kind="test"),)


def test_a_skipped_round_pays_for_its_test_alone():
    assert due(Proposal(None, 1, 0.0, (TEST,), skipped="test"), Ledger(1e-4), heard=False) == (TEST,)
    assert due(Proposal(None, 1, 0.0, skipped="listening"), Ledger(1e-4), heard=False) == ()


def test_the_common_start_is_nothing_that_was_heard():
    room = Neighbourhood([1], SOMETHING, aligned=False)
    room.read()
    assert not room.used
    room.hear(1, 1, SOMETHING)
    assert not room.used  # it has come, and nobody has looked at it
    room.read()
    assert room.used


@pytest.mark.parametrize("charges", ["nothing", "recycled", "trusted-upload"])
def test_a_method_that_forgets_to_pay_is_told_to_have_no_privacy(charges):
    """It used to cost ε = 0: "nothing was released"."""
    found = lawful_run(story("none", charges=charges))
    assert found.summary["communication"]["broadcasts"] == 72
    assert epsilon(found) is None
    assert "no noise, no privacy" in found.summary["privacy"]["basis"]


@pytest.mark.parametrize("charges", ["nothing", "recycled", "trusted-upload", "declared"])
def test_under_a_budget_nothing_leaves_that_no_proof_pays_for(charges):
    found = lawful_run(story("proven", charges=charges))
    assert found.summary["communication"]["broadcasts"] == 0
    assert found.summary["skips_by_reason"]["budget"] == 72
    assert epsilon(found) == 0.0


def test_a_method_that_pays_meets_its_budget_and_claims_nothing_of_others():
    found = lawful_run(story("proven"))
    assert epsilon(found) == pytest.approx(1.0, abs=1e-6)
    assert found.summary["privacy"]["claimed_epsilon"] is None
    assert found.summary["accuracy"]["test_error"] < 0.35


def test_runs_repeat_bit_by_bit():
    assert run(story("proven")).summary["digest"] == run(story("proven")).summary["digest"]


SILENT = """
from simnet.extend import Charge, Method, Peer, Proposal


class Silent(Method):
    \"""Releases in even rounds alone.\"""

    private_silences = {private}

    def peer(self, plan, objective, place, streams):
        return SilentPeer(objective.start, streams.generator("noise", place.agent))


class SilentPeer(Peer):
    def __init__(self, start, rng):
        super().__init__(start)
        self.rng = rng

    def propose(self, t):
        if t % 2:
            return Proposal(None, skipped={reason!r})
        noisy = self.rng.standard_normal(len(self.theta))
        return Proposal((noisy,), charges=(Charge.of("gaussian", {{"sensitivity": 0.1, "sigma": 1.0}}),))

    def absorb(self, t, sent, known):
        pass
"""


@pytest.mark.parametrize(
    ("reason", "private", "why"),
    [
        ("test", (), "because of 'test', and they have no test"),
        ("exhausted", (), "because of 'exhausted', and they have no test"),
        ("censored", ("censored",), "pays for gaussian, but whether an agent is silent"),
    ],
)
def test_silence_that_nothing_pays_for_is_refused_though_no_plan_has_foretold_noise(tmp_path, reason, private, why):
    """All three used to run, with an ε that knew of the releases alone."""
    (tmp_path / "silent.py").write_text(SILENT.format(reason=reason, private=private))
    content = {"rounds": 4, "data": ROWS, "topology": {"kind": "ring", "agents": 4}}
    scenario = Scenario.of(content | {"algorithm": "silent.py:Silent"}, folder=tmp_path)
    with pytest.raises(ScenarioError, match=why):
        run(scenario)


def test_a_hub_plays_as_many_rounds_as_its_leaves_and_no_more():
    hub = {"name": "dp-admm", "graph": "none", "hub": "untrusted"}
    result = run(world(rounds=3, topology={"kind": "star", "agents": 4}, algorithm=hub))
    begun = [event.agent for _, _, event in result.events if isinstance(event, events.RoundStarted)]
    assert {agent: begun.count(agent) for agent in range(4)} == dict.fromkeys(range(4), 3)


@pytest.mark.parametrize("hub", ["trusted", "untrusted"])
def test_a_hub_speaks_after_its_leaves_if_it_needs_them_and_nobody_uses_an_old_value(hub):
    """Under ideal pacing both sides meet twice per round: first the leaves have spoken, then the hub."""
    method = {"name": "dp-admm", "graph": "none", "hub": hub}
    network = {"pacing": "ideal", "link": {"latency": 0.01}}
    result = run(world(rounds=3, topology={"kind": "star", "agents": 4}, algorithm=method, network=network))
    log = [event for _, _, event in result.events]
    used = [event for event in log if isinstance(event, events.ValueUsed)]
    assert {event.staleness for event in used} == {0}
    steps = [(type(event), event.round) for event in log if getattr(event, "agent", None) == 0]
    for t in (1, 2, 3):
        spoke = steps.index((events.ReleaseMade, t))
        heard = [place for place, step in enumerate(steps) if step == (events.ValueUsed, t)]
        # The leaves of a trusted hub only listen: it has their rows.
        assert len(heard) == (0 if hub == "trusted" else 3)
        assert all(place < spoke for place in heard)
