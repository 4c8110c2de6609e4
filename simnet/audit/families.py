"""Tests of one hypothesis: these vectors are independent draws from N(0, I).

A family is a handful of tests that look for one kind of mistake. Within a family p-values are corrected by Bonferroni,
so each family answers with one p-value, and with the test that gave it. All tests but `shape` look at one side only:
noise that is too small, or too much alike. They are exact: sums of squares are χ², whatever the number of runs.

`slack` is by how much the norm of a recovered vector may be wrong; where a single vector decides, it counts as longer
by that much. In sums it plays no role.

Where a test decides which rounds release something, a later release may depend on the noise of an earlier one, but
never on its own. So two vectors are compared given the earlier: if z_t ~ N(0, I), then |z_t ∓ z_s|² is a noncentral χ².
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.special import chndtr, gammainc, gammaincinv, ndtr
from scipy.stats import kstwo

from simnet.vectors import Vector

Cube = npt.NDArray[np.float64]
"""Vectors by run and round; NaN where a round brought no release."""

_GRAIN = 0.004
"""By how much a grid, of up to σ/64, moves a distribution function."""
_FARTHEST = 100.0
"""Entries beyond this are as surprising as this."""
_MANY = 1000
"""Entries beyond which products say as much as distances."""
_COMPARED = 1000
"""Runs that are compared with each other, at most."""


@dataclass(frozen=True)
class Family:
    """A family's answer: its p-value, and the test that is most surprising."""

    name: str
    p_value: float
    worst: str


@dataclass(frozen=True)
class Noises:
    """The standardised noise of one agent in all runs, and the slack of each vector."""

    z: Cube
    slack: npt.NDArray[np.float64]
    rounds: tuple[int, ...]

    @property
    def features(self) -> int:
        return int(self.z.shape[2])

    @property
    def flat(self) -> tuple[npt.NDArray[np.float64], Vector]:
        """All vectors that there are, and their slack."""
        there = ~np.isnan(self.z[:, :, 0])
        return self.z[there], self.slack[there]


_Tests = Iterable[tuple[str, float]]


def bonferroni(name: str, *groups: _Tests) -> Family:
    """The family's p-value: each group of tests has an equal share of the error, each test an equal share of that."""
    every = [list(group) for group in groups]
    every = [group for group in every if group]
    # A p-value that cannot be computed accuses nobody.
    found = [(len(every) * len(group) * p, what) for group in every for what, p in group if not math.isnan(p)]
    p, worst = min(found, default=(1.0, "nothing to test"))
    return Family(name, min(1.0, p), worst)


def below(square: npt.ArrayLike, dof: float) -> npt.NDArray[np.float64]:
    """P(χ² <= square)."""
    return np.asarray(gammainc(dof / 2, np.asarray(square) / 2))


def single(noises: Noises) -> Family:
    """One release with hardly any noise."""
    z, slack = noises.flat
    return bonferroni("single release", _least("a release", np.linalg.norm(z, axis=1), slack, noises.features))


def amount(noises: Noises) -> Family:
    """Too little noise in all, in a round, in a feature, or in a feature of a round."""
    squares = noises.z**2
    there = np.count_nonzero(~np.isnan(squares), axis=0)
    sums = np.nansum(squares, axis=0)
    names = [f"round {t}" for t in noises.rounds]
    features = range(noises.features)
    return bonferroni(
        "amount",
        [("all noise", float(below(sums.sum(), there.sum())))],
        [
            *((name, float(below(sums[k].sum(), there[k].sum()))) for k, name in enumerate(names)),
            *((f"feature {j}", float(below(sums[:, j].sum(), there[:, j].sum()))) for j in features),
            *(
                (f"{name}, feature {j}", float(below(sums[k, j], there[k, j])))
                for k, name in enumerate(names)
                for j in features
            ),
        ],
    )


def features_alike(noises: Noises) -> Family:
    """Features whose noise agrees, or follows from that of the others; one release with the same for all."""
    z, slack = noises.flat
    runs, d = z.shape
    if d < 2:
        return bonferroni("features alike")
    gram = z.T @ z
    pairs = [
        (f"features {i} and {j}", float(below((gram[i, i] + gram[j, j] - 2 * sign * gram[i, j]) / 2, runs)))
        for i, j in combinations(range(d), 2)
        for sign in (1.0, -1.0)
    ]
    centred = np.linalg.norm(z - z.mean(axis=1, keepdims=True), axis=1)
    flat = _least("a release", centred, slack, d - 1)
    return bonferroni("features alike", pairs, _dependent(gram, runs), flat)


def _dependent(gram: npt.NDArray[np.float64], runs: int) -> Iterator[tuple[str, float]]:
    """What is left of a feature's squares once the others are regressed out is χ² with `runs` − d + 1 degrees."""
    d = len(gram)
    if runs < 2 * d:
        return
    ridge = 1e-12 * np.trace(gram) / d * np.eye(d)
    left = 1.0 / np.diag(np.linalg.inv(gram + ridge))
    for j in range(d):
        yield f"feature {j} given the others", float(below(left[j], runs - d + 1))


