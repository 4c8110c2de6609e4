"""What the eavesdropper computes from one run: numbers that are large if the first data set was used.

A release is turned back into the noise that must have made it. The minimiser θ of f + ℓ·θ + (q/2)|θ|² + w n·θ
determines n = −(∇f(θ) + ℓ + qθ)/w, once under each hypothesis about the data, since ℓ, q and w are public; the
densities of the two candidates, with the Jacobians of the map, are the likelihoods. The small noise on the approximate
minimiser is left out, which makes a score a little worse and never invalid.

A gradient or a minimiser that was sent with noise on top is simpler: each hypothesis computes it and subtracts.

`likelihood`    the log-likelihood ratio of all that was sent, independent noise in every round assumed
`repetition`    how much better the candidates agree with each other from round to round under the first hypothesis
`gradient`      r-admm: how much closer the direction of the even rounds is to the first data set's own gradient
`reports`       pdml: the log-likelihood ratio of the row as it was reported before the first round
`tests`         ipp-admm: the log-likelihood ratio of the rounds that passed the test, and of those that did not
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from simnet.audit.outcomes import TestOutcomes
from simnet.audit.transcript import Round
from simnet.learning.objective import Subproblem
from simnet.methods.admm import AdmmPeer
from simnet.methods.dp_admm import HubPeer, LeafPeer
from simnet.methods.ipp_admm import IppAdmmPeer
from simnet.methods.m_admm import MAdmmPeer, PvpPeer, ScheduledPeer
from simnet.methods.pdml import PdmlPeer
from simnet.methods.peer import Peer, alone
from simnet.methods.pp_admm import PpAdmmPeer
from simnet.methods.r_admm import RAdmmPeer
from simnet.privacy.noise_plan import SvtPlan
from simnet.vectors import Vector


@dataclass(frozen=True)
class Candidate:
    """The noise that one hypothesis finds in a release, and log density × Jacobian of it."""

    noise: Vector
    log_likelihood: float


@dataclass(frozen=True)
class Reading:
    """What one hypothesis makes of a whole run.

    `likelihood` is the logarithm of that of all that was heard, `tests` that of the tests' answers alone; `noises` are
    the candidates; `off` says how far r-admm's even rounds are from stepping along the hypothesis's own gradient.
    """

    likelihood: float
    noises: list[Vector]
    off: float | None = None
    tests: float | None = None


Hypothesis = Sequence[tuple[float, Reading]]
"""The ways in which a data set may have led to a run: how probable each is, and what it makes of the run."""


class Reader(Protocol):
    """Reads the noise of one method's release under one hypothesis."""

    def __call__(self, peer: Any, each: Round, released: Vector) -> Candidate | None:
        """None for a round that does not use the data."""
        ...


def score(first: Hypothesis, second: Hypothesis) -> dict[str, float]:
    """All scores that the method has."""
    found = {
        "likelihood": _mixed(first) - _mixed(second),
        "repetition": _spread(second) - _spread(first),
    }
    one, other = first[0][1], second[0][1]
    if one.off is not None and other.off is not None:
        found["gradient"] = other.off - one.off
    if one.tests is not None and other.tests is not None:
        found["tests"] = one.tests - other.tests
    return found


def read(shadow: Peer, rounds: Sequence[Round], test: SvtPlan | None, threshold: float) -> Reading:
    """Retrace a run with a fresh `shadow` of the victim, which has the data of one hypothesis."""
    look = reader(shadow)
    likelihood, off = 0.0, 0.0
    noises: list[Vector] = []
    outcomes = None if test is None else TestOutcomes(test, threshold)
    for each in rounds:
        if outcomes is not None:
            _note(outcomes, shadow, each)
        if each.sent is not None:
            found = look(shadow, each, each.sent[0])
            if found is not None:
                likelihood += found.log_likelihood
                noises.append(found.noise)
            elif isinstance(shadow, RAdmmPeer):
                direction = _direction(shadow, each.t, each.sent[0])
                off += float(np.linalg.norm(direction - shadow.objective.gradient(shadow.theta)))
        shadow.absorb(each.t, each.sent, each.known)
    tests = None if outcomes is None else outcomes.log_likelihood()
    return Reading(likelihood + (tests or 0.0), noises, off if isinstance(shadow, RAdmmPeer) else None, tests)


def score_tests(shadows: Sequence[Peer], rounds: Sequence[Round], test: SvtPlan, threshold: float) -> dict[str, float]:
    """The score of the test's answers alone, up to the first "yes": what was sent then is not looked at."""
    outcomes = [TestOutcomes(test, threshold) for _ in shadows]
    for each in rounds:
        for shadow, outcome in zip(shadows, outcomes, strict=True):
            assert isinstance(shadow, IppAdmmPeer)
            outcome.note(alone(shadow.improvement(shadow.minimise().theta)), passed=each.sent is not None)
            shadow.absorb(each.t, None, each.known)
        if each.sent is not None:
            break
    return {"tests": outcomes[0].log_likelihood() - outcomes[1].log_likelihood()}


def reader(peer: Peer) -> Reader:
    """How to read a peer's releases."""
    if isinstance(peer, LeafPeer):
        return _leaf_noise
    if isinstance(peer, HubPeer):
        return _hub_noise
    if isinstance(peer, PpAdmmPeer) and peer.perturbation.sigma1 > 0.0:
        return _objective_noise
    if isinstance(peer, ScheduledPeer | PdmlPeer) and peer.schedule.rounds[0].scale == 0.0:
        return _bare
    if isinstance(peer, PvpPeer | PdmlPeer):
        return _output_noise
    if isinstance(peer, MAdmmPeer | RAdmmPeer):
        return _scheduled_noise
    return _bare


