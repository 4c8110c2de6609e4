"""What the eavesdropper computes from one run: numbers that are large if the first data set was used.

A release is turned back into the noise that must have made it, once under each hypothesis about the data: every peer
knows how (`Peer.noise_of`). Every other score compares how unlikely the noise of either hypothesis is in one respect.

`likelihood`    the log-likelihood ratio of all that was sent, independent noise in every round assumed
`smallest`      how much smaller the smallest noise of a round is under the first hypothesis
`closest pair`  how much closer two rounds' noises, or one and the other's negative, are under the first hypothesis
`flattest`      how much more alike the entries of one round's noise are under the first hypothesis
`low bits`      in how many rounds no float64 noise at all leads to what was sent under the second hypothesis
`gradient`      R-ADMM: how much closer the direction of the even rounds is to the first data set's own gradient
`reports`       PDML: the log-likelihood ratio of the row as it was reported before the first round
`tests`         IPP-ADMM: the log-likelihood ratio of the rounds that passed the test, and of those that did not
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simnet.audit.answers import Answer, AnswerLikelihood
from simnet.audit.pair import Report, RowPath
from simnet.audit.transcript import Round
from simnet.methods.peer import Peer
from simnet.privacy.recovered import Candidate
from simnet.privacy.sparse_vector import SvtPlan
from simnet.vectors import Vector

_TINY = float(np.finfo(float).tiny)


@dataclass
class Reading:
    """What one hypothesis makes of a whole run.

    `likelihood` is the logarithm of that of all that was heard, `tests` that of the tests' answers alone; `found` are
    the candidates by round; `off` says how far recycled rounds are from stepping along the hypothesis's own gradient.
    """

    likelihood: float = 0.0
    found: dict[int, Candidate] = field(default_factory=dict)
    off: float | None = None
    tests: float | None = None
    answers: list[Answer] = field(default_factory=list)

    @property
    def noises(self) -> list[Vector]:
        """The noise of each round, in standard units where there are some."""
        return [each.noise if each.standard is None else each.standard for each in self.found.values()]


Hypothesis = Sequence[tuple[float, Reading]]
"""The paths by which a data set may have led to a run: how probable each is, and what it makes of the run."""


def score(first: Hypothesis, second: Hypothesis) -> dict[str, float]:
    """All scores that the method has."""
    found = {"likelihood": _mixed(first) - _mixed(second)}
    for name, smallness in (("smallest", smallest), ("closest pair", closest_pair), ("flattest", flattest)):
        found[name] = _least(second, smallness) - _least(first, smallness)
    one, other = first[0][1], second[0][1]
    found["low bits"] = float(_impossible(other) - _impossible(one))
    if one.off is not None and other.off is not None:
        found["gradient"] = other.off - one.off
    if one.tests is not None and other.tests is not None:
        found["tests"] = one.tests - other.tests
    return found


def read(shadow: Peer, rounds: Sequence[Round], test: SvtPlan | None) -> Reading:
    """Retrace a run with a fresh `shadow` of its agent, which has the data of one hypothesis."""
    reading = Reading(off=0.0 if shadow.recycles else None)
    outcomes = None if test is None else AnswerLikelihood(test)
    for each in rounds:
        model = None if each.sent is None else each.sent[0]
        if outcomes is not None and each.skipped in (None, "test") and shadow.asks(each.t):
            reading.answers.append(outcomes.note(each.t, _question(shadow, model), passed=model is not None))
        if model is not None:
            found = shadow.noise_of(each.t, model, each.known)
            if found is not None:
                reading.likelihood += found.log_likelihood
                reading.found[each.t] = found
            elif reading.off is not None:
                reading.off += shadow.gradient_distance(each.t, model)
        shadow.absorb(each.t, each.sent, each.known)
    if outcomes is not None:
        reading.tests = outcomes.log_likelihood()
        reading.likelihood += reading.tests
    return reading


def score_tests(shadows: Sequence[Peer], rounds: Sequence[Round], test: SvtPlan) -> dict[str, float]:
    """The score of the test's answers alone, up to the first "yes": what was sent then is not looked at."""
    outcomes = [AnswerLikelihood(test) for _ in shadows]
    for each in rounds:
        asked = shadows[0].asks(each.t)
        for shadow, outcome in zip(shadows, outcomes, strict=True):
            if asked:
                outcome.note(each.t, _question(shadow, None), passed=each.sent is not None)
            shadow.absorb(each.t, None if asked else each.sent, each.known)
        if asked and each.sent is not None:
            break
    return {"tests": outcomes[0].log_likelihood() - outcomes[1].log_likelihood()}


def report_score(heard: Report, first: Sequence[RowPath], second: Sequence[RowPath]) -> float:
    """The log-likelihood ratio of one report."""
    chances = [sum(path.probability for path in side if path.report == heard) for side in (first, second)]
    logs = [math.log(chance) if chance > 0.0 else -math.inf for chance in chances]
    return logs[0] - logs[1]


def smallest(noises: Sequence[Vector]) -> float:
    """The norm of the smallest."""
    return min((float(np.linalg.norm(each)) for each in noises), default=0.0)


def closest_pair(noises: Sequence[Vector]) -> float:
    """The least distance between two of them, or between one and another's negative."""
    if len(noises) < 2:
        return 0.0
    stack = np.array(noises)
    first, second = np.triu_indices(len(noises), 1)
    apart = [np.linalg.norm(stack[first] + sign * stack[second], axis=1).min() for sign in (-1.0, 1.0)]
    return float(min(apart))


def flattest(noises: Sequence[Vector]) -> float:
    """The least deviation of the entries of one of them from their mean."""
    return min((float(np.std(each)) for each in noises), default=0.0)


def _question(shadow: Peer, released: Vector | None) -> float:
    asked = shadow.question(released)
    assert asked is not None, "a plan with a test belongs to a peer that asks"
    return asked


def _mixed(hypothesis: Hypothesis) -> float:
    """The log-likelihood of a hypothesis that leaves several paths open."""
    logs = np.array([np.log(probability) + reading.likelihood for probability, reading in hypothesis])
    return float(np.logaddexp.reduce(logs))


def _least(hypothesis: Hypothesis, smallness: Callable[[Sequence[Vector]], float]) -> float:
    """On the path on which it is least; as a logarithm."""
    return min(math.log(smallness(reading.noises) + _TINY) for _, reading in hypothesis)


def _impossible(reading: Reading) -> int:
    return sum(not each.possible for each in reading.found.values())
