"""What the eavesdropper computes from one run: numbers that are large if the first data set was used.

A release is turned back into the noise that must have made it, once under each hypothesis about the data: every peer
knows how (`Peer.noise_of`). The small noise on an approximate minimiser is left out, which makes a score a little worse
and never invalid.

`likelihood`    the log-likelihood ratio of all that was sent, independent noise in every round assumed
`repetition`    how much better the candidates agree with each other from round to round under the first hypothesis
`gradient`      R-ADMM: how much closer the direction of the even rounds is to the first data set's own gradient
`reports`       PDML: the log-likelihood ratio of the row as it was reported before the first round
`tests`         IPP-ADMM: the log-likelihood ratio of the rounds that passed the test, and of those that did not
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simnet.audit.pair import Report, RowPath
from simnet.audit.transcript import Round
from simnet.methods.peer import Peer
from simnet.privacy.sparse_vector import SvtPlan
from simnet.vectors import Vector

_NODES = 400


@dataclass(frozen=True)
class Reading:
    """What one hypothesis makes of a whole run.

    `likelihood` is the logarithm of that of all that was heard, `tests` that of the tests' answers alone; `noises` are
    the candidates; `off` says how far recycled rounds are from stepping along the hypothesis's own gradient.
    """

    likelihood: float
    noises: list[Vector]
    off: float | None = None
    tests: float | None = None


Hypothesis = Sequence[tuple[float, Reading]]
"""The paths by which a data set may have led to a run: how probable each is, and what it makes of the run."""


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


def read(shadow: Peer, rounds: Sequence[Round], test: SvtPlan | None) -> Reading:
    """Retrace a run with a fresh `shadow` of the victim, which has the data of one hypothesis."""
    likelihood, off = 0.0, 0.0
    noises: list[Vector] = []
    outcomes = None if test is None else AnswerLikelihood(test)
    for each in rounds:
        model = None if each.sent is None else each.sent[0]
        if outcomes is not None and each.skipped != "exhausted":
            outcomes.note(_question(shadow, model), passed=model is not None)
        if model is not None:
            found = shadow.noise_of(each.t, model, each.known)
            if found is not None:
                likelihood += found.log_likelihood
                noises.append(found.noise)
            elif shadow.recycles:
                off += shadow.gradient_distance(each.t, model)
        shadow.absorb(each.t, each.sent, each.known)
    tests = None if outcomes is None else outcomes.log_likelihood()
    return Reading(likelihood + (tests or 0.0), noises, off if shadow.recycles else None, tests)


def score_tests(shadows: Sequence[Peer], rounds: Sequence[Round], test: SvtPlan) -> dict[str, float]:
    """The score of the test's answers alone, up to the first "yes": what was sent then is not looked at."""
    outcomes = [AnswerLikelihood(test) for _ in shadows]
    for each in rounds:
        for shadow, outcome in zip(shadows, outcomes, strict=True):
            outcome.note(_question(shadow, None), passed=each.sent is not None)
            shadow.absorb(each.t, None, each.known)
        if each.sent is not None:
            break
    return {"tests": outcomes[0].log_likelihood() - outcomes[1].log_likelihood()}


def report_score(heard: Report, first: Sequence[RowPath], second: Sequence[RowPath]) -> float:
    """The log-likelihood ratio of one report."""
    chances = [sum(path.probability for path in side if path.report == heard) for side in (first, second)]
    logs = [math.log(chance) if chance > 0.0 else -math.inf for chance in chances]
    return logs[0] - logs[1]


def _question(shadow: Peer, released: Vector | None) -> float:
    asked = shadow.question(released)
    assert asked is not None, "a plan with a test belongs to a peer that asks"
    return asked


def _mixed(hypothesis: Hypothesis) -> float:
    """The log-likelihood of a hypothesis that leaves several paths open."""
    logs = np.array([np.log(probability) + reading.likelihood for probability, reading in hypothesis])
    return float(np.logaddexp.reduce(logs))


def _spread(hypothesis: Hypothesis) -> float:
    """How much the candidates differ from round to round, on the path on which they do least; as a logarithm."""
    noises = [np.array(reading.noises) for _, reading in hypothesis]
    if len(noises[0]) < 2:
        return 0.0
    return min(float(np.log(np.var(each, axis=0).sum() + np.finfo(float).tiny)) for each in noises)


class AnswerLikelihood:
    """Collects a sparse vector test's answers to known queries.

    Their likelihood integrates over what nobody knows, the noise on the threshold.
    """

    def __init__(self, plan: SvtPlan) -> None:
        self.plan = plan
        # Quantiles of the Laplace distribution at the midpoints of equal probabilities: a rule with equal weights.
        middles = (np.arange(_NODES) + 0.5) / _NODES
        bars = np.where(middles < 0.5, np.log(2 * middles), -np.log(2 - 2 * middles))
        self._bars = plan.threshold + plan.threshold_scale * bars
        self._log = np.zeros(_NODES)
        self._sum = 0.0

    def note(self, query: float, *, passed: bool) -> None:
        """One answer to one query."""
        gap = query - self._bars if passed else self._bars - query
        # An answer that is all but impossible counts as that, not as an infinite score.
        answer = np.maximum(laplace_below(gap, self.plan.query_scale), np.finfo(np.float64).tiny)
        if self.plan.redraw:
            self._sum += float(np.log(np.mean(answer)))
        else:
            self._log += np.log(answer)

    def log_likelihood(self) -> float:
        """Of all answers together."""
        if self.plan.redraw:
            return self._sum
        top = float(self._log.max())
        return top + float(np.log(np.mean(np.exp(self._log - top))))


def laplace_below(x: Vector, scale: float) -> Vector:
    """The probability that noise of that scale is below x; without noise, that 0 is, half of it at x = 0."""
    if scale == 0.0:
        return np.heaviside(x, 0.5)
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.asarray(np.where(x < 0.0, tail, 1.0 - tail))
