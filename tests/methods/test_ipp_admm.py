import math
from dataclasses import replace

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import calibrate
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.methods.ipp_admm import IppAdmmPeer
from simnet.methods.method import AgentSize
from simnet.methods.peer import alone
from simnet.privacy.problem import LocalProblem
from simnet.record.events import PrivacySpent, SvtTested
from tests.methods.plans import proven_ipp


def peer(tested: str = "noise-free", *, regularised: bool = False) -> tuple[IppAdmmPeer, LocalObjective]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4)) / 4
    objective = LocalObjective(X, np.sign(X[:, 0] + 0.01), LOGISTIC, 0.1)
    problem = LocalProblem.of(500, 2, 0.5, 0.1)
    plan = proven_ipp(problem, 4.0, 1e-4, 3, 10, 2.0, tested=tested, threshold=-math.inf)
    plan = replace(plan, test=replace(plan.test, regularised=regularised))
    return IppAdmmPeer(objective, degree=2, eta=0.5, plan=plan, rng=rng, test_rng=rng, clip=2.0), objective


def test_the_test_and_all_that_it_may_release_are_charged_before_the_first_answer():
    agent, _ = peer()
    first = alone(agent.propose(1))
    assert [(charge.mechanism, charge.kind, charge.times) for charge in first.charges] == [
        ("single-threshold", "test", 1),
        ("perturbed-minimiser", "test", 3),
        ("perturbed-minimiser", "release", 1),
    ]
    agent.settled(accepted=True)
    assert [charge.kind for charge in alone(agent.propose(2)).charges] == ["release"]


def test_a_test_that_the_ledger_refused_is_never_asked_again():
    agent, _ = peer()
    assert alone(agent.propose(1)).test is not None
    agent.settled(accepted=False)
    after = alone(agent.propose(2))
    assert after.test is None
    assert after.release is None
    assert after.charges == ()


def test_after_its_cap_the_agent_neither_solves_nor_tests():
    agent, _ = peer()
    for t in (1, 2, 3):
        assert alone(agent.propose(t)).release is not None
        agent.settled(accepted=True)
    fourth = alone(agent.propose(4))
    assert (fourth.release, fourth.gradients, fourth.test, fourth.skipped) == (None, 0, None, "exhausted")


@pytest.mark.parametrize("tested", ["noise-free", "shared-noise"])
def test_the_proven_query_is_the_clipped_loss_alone(tested):
    """The regulariser's term has no bounded sensitivity, and the proven plan does not pay for it."""
    agent, objective = peer(tested)
    candidate = np.array([3.0, -1.0, 2.0, 0.5])
    losses = [np.minimum(objective.row_losses(theta), 2.0).mean() for theta in (agent.theta, candidate)]
    assert alone(agent.improvement(candidate)) == pytest.approx(losses[0] - losses[1], abs=1e-15)


def test_the_papers_query_contains_the_regulariser():
    agent, objective = peer(regularised=True)
    candidate = np.array([3.0, -1.0, 2.0, 0.5])
    losses = [np.minimum(objective.row_losses(theta), 2.0).mean() for theta in (agent.theta, candidate)]
    expected = losses[0] - losses[1] - 0.05 * candidate @ candidate
    assert alone(agent.improvement(candidate)) == pytest.approx(expected, abs=1e-15)


def test_the_noise_free_test_sees_the_minimiser_and_the_release_does_not():
    agent, _ = peer()
    proposal = alone(agent.propose(1))
    clean = agent.minimise().theta
    assert proposal.test.query == pytest.approx(alone(agent.improvement(clean)), abs=1e-6)
    assert np.linalg.norm(proposal.release[0] - clean) > 1e-3


def test_the_log_pays_for_the_test_before_it_tells_an_answer():
    scenario = Scenario.of(
        {
            "rounds": 6,
            "data": {"source": "synthetic", "rows": 2000, "features": 3},
            "algorithm": {"name": "ipp-admm", "eta": 0.1, "max_releases": 2},
            "privacy": {"epsilon": 4.0},
        }
    )
    paid: set[int] = set()
    for _, _, event in run(scenario).events:
        if isinstance(event, PrivacySpent) and event.spent_on == "test":
            paid.add(event.agent)
        if isinstance(event, SvtTested):
            assert event.agent in paid
    assert paid == set(range(5))


@pytest.mark.parametrize("name", ["pp-admm", "ipp-admm"])
def test_the_sharper_bound_buys_less_noise_for_the_same_epsilon(name):
    scenario = Scenario.of(
        {
            "rounds": 6,
            "data": {"source": "synthetic", "rows": 6000, "features": 3},
            "algorithm": {"name": name, "eta": 0.1},
            "privacy": {"epsilon": 2.0},
        }
    )
    sizes = [AgentSize(1000, 3, gradient_bound=1.0, smoothness=0.25)]
    wide, narrow = (
        calibrate(scenario.with_(**{"privacy.bound": bound}), sizes).plans[0] for bound in ("moments", "transport")
    )
    assert narrow.sigma1 < 0.99 * wide.sigma1
    summary = run(scenario.with_(**{"privacy.bound": "transport"})).summary
    assert 2.0 - 1e-4 <= summary["privacy"]["proven_epsilon"] <= 2.0
