"""Liars are caught, and what they are accused of is what they do."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.audit import audit
from simnet.audit.bounds import lower_bound
from simnet.audit.lies import ReusedNoise
from simnet.audit.pair import pair
from simnet.audit.trials import listen, run_once
from simnet.errors import ScenarioError
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.methods.dp_admm import Listener
from simnet.methods.peer import mortal
from simnet.methods.pp_admm import PpAdmmPeer
from simnet.privacy.objective_perturbation import bare
from simnet.privacy.sparse_vector import SparseVector, split
from tests.portions import thorough
from tests.worlds import audited_world


def test_noise_that_is_reused_is_caught_by_its_repetition():
    scenario, plan = audited_world(
        audit={"canary": "adversarial", "lie": "reused-noise", "runs": 120}, algorithm__loss="logistic"
    )
    found = audit(scenario, plan)
    assert found.epsilon_broken
    assert found.score == "closest pair"
    assert "rounds alike" in found.conformance.broken_by


def test_noise_for_half_the_sensitivity_is_caught():
    # One round and a large δ, so that few runs tell; scenarios/audit/half-noise.toml does it at δ = 0.01.
    two = {"topology": {"kind": "complete", "agents": 2}, "rounds": 1, "privacy__delta": 0.2}
    scenario, liar = audited_world(audit={"lie": "half-noise", "runs": 800}, **two)
    assert audit(scenario, liar).epsilon_broken
    assert not audit(scenario, liar.model_copy(update={"lie": None, "runs": 200})).broken


@thorough
def test_a_gradient_with_noise_for_adding_or_removing_a_row_is_caught():
    changes = {"rounds": 1, "privacy__delta": 0.2, "data__features": 2}
    scenario, liar = audited_world("dp-admm", audit={"lie": "half-noise", "runs": 800}, **changes)
    assert audit(scenario, liar).epsilon_broken
    assert not audit(scenario, liar.model_copy(update={"lie": None, "runs": 200})).broken


def test_labels_that_are_flipped_half_as_often_are_caught():
    scenario, liar = audited_world(
        "pdml", audit={"lie": "half-flips", "runs": 400}, rounds=1, algorithm__label_epsilon=1.0
    )
    found = audit(scenario, liar)
    assert found.epsilon_broken
    assert found.conformance.broken_by == ("flips",)
    assert found.score == "reports"


def test_an_even_round_along_the_true_gradient_is_caught():
    scenario, plan = audited_world("r-admm", audit={"lie": "true-gradient", "runs": 120})
    found = audit(scenario, plan)
    assert found.epsilon_broken
    assert found.conformance.broken_by == ("payload",)
    assert found.score == "gradient"


@pytest.mark.parametrize(("redraw", "broken"), [(True, True), (False, False)])
def test_a_threshold_that_is_redrawn_with_one_positive_answer_breaks_the_claim_of_the_theorem(redraw, broken):
    # What scenarios/audit/redrawn-threshold.toml does over the network, on the bare test: the same question thirty
    # times, 2 or 1 sensitivities below the threshold. The score is the number of silent rounds.
    epsilon, runs, rng = 3.5, 30_000, np.random.default_rng(1)
    epsilon1, epsilon2 = split(epsilon, 1)

    def silence(query):
        test = SparseVector(1, 2.0, 1.0 / epsilon1, 2.0 / epsilon2, redraw, rng)
        for round in range(30):
            if test.test(query):
                return round
        return 30

    scores = [np.array([silence(query) for _ in range(runs)], dtype=float) for query in (0.0, 1.0)]
    assert (lower_bound(*scores, 1e-4).epsilon > epsilon) == broken


def test_liars_draw_what_they_are_said_to_draw():
    honest = listen(pair(*audited_world()), 0, 9)
    reused = listen(pair(*audited_world(audit={"lie": "reused-noise"})), 0, 9)
    halved = listen(pair(*audited_world(audit={"lie": "half-noise"})), 0, 9)
    assert np.array_equal(honest.rounds[0].sent[0], reused.rounds[0].sent[0])
    assert not np.array_equal(honest.rounds[1].sent[0], reused.rounds[1].sent[0])
    assert not np.array_equal(honest.rounds[0].sent[0], halved.rounds[0].sent[0])


@pytest.mark.parametrize("lie", ["reused-noise", "half-noise"])
def test_a_liar_charges_its_ledger_as_if_it_were_honest(lie):
    assert (
        listen(pair(*audited_world(audit={"lie": lie})), 0, 9).charges == listen(pair(*audited_world()), 0, 9).charges
    )


@pytest.mark.parametrize(
    ("method", "lie"),
    [
        ("pp-admm", "true-gradient"),
        ("admm", "reused-noise"),
        ("admm", "quiet-round"),
        ("admm", "one-scalar"),
        ("admm", "neighbours-noise"),
        ("admm", "half-noise"),
        ("dp-admm", "clean-company"),
        ("pp-admm", "clean-company"),
        ("pp-admm", "half-flips"),
        ("pp-admm", "test-noise-once"),
        ("pp-admm", "no-test-noise"),
    ],
)
def test_a_method_cannot_tell_a_lie_that_it_has_no_words_for(method, lie):
    with pytest.raises(ScenarioError, match=f"audit.lie = '{lie}'"):
        pair(*audited_world(method, audit={"lie": lie})).peers(0, 1)


def drawn(lie, method="pp-admm", **changes):
    """The standardised noise of the liar's rounds in one run."""
    worlds = pair(*audited_world(method, audit={"lie": lie}, rounds=6, **changes))
    evidence = run_once(worlds, 0, 9).evidence
    return {t: z for t, (z, _) in evidence.noises[worlds.holder].items()}


