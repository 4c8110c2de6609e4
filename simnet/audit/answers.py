"""A sparse vector test's answers: how likely they are, and whether they come as often as they should.

Given all answers before it, an auditor that knows the queries knows the probability p of each "yes". Then passed − p is
a martingale difference, whatever the queries depend on, and so it is over any group of answers that is chosen by what
came before. `martingale_test` bets on such a group: for every λ the product of

    exp(λ(passed − p)) / (p exp(λ(1−p)) + (1−p) exp(−λp))

has mean 1 under an honest test, and so has the mean over several λ. It exceeds 1/α with a probability of at most α
(Ville's inequality), and grows exponentially if answers come too often or too seldom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simnet.privacy.sparse_vector import SvtPlan
from simnet.vectors import Vector

_NODES = 800
_BETS = np.array([-3.0, -1.5, -0.75, -0.3, 0.3, 0.75, 1.5, 3.0])


@dataclass(frozen=True)
class Answer:
    """One answer: its round, its probability of "yes" given the answers before, what it was, and the last one."""

    t: int
    chance: float
    passed: bool
    last: bool | None


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
        self._last: bool | None = None

    def note(self, t: int, query: float, *, passed: bool) -> Answer:
        """One answer to one query."""
        # An answer that is all but impossible counts as that, not as an infinite score.
        least = np.finfo(np.float64).tiny
        yes, no = (laplace_below(sign * (query - self._bars), self.plan.query_scale) for sign in (1.0, -1.0))
        answer = np.maximum(yes if passed else no, least)
        weights = np.exp(self._log - self._log.max())
        found = Answer(t, float(weights @ yes / weights.sum()), passed, self._last)
        if self.plan.redraw:
            self._sum += float(np.log(np.mean(answer)))
        else:
            self._log += np.log(answer)
        self._last = passed
        return found

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


def martingale_test(answers: Iterable[Answer]) -> float:
    """A p-value of "these answers come as often as they should"."""
    every = list(answers)
    chance = np.array([each.chance for each in every])[:, np.newaxis]
    passed = np.array([each.passed for each in every], dtype=float)[:, np.newaxis]
    if not every:
        return 1.0
    fair = chance * np.exp(_BETS * (1.0 - chance)) + (1.0 - chance) * np.exp(-_BETS * chance)
    logs = (_BETS * (passed - chance) - np.log(fair)).sum(axis=0)
    evidence = np.logaddexp.reduce(logs) - np.log(len(_BETS))
    return float(np.exp(-max(0.0, evidence)))


def answer_groups(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """All answers; those of each round; those that follow a "yes", a "no", or nothing."""
    groups: dict[str, list[Answer]] = {"all answers": list(answers)}
    words = {None: "the first answer", True: "answers after a yes", False: "answers after a no"}
    for each in answers:
        groups.setdefault(f"round {each.t}", []).append(each)
        groups.setdefault(words[each.last], []).append(each)
    return groups
