"""Columns scaled by released moments: the sensitivity, the rows, the budget, and what missing moments do."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.audit import Audit, audit
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset, bound_rows
from simnet.learning.scaled_rows import moments, scaled_rows
from simnet.library.noisy_nesterov import AveragedSteps
from simnet.live.checkpoint import restore, save
from simnet.methods.admm import Admm
from simnet.methods.gossip import Gossip
from simnet.methods.method import AgentPlace
from simnet.methods.scaling import Scaled, moment_sensitivity
from simnet.privacy.ledger import account
from simnet.privacy.moments_plan import charge_square
from simnet.privacy.secret_noise import secret_streams
from simnet.record import events
from simnet.record.bus import Bus
from simnet.simulate import peers_of, play
from tests.methods.noisy_descent import GatedDescent
from tests.privacy.plain_trade_offs import gaussian_delta

WORLD = {
    "rounds": 8,
    "task": "capped-logistic",
    "data": {"source": "synthetic", "rows": 1500, "features": 6},
    "topology": {"kind": "ring", "agents": 5},
    "algorithm": {"name": "one-shot"},
    "privacy": {"epsilon": 2.0, "delta": 1e-4},
}


def world(**changes) -> Scenario:
    return Scenario.of(WORLD).with_(**changes)


def dataset(X, *, sparse=False) -> Dataset:
    return Dataset("test", sp.csr_array(X) if sparse else np.asarray(X), np.ones(len(X)))


@given(st.integers(0, 2**31), st.integers(1, 12), st.floats(0.01, 1.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_replaced_row_moves_the_moments_no_further_than_is_charged(seed, rows, norm, sparse):
    rng = np.random.default_rng(seed)
    X = bound_rows(rng.normal(size=(rows, 4)) * rng.exponential(2.0, size=(rows, 1)) * (rng.random((rows, 4)) < 0.6))
    other = X.copy()
    other[0] = bound_rows(np.roll(np.eye(4)[:1], seed % 4) + 1e-3 * rng.normal(size=(1, 4)))[0]
    moved = moments(dataset(X, sparse=sparse), norm) - moments(dataset(other, sparse=sparse), norm)
    assert np.linalg.norm(moved) <= moment_sensitivity(rows, norm)


def test_an_attacker_who_climbs_reaches_the_charged_sensitivity_and_does_not_pass_it():
    """Pairs of rows are moved uphill from many starts: the worst are two rows with no feature in common."""
    rng, rows, norm = np.random.default_rng(1), 7, 0.35
    rest, worst = bound_rows(rng.normal(size=(rows - 1, 5))), 0.0
    for _ in range(8):
        pair, found = bound_rows(rng.normal(size=(2, 5))), 0.0
        for _ in range(200):
            trial = bound_rows(pair + 0.2 * rng.normal(size=(2, 5)) * (rng.random((2, 5)) < 0.4))
            one, two = (moments(dataset(np.vstack([row, rest])), norm) for row in trial[:, None])
            if (moved := float(np.linalg.norm(one - two))) > found:
                pair, found = trial, moved
        worst = max(worst, found)
    assert 0.95 * moment_sensitivity(rows, norm) < worst <= moment_sensitivity(rows, norm)
    e = np.eye(5)
    one, two = (moments(dataset(np.vstack([row, rest])), norm) for row in (e[:1], e[1:2]))
    assert np.linalg.norm(one - two) == pytest.approx(math.sqrt(2) * norm / rows, rel=1e-9)


@given(st.integers(0, 2**31), st.floats(1e-4, 1e4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_scaled_rows_are_never_longer_than_one_whatever_the_factors(seed, spread, sparse):
    rng = np.random.default_rng(seed)
    X = bound_rows(rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.5))
    factors = spread ** rng.normal(size=5)
    found = scaled_rows(dataset(X, sparse=sparse), factors).X
    found = found if isinstance(found, np.ndarray) else found.toarray()
    exact = [math.fsum(float(x) ** 2 for x in row) for row in found]
    assert max(exact) <= 1.0
    assert all(length > 1 - 1e-12 for row, length in zip(X, exact, strict=True) if row.any())
    full = X * factors
    lengths = np.linalg.norm(full, axis=1, keepdims=True)
    assert np.allclose(found, np.divide(full, lengths, out=np.zeros_like(full), where=lengths > 0), atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("peak", [5e-324, 2.3e-162, 1e-160, 1e-100, 1.0])
def test_a_row_whose_squares_have_no_place_in_float64_is_not_longer_than_one_either(peak, sparse):
    """Squares of 1.5e-162 are 0 and that of 2.3e-162 is not: by these a row of 105 features would come out 7 long."""
    X = np.full((2, 105), 0.65 * peak)
    X[:, 0], X[1] = peak, -X[1]
    found = scaled_rows(dataset(X, sparse=sparse), np.ones(105)).X
    found = found if isinstance(found, np.ndarray) else found.toarray()
    assert all(1.0 - 1e-12 < math.fsum(x * x for x in row) <= 1.0 for row in found)


@pytest.mark.parametrize("method", ["one-shot", "prox-rounds", "noisy-nesterov", "scaled-pp-admm"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_moments_and_learning_together_cost_what_was_asked_for(method, epsilon):
    settings = {"name": method} | ({"eta": 0.1} if "pp" in method else {})
    built = build(world(**{"algorithm": settings, "privacy.epsilon": epsilon, "data.rows": 40_000}))
    for plan in built.calibration.plans:
        found = account(plan.charges, 1e-4).proven_epsilon
        assert epsilon * (1 - 1e-5) < found <= epsilon
        mean = math.sqrt(charge_square(plan.moments.charges[0]) / 0.05)
        assert float(gaussian_delta(epsilon, mean)) == pytest.approx(1e-4, rel=1e-4), "a share of the squared mean"


@pytest.mark.parametrize("method", ["noisy-nesterov", "scaled-pp-admm"])
@pytest.mark.parametrize("bound", ["transport", "moments"])
def test_other_proofs_than_the_exact_one_leave_less_for_learning_or_refuse_the_share(method, bound):
    settings = {"name": method} | ({"eta": 0.5} if "pp" in method else {})
    changes = {"algorithm": settings, "privacy.bound": bound, "data.rows": 40_000}
    for share in (0.3, 0.8):
        plan = build(world(**changes, **{"algorithm.moment_share": share})).calibration.plans[0]
        assert 2.0 * (1 - 1e-5) < account(plan.charges, 1e-4).proven_epsilon <= 2.0
    with pytest.raises(ScenarioError, match="the moments alone cost that much; a smaller share would fit"):
        build(world(**changes, **{"algorithm.moment_share": 0.99}))


class Linear(AveragedSteps):
    """What says of itself that an observer of one agent can be computed with."""

    linear_gaussian = True


def test_no_observer_is_promised_anything_that_leaves_the_moments_out():
    assert not type("ScaledLinear", (Scaled, Linear), {}).linear_gaussian


def test_gossip_costs_exactly_one_gaussian_by_an_independent_formula():
    built = build(world(algorithm={"name": "noisy-nesterov"}, rounds=20))
    (plan,) = {id(each): each for each in built.calibration.plans}.values()
    rows, cap, r = built.sizes[0].rows, 0.5, 0.35
    sigma = plan.then.rounds[0].scale
    square = 18 * (2 * cap / (rows * sigma)) ** 2 + (math.sqrt(2) * r / (rows * plan.sigma)) ** 2
    assert float(gaussian_delta(2.0, math.sqrt(square))) == pytest.approx(1e-4, rel=1e-4)


def test_half_of_all_rounds_is_left_for_learning():
    assert peers_of(build(world(rounds=3)))[0].opening == 1
    assert peers_of(build(world(**{"algorithm.moment_rounds": 7})))[0].opening == 4
    with pytest.raises(ScenarioError, match="rounds: scaled columns need a round"):
        build(world(rounds=1))


def test_no_paper_has_a_price_for_scaled_columns():
    with pytest.raises(ScenarioError, match="no paper has a price"):
        world(**{"algorithm": {"name": "scaled-pp-admm"}, "privacy.calibration": "paper"})
    unscaled = {"algorithm": {"name": "scaled-pp-admm", "scaled": False}, "privacy.calibration": "paper"}
    assert world(**unscaled).algorithm.word == "scaled-pp-admm"


@pytest.mark.parametrize("method", ["one-shot", "prox-rounds", "noisy-nesterov"])
def test_without_scaling_nothing_is_told_before_learning(method):
    found = run(world(algorithm={"name": method, "scaled": False}))
    paid = {event.mechanism for _, _, event in found.events if isinstance(event, events.PrivacySpent)}
    assert paid <= {"objective-perturbation", "recycled", "gaussian"}
    assert found.summary["privacy"]["proven_epsilon"] == pytest.approx(2.0, abs=1e-3)


def test_unscaled_pp_admm_is_pp_admm():
    settings = {"eta": 0.1, "loss": "logistic"}
    one, other = (
        run(world(task="logistic", algorithm=settings | extra, **{"data.rows": 8000}))
        for extra in ({"name": "pp-admm"}, {"name": "scaled-pp-admm", "scaled": False})
    )
    releases = [[e.value for _, _, e in each.events if isinstance(e, events.ReleaseMade)] for each in (one, other)]
    assert releases[0] == releases[1]


def factors(scenario):
    built = build(scenario)
    peers = peers_of(built)
    play(built, Bus(), peers)
    return [peer.factors for peer in peers], peers


def test_columns_are_scaled_for_a_loss_of_the_margin_only():
    with pytest.raises(ScenarioError, match="scaled columns need a convex loss of the margin"):
        world(task="ridge")


def test_peers_know_their_silences_also_where_an_audit_makes_them():
    built = build(world())
    near = [sorted(built.graph[agent]) for agent in built.graph]
    made = built.scenario.algorithm.peers(
        built.calibration, built.training, built.sizes, 8, built.streams, neighbours=near
    )
    assert all("told" in peer.silences for peer in made)


def test_on_a_perfect_network_all_agents_have_the_same_coordinates():
    found, peers = factors(world())
    assert all(np.array_equal(each, found[0]) for each in found)
    assert all(sorted(peer.flood.newest) == [0, 1, 2, 3, 4] for peer in peers)


def test_an_agent_that_misses_moments_scales_by_those_that_it_has():
    found, peers = factors(world(**{"network.link.loss": 0.5, "seed": 3}))
    missed = [peer for peer in peers if len(peer.flood.newest) < 5]
    assert missed, "half of the messages are lost, and only two rounds are for moments"
    full = factors(world(seed=3))[0][0]
    for each in found:
        assert np.abs(np.log(each / full)).max() < 0.3, "one agent's moments move the mean of all a little"


def test_a_last_bit_of_the_moments_is_not_what_scales():
    """What scales is what was released, in steps and on the grid, and not what the rows give."""
    built = build(world())
    peer = peers_of(built)[0]
    proposal = peer.propose(1)
    released = proposal.release[0]
    assert not np.allclose(released, moments(peer.objective.dataset(""), 0.35), atol=1e-6)
    again = peers_of(built)[0]
    again.absorb(1, (released,), ())
    again.absorb(2, None, ())
    peer.absorb(1, (released,), ())
    peer.objective = again.objective
    peer.absorb(2, None, ())
    assert np.array_equal(peer.factors, again.factors)


class ScaledGate(Scaled, GatedDescent):
    """Descent that asks a test, on scaled columns; the test draws from the same stream as all other noise."""

    needs = frozenset({"margins"})
    loss: Literal["logistic"] = "logistic"


class ScaledAdmm(Scaled, Admm):
    """A method without noise, on scaled columns."""


class ScaledGossip(Scaled, Gossip):
    """A method that makes all of its agents at once."""


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("ScaledAdmm", {"eta": 0.1}, "adds no noise, and moments are told with some"),
        ("ScaledGossip", {"regulariser": 0.1}, "makes all agents at once"),
    ],
)
def test_methods_that_cannot_be_scaled_are_refused_in_one_sentence(name, settings, why):
    with pytest.raises(ScenarioError, match=f"algorithm: .*{why}"):
        build(world(task="logistic", algorithm={"name": f"{__file__}:{name}"} | settings))


def gated_peer(streams=None):
    built = build(world(task="logistic", algorithm={"name": "noisy-nesterov"}))
    method, place = ScaledGate(), AgentPlace(0, built.sizes[0], 5, 8)
    plan = method.calibrate(built.scenario.privacy, [place.size], 8).plans[0]
    return method.peer(plan, built.training[0], place, streams or built.streams)


def test_no_number_that_hides_the_moments_is_drawn_again_by_a_test():
    peer, drawn = gated_peer(), gated_peer().rng.random(8)
    peer.absorb(1, peer.propose(1).release, ())
    peer.absorb(2, None, ())
    assert peer.sparse_vector.rng is peer.rng
    assert not set(peer.sparse_vector.rng.random(64)) & set(drawn[:6])


GATED = {"name": f"{__file__}:ScaledGate", "moment_rounds": 1}


def test_a_test_on_scaled_columns_lets_pass_what_it_was_paid_for_beside_the_moments():
    found = run(world(rounds=20, task="logistic", algorithm=GATED, **{"data.rows": 20_000}))
    spent = [e for _, _, e in found.events if isinstance(e, events.PrivacySpent) and e.agent == 0]
    assert [e.round for e in spent if e.spent_on == "test"] == [2, 2]
    assert [e.round for e in spent if e.spent_on == "release"] == [1, 2, 3, 4, 5, 6]
    assert 2.0 * (1 - 1e-5) < found.summary["privacy"]["proven_epsilon"] <= 2.0


def test_an_auditor_knows_that_moments_are_told_before_a_test_is_asked():
    found = audit(world(rounds=6, task="logistic", algorithm=GATED, **{"data.rows": 20_000}), Audit(runs=20))
    assert found.verdict == "holds", str(found)


def test_nor_after_a_live_agent_was_brought_back_before_learning_began():
    modules = frozenset({"tests.methods.noisy_descent", __name__})
    peer, back = (gated_peer(secret_streams(bytes(32))) for _ in range(2))
    peer.absorb(1, peer.propose(1).release, ())
    fixed = {"objective": peer.objective, "plan": peer.plan, "method": peer.method}
    saved = save({"peer": peer}, fixed, modules)
    fixed = {"objective": back.objective, "plan": back.plan, "method": back.method}
    back = restore(saved, {"peer": back}, fixed, modules)["peer"]
    for each in (peer, back):
        each.absorb(2, None, ())
        assert each.sparse_vector.rng is each.rng
    assert peer.rng.random() == back.rng.random()