def rounds_alike(noises: Noises) -> Family:
    """Rounds whose noise agrees, or is the other's negative."""
    return bonferroni("rounds alike", *_alike(noises, noises, list(combinations(range(len(noises.rounds)), 2)), ""))


def agents_alike(noises: Noises, others: dict[int, Noises]) -> Family:
    """Noise that another agent has too, in the same round or in another."""
    groups: list[_Tests] = []
    for agent, other in others.items():
        pairs = list(product(range(len(noises.rounds)), range(len(other.rounds))))
        groups += _alike(noises, other, pairs, f" of agent {agent}")
    return bonferroni("agents alike", *groups)


def _alike(one: Noises, other: Noises, pairs: list[tuple[int, int]], whose: str) -> list[_Tests]:
    """Each pair of rounds in all runs, and in the one run in which they are most alike."""
    together: list[tuple[str, float]] = []
    alone: list[tuple[str, float]] = []
    for s, t in pairs:
        what = f"round {one.rounds[s]} and round {other.rounds[t]}{whose}"
        both = ~np.isnan(one.z[:, s, 0] + other.z[:, t, 0])
        if not both.any():
            continue
        early, late = (np.clip(z, -_FARTHEST, _FARTHEST) for z in (one.z[both, s], other.z[both, t]))
        if one.rounds[s] > other.rounds[t]:
            early, late = late, early
        slack = one.slack[both, s] + other.slack[both, t]
        lengths = (early**2).sum(axis=1)
        for sign in (-1.0, 1.0):
            apart = np.linalg.norm(late + sign * early, axis=1)
            together.append((what, _given_the_earlier(early, late, apart, sign)))
            least = chndtr((apart + slack) ** 2, one.features, lengths).min()
            alone.append((f"{what} in one run", float(len(apart) * least)))
    return [together, alone]


def _given_the_earlier(early: Cube, late: Cube, apart: Vector, sign: float) -> float:
    """Of all runs together: by the distances, or where they are many by the products, which are Gaussian."""
    lengths = float((early**2).sum())
    if early.size <= _MANY:
        return float(chndtr((apart**2).sum(), early.size, lengths))
    return float(ndtr(sign * (early * late).sum() / math.sqrt(lengths)))


def runs_alike(noises: Noises) -> Family:
    """Runs that share their noise: the nearest pair of runs, by first releases, and by all where none is missing."""
    half = len(noises.z) // 2
    chosen = np.r_[0 : min(half, _COMPARED // 2), half : min(2 * half, half + _COMPARED // 2)]
    there = ~np.isnan(noises.z[chosen, :, 0])
    tests = []
    for count in sorted({1, len(noises.rounds)} if there.all() else {1}):
        some = np.flatnonzero(there.any(axis=1))
        if len(some) < 2:
            continue
        first = [(chosen[run], np.flatnonzero(there[run])[:count]) for run in some]
        points = np.array([noises.z[run, kept].ravel() for run, kept in first])
        slack = max(noises.slack[run, kept].sum() for run, kept in first)
        pairs = len(points) * (len(points) - 1) / 2
        for sign in (1.0, -1.0):
            apart = _nearest(points, sign) / math.sqrt(2.0) + math.sqrt(2.0) * slack
            tests.append((f"{count} releases of two runs", pairs * float(below(apart**2, points.shape[1]))))
    return bonferroni("runs alike", tests)


def _nearest(points: npt.NDArray[np.float64], sign: float) -> float:
    """The least distance between a point and another one, or another one's negative."""
    distances, found = cKDTree(points).query(sign * points, k=2)
    own = found == np.arange(len(points))[:, np.newaxis]
    return float(np.where(own, np.inf, distances).min())


def shape(noises: Noises) -> Family:
    """Entries that are not Gaussian, and norms that are not χ."""
    z, _ = noises.flat
    norms = below((z**2).sum(axis=1), noises.features)
    return bonferroni(
        "shape", [("entries", _kolmogorov(ndtr(z.ravel()))), ("norms", _kolmogorov(norms))] if z.size else []
    )


def _kolmogorov(probabilities: Vector) -> float:
    """The p-value of "these are uniform", a grain of their distribution function forgiven."""
    ordered, n = np.sort(probabilities), len(probabilities)
    steps = np.arange(n + 1) / n
    distance = max(float(np.max(steps[1:] - ordered)), float(np.max(ordered - steps[:-1])))
    return float(kstwo.sf(max(0.0, distance - _GRAIN), n))


def _least(what: str, norms: Vector, slack: Vector, dof: int) -> list[tuple[str, float]]:
    """The smallest of many norms; one test, corrected for all of them."""
    if not norms.size:
        return []
    return [(what, float(len(norms) * below((norms + slack) ** 2, dof).min()))]


def caught_factor(dof: int, level: float, power: float = 0.9) -> float:
    """The largest factor on all noise that the sum of `dof` squares catches with this power, at this level.

    The test fires if f²χ² <= q with P(χ² <= q) = level; f = √(q/Q), Q the quantile at `power`.
    """
    if dof == 0:
        return 0.0
    return math.sqrt(float(gammaincinv(dof / 2, level) / gammaincinv(dof / 2, power)))
