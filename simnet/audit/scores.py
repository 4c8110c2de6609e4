"""What the eavesdropper computes from one run: numbers that are large if the first data set was used.

A release is turned back into the noise that must have made it. The minimiser θ of f + ℓ·θ + (q/2)|θ|² + w n·θ
determines n = −(∇f(θ) + ℓ + qθ)/w, once under each hypothesis about the data, since ℓ, q and w are public; the
densities of the two candidates, with the Jacobians of the map, are the likelihoods. The small noise on the approximate
minimiser is left out, which makes a score a little worse and never invalid.

`likelihood`    the log-likelihood ratio of all that was sent, independent noise in every round assumed
`repetition`    how much better the candidates agree with each other from round to round under the first hypothesis
`gradient`      r-admm: how much closer the direction of the even rounds is to the first data set's own gradient
`tests`         ipp-admm: the log-likelihood ratio of the rounds that passed the test, and of those that did not
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from simnet.algorithms.admm import AdmmPeer
from simnet.algorithms.ipp_admm import IppAdmmPeer
from simnet.algorithms.m_admm import MAdmmPeer, PvpPeer, ScheduledPeer
from simnet.algorithms.peer import Vector
from simnet.algorithms.pp_admm import PpAdmmPeer
from simnet.algorithms.r_admm import RAdmmPeer
from simnet.audit.outcomes import TestOutcomes
from simnet.audit.transcript import Round
from simnet.learning.objective import Subproblem
from simnet.privacy.plan import SvtPlan


@dataclass(frozen=True)
class Candidate:
    """The noise that one hypothesis finds in a release, and log density × Jacobian of it."""

    noise: Vector
    log_likelihood: float


class Reader(Protocol):
    """Reads the noise of one method's release under one hypothesis."""

    def __call__(self, peer: AdmmPeer, t: int, released: Vector) -> Candidate | None:
        """None for a round that does not use the data."""
        ...


def score(
    shadows: tuple[AdmmPeer, AdmmPeer], rounds: Sequence[Round], test: SvtPlan | None, threshold: float
) -> dict[str, float]:
    """All scores that the method has; `shadows` are fresh victims, one for each hypothesis."""
    read = reader(shadows[0])
    likelihood = 0.0
    noises: list[tuple[Vector, Vector]] = []
    gradients: list[float] = []
    outcomes = [TestOutcomes(test, threshold) for _ in shadows] if test is not None else []
    for each in rounds:
        for shadow, outcome in zip(shadows, outcomes, strict=False):
            _note(outcome, shadow, each)
        if each.sent is not None:
            found = [read(shadow, each.t, each.sent[0]) for shadow in shadows]
            if found[0] is not None and found[1] is not None:
                likelihood += found[0].log_likelihood - found[1].log_likelihood
                noises.append((found[0].noise, found[1].noise))
            elif isinstance(shadows[0], RAdmmPeer):
                direction = _direction(shadows[0], each.t, each.sent[0])
                distances = [np.linalg.norm(direction - shadow.objective.gradient(shadow.theta)) for shadow in shadows]
                gradients.append(float(distances[1] - distances[0]))
        for shadow in shadows:
            shadow.absorb(each.t, each.sent, each.known)
    scores = {"likelihood": likelihood, "repetition": _repetition(noises)}
    if isinstance(shadows[0], RAdmmPeer):
        scores["gradient"] = float(sum(gradients))
    if outcomes:
        scores["tests"] = outcomes[0].log_likelihood() - outcomes[1].log_likelihood()
        scores["likelihood"] += scores["tests"]
    return scores


def score_tests(
    shadows: tuple[AdmmPeer, AdmmPeer], rounds: Sequence[Round], test: SvtPlan, threshold: float
) -> dict[str, float]:
    """The score of the test's answers alone, up to the first "yes": what was sent then is not looked at."""
    outcomes = [TestOutcomes(test, threshold) for _ in shadows]
    for each in rounds:
        for shadow, outcome in zip(shadows, outcomes, strict=True):
            assert isinstance(shadow, IppAdmmPeer)
            outcome.note(shadow.improvement(shadow.minimise().theta), passed=each.sent is not None)
            shadow.absorb(each.t, None, each.known)
        if each.sent is not None:
            break
    return {"tests": outcomes[0].log_likelihood() - outcomes[1].log_likelihood()}


