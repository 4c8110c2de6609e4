"""Methods that break their promise, so that the audit can show that it notices.

A liar charges its ledger like an honest agent, unless that is the lie; only the noise that it draws, the direction in
which it steps, or what it puts into its messages is another. Nothing but `simnet audit` can make an agent lie.

`LIES` is the table of them. A lie changes the liar's plan, its peer, how often its users flip labels, or the formula by
which its promise is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec
import numpy as np

from simnet.errors import ScenarioError
from simnet.methods import METHODS
from simnet.methods.duals import HealingDuals
from simnet.methods.peer import Known, Peer, Proposal, Solving, Work
from simnet.privacy.budget import NoisePlan
from simnet.privacy.ledger import RECYCLED
from simnet.privacy.observers import summed_exposures
from simnet.record.observed import Exposed
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

QUIET_ROUND = 3
LAG = 3
FORGOTTEN = 3
"""Every so many-th round is not charged."""


def who(does: str) -> str:
    """The methods of which something is true."""
    return ", ".join(name for name, method in METHODS.items() if getattr(method, does))


@dataclass(frozen=True)
class Lie:
    """What a liar does. `plan` and `peer` say "no" with a ScenarioError where a method has no words for it."""

    meaning: str
    plan: Callable[[NoisePlan | None], NoisePlan | None] = lambda honest: honest
    peer: Callable[[Peer, Streams, int], Peer] = lambda honest, streams, neighbour: honest
    """From the honest peer, the noise streams of the run, and one of the liar's neighbours."""
    flips: float = 1.0
    """How often labels are flipped, relative to what was promised."""
    exposed: Exposed | None = None
    """By which formula ε against an observer is promised, if not by Theorem O."""


def _weakened(word: str, factor: float) -> Callable[[NoisePlan | None], NoisePlan | None]:
    def plan(honest: NoisePlan | None) -> NoisePlan | None:
        if honest is None:
            raise ScenarioError(f"audit.lie = '{word}': a method without noise has nothing to lie about")
        return honest.weakened(factor)

    return plan


def _weak_test(word: str, factor: float) -> Callable[[NoisePlan | None], NoisePlan | None]:
    def plan(honest: NoisePlan | None) -> NoisePlan | None:
        test = None if honest is None else honest.test
        if test is None:
            raise ScenarioError(f"audit.lie = '{word}': only {who('has_test')} has a test")
        weak = replace(test, threshold_scale=factor * test.threshold_scale, query_scale=factor * test.query_scale)
        return cast(NoisePlan, replace(cast(Any, honest), test=weak))

    return plan


def _source(honest: Peer, word: str) -> np.random.Generator:
    if honest.noise_source is None:
        raise ScenarioError(f"audit.lie = '{word}': this agent draws no noise")
    return honest.noise_source


def _drawing(honest: Peer, source: Any) -> Peer:
    """The same peer with another source of noise."""
    cast(Any, honest).rng = source
    return honest


class _Liar:
    """Does what an honest peer does, but for what a lie changes."""

    def __init__(self, honest: Peer) -> None:
        self._honest = honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._honest, name)


class ReusedNoise(_Liar):
    """A round draws the noise of the round `lag` before it, or every round that of the first."""

    def __init__(self, honest: Peer, word: str, lag: int | None = None) -> None:
        super().__init__(honest)
        self._rng = _source(honest, word)
        self._lag = lag
        self._starts: dict[int, Any] = {}

    def propose(self, t: int) -> Proposal | Work:
        before = 1 if self._lag is None else t - self._lag
        if before in self._starts:
            self._rng.bit_generator.state = self._starts[before]
        self._starts[t] = self._rng.bit_generator.state
        return self._honest.propose(t)


class _LyingSource:
    """A generator, but for what a lie changes."""

    def __init__(self, honest: np.random.Generator) -> None:
        self._honest = honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._honest, name)


class OneScalar(_LyingSource):
    """One number for all features."""

    def standard_normal(self, size: int) -> Vector:
        return np.full(size, self._honest.standard_normal())


class Silenced(_LyingSource):
    """Draws zeros while it is `quiet`; a direction, which has a length of its own, is left as it is."""

    quiet = False
    _direction = False

    def gamma(self, shape: float, scale: float) -> float:
        drawn = float(self._honest.gamma(shape, scale))
        self._direction = self.quiet
        return 0.0 if self.quiet else drawn

    def standard_normal(self, size: int) -> Vector:
        drawn: Vector = self._honest.standard_normal(size)
        direction, self._direction = self._direction, False
        return drawn if direction or not self.quiet else np.zeros(size)


class QuietRound(_Liar):
    """One round without noise."""

    def __init__(self, honest: Peer, word: str) -> None:
        self._silenced = Silenced(_source(honest, word))
        super().__init__(_drawing(honest, self._silenced))

    def propose(self, t: int) -> Solving[Proposal]:
        self._silenced.quiet = t == QUIET_ROUND
        work = self._honest.propose(t)
        return work if isinstance(work, Proposal) else (yield from work)


