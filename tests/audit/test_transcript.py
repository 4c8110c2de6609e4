"""The auditor hears every frame, and notices each that no honest agent sends."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.audit.pair import pair
from simnet.audit.trials import listen
from simnet.methods.admm import AdmmPeer
from simnet.methods.peer import Proposal
from simnet.privacy.ledger import BARE, Charge
from tests.worlds import audited_world

WAN = {
    "pacing": {"kind": "deadline", "period": 0.2},
    "link": {"latency": {"kind": "lognormal", "median": 0.08}, "loss": 0.2},
}
RELIABLE = {"pacing": "barrier", "transport": "reliable", "link": {"latency": 0.05, "loss": 0.2}}


@pytest.mark.parametrize("network", [{"pacing": "ideal"}, WAN, RELIABLE], ids=["ideal", "lossy", "reliable"])
@pytest.mark.parametrize("codec", ["float64", "float32", "int8", "top-k"])
@pytest.mark.parametrize("duals", ["node", "healing", "edge"])
def test_honest_agents_are_without_fault_on_any_network_with_any_codec(duals, codec, network):
    changes = {"algorithm__duals": duals, "network": network | {"codec": codec}, "rounds": 6}
    heard = listen(pair(*audited_world(**changes)), 0, 3)
    assert heard.breaches == ()
    assert {agent: len(rounds) for agent, rounds in heard.everything.items()} == {0: 6, 1: 6, 2: 6}


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("ipp-admm", {}),
        ("r-admm", {}),
        ("r-admm", {"algorithm__duals": "healing", "algorithm__penalty_growth": 1.1, "network": WAN}),
        ("dp-admm", {}),
        ("dp-acc-admm", {"algorithm__hub": "untrusted"}),
        ("pdml", {"network": WAN}),
    ],
)
def test_honest_agents_of_other_methods_are_without_fault_too(method, changes):
    assert listen(pair(*audited_world(method, rounds=6, **changes)), 0, 3).breaches == ()


def test_a_scenario_whose_log_is_to_be_thinned_breaks_no_law_of_the_log():
    heard = listen(pair(*audited_world(log={"kinds": ["privacy", "round"], "sample": 0.5})), 0, 3)
    assert heard.breaches == ()
    assert [len(rounds) for rounds in heard.everything.values()] == [4, 4, 4]


def breaches_of(monkeypatch, method_of_peer, lie, **changes):
    """What the auditor says if agents do something else in one of their methods."""
    worlds = pair(*audited_world(**changes))
    honest = getattr(AdmmPeer, method_of_peer)

    def crooked(peers):
        for peer in peers:
            monkeypatch.setattr(peer, method_of_peer, lie(peer, honest), raising=False)
        return peers

    made = worlds.peers
    object.__setattr__(worlds, "peers", lambda side, seed: crooked(made(side, seed)))
    return {breach.check for breach in listen(worlds, 0, 3).breaches}


def test_one_bit_in_a_running_sum_is_a_breach(monkeypatch):
    def off_by_a_bit(peer, honest):
        def accompany(t, model, known):
            first, *rest = honest(peer, t, model, known)
            return (np.nextafter(first, np.inf), *rest)

        return accompany

    assert breaches_of(monkeypatch, "accompany", off_by_a_bit, algorithm__duals="healing") == {"payload"}


def test_something_that_nobody_asked_for_is_a_breach(monkeypatch):
    def smuggled(peer, honest):
        return lambda t, model, known: (np.array([1.0, 2.0, 3.0]),)

    assert breaches_of(monkeypatch, "accompany", smuggled) == {"payload"}


def test_a_letter_that_does_not_follow_from_the_release_is_a_breach(monkeypatch):
    def other(peer, honest):
        return lambda model, neighbours: dict.fromkeys(neighbours, (model + 1e-12,))

    assert breaches_of(monkeypatch, "letters", other, algorithm__duals="edge") == {"payload"}


def test_a_charge_for_less_than_a_release_costs_is_a_breach():
    worlds = pair(*audited_world())
    made = worlds.peers

    def cheap(side, seed):
        peers = made(side, seed)
        numbers = dict(peers[0].plan.release.parameters)
        less = Charge.of(peers[0].plan.release.mechanism, numbers | {"sigma": 2.0 * numbers["sigma"]})
        peers[0].propose = lambda t: Proposal((np.zeros(3),), 0, 0.0, (less,))
        return peers

    object.__setattr__(worlds, "peers", cheap)
    assert {breach.check for breach in listen(worlds, 0, 3).breaches} == {"ledger"}
    assert BARE not in listen(worlds, 0, 3).charges


def test_a_test_that_is_paid_with_less_than_it_costs_is_a_breach():
    worlds = pair(*audited_world("ipp-admm", rounds=6))
    made = worlds.peers

    def cheap(side, seed):
        peers = made(side, seed)
        peers[0]._unpaid = peers[0]._unpaid[:1]
        return peers

    assert listen(worlds, 0, 3).breaches == ()
    object.__setattr__(worlds, "peers", cheap)
    assert "ledger" in {breach.check for breach in listen(worlds, 0, 3).breaches}


def test_the_pattern_of_traffic_is_the_same_in_every_run_of_a_method_without_skips():
    worlds = pair(*audited_world(network=WAN))
    assert len({listen(worlds, side, seed).traffic for side in (0, 1) for seed in range(3)}) == 1
    skipping = pair(*audited_world("ipp-admm", network=WAN, rounds=6))
    assert len({listen(skipping, side, seed).traffic for side in (0, 1) for seed in range(3)}) > 1


def test_who_hears_one_link_knows_less_and_the_auditor_as_much_as_ever():
    scenario, plan = audited_world(rounds=4)
    everywhere, few = pair(scenario, plan), pair(scenario, plan.model_copy(update={"links": [(0, 1)]}))
    one, other = listen(everywhere, 0, 3), listen(few, 0, 3)
    for agent in range(3):
        for a, b in zip(one.everything[agent], other.everything[agent], strict=True):
            assert np.array_equal(a.sent[0], b.sent[0])
    known = [{value.peer: value.parts[0] for value in heard.rounds[-1].known} for heard in (one, other)]
    assert np.array_equal(known[0][1], known[1][1])
    assert not np.array_equal(known[0][2], known[1][2])