def reader(peer: AdmmPeer) -> Reader:
    """How to read a peer's releases."""
    if isinstance(peer, PpAdmmPeer) and peer.perturbation.sigma1 > 0.0:
        return _objective_noise
    if isinstance(peer, ScheduledPeer) and peer.schedule.rounds[0].scale == 0.0:
        return _bare
    if isinstance(peer, PvpPeer):
        return _output_noise
    if isinstance(peer, MAdmmPeer | RAdmmPeer):
        return _scheduled_noise
    return _bare


def _objective_noise(peer: AdmmPeer, t: int, released: Vector) -> Candidate:
    """PP-ADMM and IPP-ADMM: b1 ~ N(0, σ1² I) as it stands in the objective."""
    problem = _problem(peer, peer.eta)
    noise = -problem.gradient(released)
    sigma = cast(PpAdmmPeer, peer).perturbation.sigma1
    return Candidate(noise, -float(noise @ noise) / (2 * sigma**2) + _log_jacobian(problem, released))


def _scheduled_noise(peer: AdmmPeer, t: int, released: Vector) -> Candidate | None:
    """DVP, M-ADMM (w = 2ηV) and R-ADMM's odd rounds (w = 1)."""
    assert isinstance(peer, ScheduledPeer)
    recycling = isinstance(peer, RAdmmPeer)
    if recycling and t % 2 == 0:
        return None
    eta = peer.penalties[t - 1]
    problem = _problem(peer, eta)
    noise = -problem.gradient(released) / (1.0 if recycling else 2 * eta * peer.degree)
    plan = peer.schedule.rounds[(t - 1) // 2 if recycling else t - 1]
    density = _log_density(noise, peer.schedule.noise, plan.scale)
    return Candidate(noise, density + _log_jacobian(problem, released))


def _output_noise(peer: AdmmPeer, t: int, released: Vector) -> Candidate:
    """PVP: what was added to the minimiser, which each hypothesis computes for itself."""
    assert isinstance(peer, ScheduledPeer)
    plan = peer.schedule.rounds[t - 1]
    peer.eta, peer.tolerance = peer.penalties[t - 1], plan.tolerance
    noise = released - peer.minimise().theta
    return Candidate(noise, _log_density(noise, peer.schedule.noise, plan.scale))


def _bare(peer: AdmmPeer, t: int, released: Vector) -> Candidate:
    """ADMM, or any method told to add no noise: the gradient that should be zero."""
    eta = peer.penalties[t - 1] if isinstance(peer, ScheduledPeer) else peer.eta
    residual = -_problem(peer, eta).gradient(released)
    return Candidate(residual, -float(np.linalg.norm(residual)))


def _problem(peer: AdmmPeer, eta: float) -> Subproblem:
    """The victim's local problem in the round that follows what the shadow has absorbed."""
    return Subproblem(peer.objective, peer.duals.linear(peer.theta, eta), 2 * eta * peer.degree)


def _log_jacobian(problem: Subproblem, theta: Vector) -> float:
    return float(np.linalg.slogdet(problem.hessian(theta))[1])


def _log_density(noise: Vector, kind: str, scale: float) -> float:
    """Up to a constant: N(0, scale² I), or exp(−scale |n|)."""
    if kind == "gaussian":
        return -float(noise @ noise) / (2 * scale**2)
    return -scale * float(np.linalg.norm(noise))


def _direction(peer: RAdmmPeer, t: int, released: Vector) -> Vector:
    """The ḡ with which an even round came to where it is."""
    eta = peer.penalties[t - 1]
    problem = _problem(peer, eta)
    step = (peer.theta - released) * (problem.quadratic + peer.gammas[t - 1])
    return step - problem.linear - problem.quadratic * peer.theta


def _repetition(noises: Sequence[tuple[Vector, Vector]]) -> float:
    """Spread of the candidates over the rounds, second hypothesis minus first."""
    if len(noises) < 2:
        return 0.0
    spread = [float(np.var(np.array(side), axis=0).sum()) for side in zip(*noises, strict=True)]
    return float(np.log(spread[1] + np.finfo(float).tiny) - np.log(spread[0] + np.finfo(float).tiny))


def _note(outcome: TestOutcomes, peer: AdmmPeer, each: Round) -> None:
    """Take note of a round's answer to the question that one hypothesis says was asked.

    A test that shares its noise with the release looked at the model that was then released, or at one that nobody saw;
    the minimiser without noise stands in for that.
    """
    assert isinstance(peer, IppAdmmPeer)
    if each.skipped == "exhausted":
        return
    seen = outcome.plan.shared_noise and each.sent is not None
    tested = each.sent[0] if seen and each.sent is not None else peer.minimise().theta
    outcome.note(peer.improvement(tested), passed=each.sent is not None)