@pytest.mark.parametrize("method", ["pp-admm", "dvp", "dp-admm"])
def test_each_lie_about_noise_is_what_its_name_says(method):
    honest, late, quiet, scalar, half = (
        drawn(lie, method) for lie in (None, "late-reuse", "quiet-round", "one-scalar", "half-noise")
    )
    assert honest[1] == pytest.approx(late[1], abs=1e-9)
    assert late[4] == pytest.approx(late[1], abs=0.1)
    assert np.linalg.norm(late[4] - late[2]) > 0.1
    assert np.linalg.norm(quiet[3]) < 0.02
    assert np.linalg.norm(quiet[2]) > 0.1
    assert np.ptp(scalar[1]) < 0.15
    assert np.linalg.norm(half[1]) < np.linalg.norm(honest[1])


def test_a_neighbours_stream_gives_a_neighbours_noise():
    worlds = pair(*audited_world(audit={"lie": "neighbours-noise"}))
    noises = run_once(worlds, 0, 9).evidence.noises
    for t, (z, _) in noises[0].items():
        assert z == pytest.approx(noises[1][t][0], abs=0.05)


def test_a_forgetful_ledger_leaves_every_third_release_unpaid():
    scenario, plan = audited_world(audit={"lie": "forgetful-ledger"}, rounds=6)
    honest = listen(pair(scenario, plan.model_copy(update={"lie": None})), 0, 9)
    heard = listen(pair(scenario, plan), 0, 9)
    assert [charge.mechanism for charge in heard.charges].count("recycled") == 2
    assert len(honest.charges) == len(heard.charges) == 6
    assert {breach.check for breach in heard.breaches} == {"ledger"}
    assert honest.breaches == ()


def test_a_liar_can_crash_and_begin_again_as_the_honest_peer_inside_it_can():
    objective = LocalObjective(np.eye(3), np.ones(3), LOGISTIC, 0.1)
    honest = PpAdmmPeer(objective, degree=2, eta=0.5, plan=bare(1, None), rng=np.random.default_rng(1))
    assert mortal(honest)
    assert mortal(ReusedNoise(honest, "reused-noise"))
    assert not mortal(Listener(3))
