"""Does the mechanism do what it says? The audit's first half, by an auditor who knows all but the noise.

It knows which of the two worlds is true, so there is nothing to distinguish: it looks at what was sent (payloads,
ledger, laws of the log, traffic), which must be right to the bit, and at the noise, which must be independent standard
Gaussian vectors once it is recovered (`families`), with answers of tests and flips of labels beside it.

The error is shared: an honest scenario is called broken with a probability of at most `ALPHA`. A `Breach` needs no
chance to be one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtri

from simnet.audit import families
from simnet.audit.answers import Answer, answer_groups, martingale_test
from simnet.audit.families import Family, Noises, bonferroni
from simnet.audit.scores import Reading
from simnet.audit.transcript import Breach
from simnet.vectors import Vector

ALPHA = 1e-3
"""The probability with which an honest mechanism is called broken."""
LEAST_RUNS = 20
"""Runs per side below which nothing is said to hold."""
LEAST_FACTOR = 0.5
"""Noise times this must be seen, or nothing is said to hold."""
POWER = 0.9
_FAMILIES = 9
"""How many families there are: each has an equal share of the error, whether it has anything to test or not."""
_SHOWN = 5


@dataclass(frozen=True)
class Evidence:
    """What one run tells the auditor: noise by agent and round, breaches, traffic, answers, whether a label flipped."""

    noises: dict[int, dict[int, tuple[Vector, float]]]
    breaches: tuple[Breach, ...]
    traffic: str | None
    answers: tuple[Answer, ...] = ()
    flipped: bool | None = None


def standard_noise(reading: Reading) -> dict[int, tuple[Vector, float]]:
    """The noise of each round that has some, and its slack."""
    return {t: (each.standard, each.slack) for t, each in reading.found.items() if each.standard is not None}


@dataclass(frozen=True)
class Conformance:
    """What was found: a p-value per family, breaches (how often each kind, and the first sentences), and f90."""

    families: tuple[Family, ...]
    breaches: Counter[str] = field(default_factory=Counter)
    sentences: tuple[str, ...] = ()
    f90: float | None = None
    runs: int = 0

    @property
    def level(self) -> float:
        """The p-value at which a family speaks."""
        return ALPHA / _FAMILIES

    @property
    def broken_by(self) -> tuple[str, ...]:
        """The checks and families that found something."""
        return (*self.breaches, *(each.name for each in self.families if each.p_value <= self.level))

    @property
    def conclusive(self) -> bool:
        """Whether so much was seen that silence means something."""
        return self.runs >= LEAST_RUNS and self.f90 is not None and self.f90 >= LEAST_FACTOR

    def summary(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "broken_by": list(self.broken_by),
            "alpha": ALPHA,
            "level": self.level,
            "families": {each.name: {"p_value": each.p_value, "worst": each.worst} for each in self.families},
            "breaches": dict(self.breaches),
            "sentences": list(self.sentences),
        }


def conformance(
    first: Sequence[Evidence],
    second: Sequence[Evidence],
    holder: int,
    *,
    flip_chance: float = 0.0,
    labels_only: bool = False,
    skips: bool = False,
) -> Conformance:
    """Test the runs of both sides together: the auditor knows which is which.

    Args:
        first, second: the runs of either world.
        holder: the agent whose noise is in question.
        flip_chance: how often a report should have the wrong label; 0 if there are none.
        labels_only: whether the promise is about labels, so that f90 is about their flips.
        skips: whether rounds may be silent, so that traffic differs between runs.
    """
    every = [*first, *second]
    noises = gathered(every, holder)
    others = {agent: gathered(every, agent) for agent in sorted({a for each in every for a in each.noises} - {holder})}
    found = [
        families.single(noises),
        families.amount(noises),
        families.features_alike(noises),
        families.rounds_alike(noises),
        families.agents_alike(noises, {agent: other for agent, other in others.items() if other.rounds}),
        families.runs_alike(noises),
        families.shape(noises),
        _answers([answer for each in every for answer in each.answers]),
        _flips(every, flip_chance),
    ]
    breaches = [breach for each in every for breach in each.breaches]
    patterns = {each.traffic for each in every if each.traffic is not None}
    if not skips and len(patterns) > 1:
        breaches.append(Breach("traffic", f"{len(patterns)} patterns of traffic in {len(every)} runs without skips"))
    sentences = tuple(dict.fromkeys(f"{breach.check}: {breach.sentence}" for breach in breaches))[:_SHOWN]
    level = ALPHA / _FAMILIES / 2  # half of the family `amount` is for all noise together
    f90 = families.caught_factor(int(np.count_nonzero(~np.isnan(noises.z))), level, POWER) or None
    if labels_only:
        f90 = _caught_flips(sum(each.flipped is not None for each in every), flip_chance)
    return Conformance(
        tuple(found), Counter(breach.check for breach in breaches), sentences, f90, min(len(first), len(second))
    )


def gathered(every: Sequence[Evidence], agent: int) -> Noises:
    """The noise of one agent in all runs, as an array."""
    runs = [each.noises.get(agent, {}) for each in every]
    rounds = sorted({t for run in runs for t in run})
    features = next((len(z) for run in runs for z, _ in run.values()), 1)
    cube, slack = np.full((len(runs), len(rounds), features), np.nan), np.zeros((len(runs), len(rounds)))
    for number, run in enumerate(runs):
        for place, t in enumerate(rounds):
            if t in run:
                # What is not finite is no noise.
                cube[number, place], slack[number, place] = np.nan_to_num(run[t][0]), run[t][1]
    return Noises(cube, slack, tuple(rounds))


def _answers(answers: Sequence[Answer]) -> Family:
    groups = answer_groups(answers) if answers else {}
    return bonferroni("answers", [(name, martingale_test(group)) for name, group in groups.items()])


def _flips(every: Sequence[Evidence], chance: float) -> Family:
    told = [each.flipped for each in every if each.flipped is not None]
    if not chance or not told:
        return bonferroni("flips")
    return bonferroni("flips", [("wrong labels", float(bdtr(sum(told), len(told), chance)))])


def _caught_flips(reports: int, chance: float) -> float | None:
    """The largest factor on the probability of a flip that is caught with the power of f90; None if there is none."""
    counts = np.arange(reports + 1)
    fires = counts[bdtr(counts, reports, chance) <= ALPHA / _FAMILIES]
    if not fires.size:
        return None
    # At most `fires[-1]` flips: the probability at which that happens with the power.
    return float(bdtri(int(fires[-1]), reports, POWER)) / chance
