"""Was the skip right? What a sparse vector test answered, what it was asked, and how loud its noise was.

From the log alone. Answers are public, and so are the scales of the noise, which the charges hold. What a test was
asked is in private logs only, so only they tell how good its answers were.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from simnet.privacy.sparse_vector import answer_noise
from simnet.record.event_columns import Whole
from simnet.record.events import PrivacySpent, SvtTested
from simnet.vectors import Vector


class AnswerScores:
    """The answers of all agents' tests, and their scores once there are some."""

    def __init__(self, agents: int) -> None:
        self._passed = array("b")
        self._queries = array("d")
        self._noise: Counter[float] = Counter()
        self._noise_of = array("d", [0.0]) * agents

    def paid(self, event: PrivacySpent) -> None:
        """A charge; that of a test holds the scales of its noise."""
        if "threshold_scale" in event.parameters:
            self.paid_together(np.array([event.agent]), event.parameters)

    def paid_together(self, agents: Whole, parameters: Mapping[str, float]) -> None:
        """The same charge of many agents."""
        threshold, query = (parameters.get(name) for name in ("threshold_scale", "query_scale"))
        if threshold is not None and query is not None:
            np.frombuffer(self._noise_of)[agents] = answer_noise(threshold, query)

    def asked(self, event: SvtTested) -> None:
        """An answer; without its query in a log that is not private."""
        self._passed.append(event.passed)
        self._noise[self._noise_of[event.agent]] += 1
        if event.query is not None:
            self._queries.append(event.query)

    def asked_together(self, agents: Whole, passed: Whole, queries: Vector | None) -> None:
        """Answers of many agents, in their order."""
        self._passed.frombytes(passed.astype(np.int8).tobytes())
        noises, counts = np.unique(np.frombuffer(self._noise_of)[agents], return_counts=True)
        self._noise.update(dict(zip(noises.tolist(), counts.tolist(), strict=True)))
        if queries is not None:
            self._queries.frombytes(queries.tobytes())

    def summary(self, threshold: float | None) -> dict[str, Any]:
        """What summary.json tells; nothing of a run without tests.

        `noise` is the standard deviation of an answer's noise, `improvement` the query without it, both the median over
        all tests. `auc` is the chance that a test that passed was asked about a larger improvement than one that did
        not: 0.5 is a coin's. `right_share` are the answers that a test without noise would have given, by the
        `threshold` if that is known.
        """
        if not self._passed:
            return {}
        passed = np.array(self._passed, dtype=bool)
        found: dict[str, Any] = {
            "asked": len(passed),
            "passed": int(passed.sum()),
            "pass_rate": float(passed.mean()),
            "noise": _median(self._noise),
        }
        if len(self._queries) == len(passed):
            queries = np.array(self._queries)
            found |= {"improvement": float(np.median(queries)), "auc": auc(queries[passed], queries[~passed])}
            if threshold is not None:
                found["right_share"] = float(np.mean((queries >= threshold) == passed))
        return {"tests": found}


def _median(counts: Counter[float]) -> float:
    """The median of numbers that came so often; between the two in the middle if there are two."""
    numbers = sorted(counts)
    ends = np.cumsum([counts[number] for number in numbers])
    middle = [numbers[np.searchsorted(ends, place, "right")] for place in ((ends[-1] - 1) // 2, ends[-1] // 2)]
    return float(np.mean(middle))


def auc(above: Vector, below: Vector) -> float | None:
    """The chance that one of the first is larger than one of the second, ties half; None where there are none."""
    if not len(above) or not len(below):
        return None
    ordered = np.sort(below)
    smaller = np.searchsorted(ordered, above, "left") + np.searchsorted(ordered, above, "right")
    return float(smaller.mean() / (2 * len(below)))