class SameAnswer(_LyingSource):
    """Laplace noise that is drawn once."""

    _drawn: float | None = None

    def laplace(self, centre: float, scale: float) -> float:
        if self._drawn is None:
            self._drawn = float(self._honest.laplace(centre, scale))
        return self._drawn


class Forgetful(_Liar):
    """Every third release is called recycled, which costs nothing; one without any charge would be a bare one."""

    def propose(self, t: int) -> Solving[Proposal]:
        work = self._honest.propose(t)
        proposal = work if isinstance(work, Proposal) else (yield from work)
        return proposal if t % FORGOTTEN else msgspec.structs.replace(proposal, charges=(RECYCLED,))


class CleanCompany(_Liar):
    """What goes with the model is the minimiser without noise, in place of a running sum."""

    def __init__(self, honest: Peer) -> None:
        super().__init__(honest)
        if not isinstance(getattr(honest, "duals", None), HealingDuals):
            raise ScenarioError(
                "audit.lie = 'clean-company': only healing duals add something to a model; algorithm.duals = 'healing'"
            )

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        company = self._honest.accompany(t, model, known)
        return (cast(Any, self._honest).minimise().theta, *company[1:]) if company else ()


class TrueGradient(_Liar):
    """R-ADMM whose even rounds step along ∇f_i at the inexact solution, instead of along what was made public of it."""

    def __init__(self, honest: Peer) -> None:
        super().__init__(honest)
        if not honest.recycles:
            raise ScenarioError(f"audit.lie = 'true-gradient': only {who('recycles')} has rounds without a solve")

    def propose(self, t: int) -> Proposal | Work:
        if t % 2:
            return self._honest.propose(t)
        return self._honest.step_by_data(t)


def _answers_once(honest: Peer, streams: Streams, neighbour: int) -> Peer:
    test = honest.sparse_vector
    if test is None:
        raise ScenarioError(f"audit.lie = 'test-noise-once': only {who('has_test')} has a test")
    test.rng = cast(Any, SameAnswer(test.rng))
    return honest


def _one_scalar(honest: Peer, streams: Streams, neighbour: int) -> Peer:
    return _drawing(honest, OneScalar(_source(honest, "one-scalar")))


def _no_domain(honest: Peer, streams: Streams, neighbour: int) -> Peer:
    """Without limits on what neighbours send and on what a solve begins with."""
    unguarded = cast(Any, honest)
    unguarded.domain, unguarded.limits = math.inf, (math.inf,) * 3
    return honest


def _neighbours_noise(honest: Peer, streams: Streams, neighbour: int) -> Peer:
    _source(honest, "neighbours-noise")
    return _drawing(honest, streams.generator("noise", neighbour))


LIES: dict[str, Lie] = {
    "reused-noise": Lie(
        "noise is drawn once and used in every round",
        peer=lambda honest, streams, neighbour: cast(Peer, ReusedNoise(honest, "reused-noise")),
    ),
    "late-reuse": Lie(
        "the noise of a round is used again three rounds later",
        peer=lambda honest, streams, neighbour: cast(Peer, ReusedNoise(honest, "late-reuse", LAG)),
    ),
    "half-noise": Lie("noise for half the sensitivity", plan=_weakened("half-noise", 0.5)),
    "faint-noise": Lie("noise times 0.95", plan=_weakened("faint-noise", 0.95)),
    "quiet-round": Lie(
        "the third round has no noise",
        peer=lambda honest, streams, neighbour: cast(Peer, QuietRound(honest, "quiet-round")),
    ),
    "one-scalar": Lie("one random number for all features", peer=_one_scalar),
    "neighbours-noise": Lie("noise from a neighbour's stream", peer=_neighbours_noise),
    "clean-company": Lie(
        "what healing duals add to a message is the model without noise",
        peer=lambda honest, streams, neighbour: cast(Peer, CleanCompany(honest)),
    ),
    "forgetful-ledger": Lie(
        "every third release is called recycled, at no charge",
        peer=lambda honest, streams, neighbour: cast(Peer, Forgetful(honest)),
    ),
    "no-domain": Lie("values of any size are accepted from neighbours", peer=_no_domain),
    "summed-formula": Lie(
        "(gossip) ε against an observer is promised by Muffliato's sum over messages", exposed=summed_exposures
    ),
    "half-flips": Lie("(PDML) labels are flipped half as often", flips=0.5),
    "true-gradient": Lie(
        "(R-ADMM) even rounds step along the true gradient",
        peer=lambda honest, streams, neighbour: cast(Peer, TrueGradient(honest)),
    ),
    "test-noise-once": Lie("(IPP-ADMM) the noise on the test's query is drawn once", peer=_answers_once),
    "no-test-noise": Lie("(IPP-ADMM) the test has no noise", plan=_weak_test("no-test-noise", 0.0)),
    "half-test-noise": Lie("(IPP-ADMM) the test has half of its noise", plan=_weak_test("half-test-noise", 0.5)),
}