def _objective_noise(peer: PpAdmmPeer, each: Round, released: Vector) -> Candidate:
    """PP-ADMM and IPP-ADMM: b1 ~ N(0, σ1² I) as it stands in the objective."""
    problem = _problem(peer, peer.eta)
    noise = -problem.gradient(released)
    return Candidate(
        noise, _log_density(noise, "gaussian", peer.perturbation.sigma1) + _log_jacobian(problem, released)
    )


def _scheduled_noise(peer: ScheduledPeer, each: Round, released: Vector) -> Candidate | None:
    """DVP, M-ADMM (w = 2ηV) and R-ADMM's odd rounds (w = 1)."""
    recycling, t = isinstance(peer, RAdmmPeer), each.t
    if recycling and t % 2 == 0:
        return None
    eta = peer.penalties[t - 1]
    problem = _problem(peer, eta)
    noise = -problem.gradient(released) / (1.0 if recycling else 2 * eta * peer.degree)
    plan = peer.schedule.rounds[(t - 1) // 2 if recycling else t - 1]
    density = _log_density(noise, peer.schedule.noise, plan.scale)
    return Candidate(noise, density + _log_jacobian(problem, released))


def _output_noise(peer: PvpPeer | PdmlPeer, each: Round, released: Vector) -> Candidate:
    """PVP and PDML: what was added to the minimiser, which each hypothesis computes for itself.

    PDML's minimiser also has the tilt, of which nobody knows anything: it is taken to be 0.
    """
    plan = peer.schedule.rounds[each.t - 1]
    if isinstance(peer, PvpPeer):
        peer.eta = peer.penalties[each.t - 1]
    peer.tolerance = plan.tolerance
    noise = released - peer.minimise().theta
    return Candidate(noise, _log_density(noise, peer.schedule.noise, plan.scale))


def _leaf_noise(peer: LeafPeer, each: Round, released: Vector) -> Candidate:
    """DP-ADMM, untrusted hub: what a leaf added to its gradient."""
    noise = released - peer.objective.loss_gradient(peer.point)
    return Candidate(noise, _log_density(noise, "gaussian", peer.schedule.rounds[each.t - 1].scale))


def _hub_noise(peer: HubPeer, each: Round, released: Vector) -> Candidate:
    """DP-ADMM: what the hub added to its own gradient, from the step that it took and the leaves' gradients."""
    solver = peer.solver
    step = (solver.step(np.zeros_like(released)) - released) * (solver.problem.gamma / solver.problem.eta)
    for value in each.known if peer.waits else ():
        step = step - peer.shares[value.peer] * value.parts[0]
    noise = step / peer.share - peer.objective.loss_gradient(solver.start)
    return Candidate(noise, _log_density(noise, "gaussian", peer.schedule.rounds[each.t - 1].scale))


def _bare(peer: AdmmPeer, each: Round, released: Vector) -> Candidate:
    """ADMM, or any method told to add no noise: the gradient that should be zero."""
    eta = peer.penalties[each.t - 1] if isinstance(peer, ScheduledPeer) else peer.eta
    residual = -_problem(peer, eta).gradient(released)
    return Candidate(residual, -float(np.linalg.norm(residual)))


def _problem(peer: AdmmPeer, eta: float) -> Subproblem:
    """The victim's local problem in the round that follows what the shadow has absorbed."""
    return Subproblem(peer.objective, peer.duals.linear(peer.theta, eta), 2 * eta * peer.degree)


def _log_jacobian(problem: Subproblem, theta: Vector) -> float:
    return float(np.linalg.slogdet(problem.hessian(theta))[1])


def _log_density(noise: Vector, kind: str, scale: float) -> float:
    """Up to a constant: N(0, scale² I), or exp(−scale |n|); without noise the smaller n is the likelier."""
    if scale == 0.0:
        return -float(np.linalg.norm(noise))
    if kind == "gaussian":
        return -float(noise @ noise) / (2 * scale**2)
    return -scale * float(np.linalg.norm(noise))


def _direction(peer: RAdmmPeer, t: int, released: Vector) -> Vector:
    """The ḡ with which an even round came to where it is."""
    eta = peer.penalties[t - 1]
    problem = _problem(peer, eta)
    step = (peer.theta - released) * (problem.quadratic + peer.gammas[t - 1])
    return step - problem.linear - problem.quadratic * peer.theta


def _mixed(hypothesis: Hypothesis) -> float:
    """The log-likelihood of a hypothesis that leaves several ways open."""
    logs = np.array([np.log(probability) + reading.likelihood for probability, reading in hypothesis])
    return float(np.logaddexp.reduce(logs))


def _spread(hypothesis: Hypothesis) -> float:
    """How much the candidates differ from round to round, on the way on which they do least; as a logarithm."""
    noises = [np.array(reading.noises) for _, reading in hypothesis]
    if len(noises[0]) < 2:
        return 0.0
    return min(float(np.log(np.var(each, axis=0).sum() + np.finfo(float).tiny)) for each in noises)


def _note(outcome: TestOutcomes, peer: Peer, each: Round) -> None:
    """Take note of a round's answer to the question that one hypothesis says was asked.

    A test that shares its noise with the release looked at the model that was then released, or at one that nobody saw;
    the minimiser without noise stands in for that.
    """
    assert isinstance(peer, IppAdmmPeer)
    if each.skipped == "exhausted":
        return
    seen = outcome.plan.shared_noise and each.sent is not None
    tested = each.sent[0] if seen and each.sent is not None else peer.minimise().theta
    outcome.note(alone(peer.improvement(tested)), passed=each.sent is not None)
