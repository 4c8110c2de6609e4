"""Agents as attackers: what one agent or a coalition of them saw and knew in a run, and the best test of that.

An insider knows all data but one row of the victim, its own noise and the secrets that it shares. It sees the messages
that reached it: those that were delivered, and those that came damaged, late or to a full inbox; not what others heard.
For methods whose messages are linear in Gaussian noise this view is Gaussian (Theorem O, `simnet.privacy.observers`),
so that one statistic is the best test there is: with v the messages less all that is known, d the difference of the two
models in question and w = C⁻¹ R e_i,

    log-likelihood ratio = Σ_k w_k (v_k · d)

The weights are computed exactly from the rows that the log tells and become floats at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from simnet.audit.bounds import Table
from simnet.audit.pair import Pair
from simnet.build import build_writer
from simnet.network.frame import Frame, Kind
from simnet.privacy.observers import InitialNoise, best_test
from simnet.record import events
from simnet.record.observed import Observed
from simnet.streams import Streams
from simnet.vectors import Vector

Rows = tuple[tuple[Fraction, ...], ...]

_ROUNDING = Fraction(1, 2**44)
"""Of a message, relative to the standard deviation of the noise: a few hundred units in the last place."""


@dataclass(frozen=True)
class View:
    """What an insider saw in one run.

    `rows` are the coefficients of the messages in first models and in noises on messages, `models` what they said;
    `observed` has retraced the run.
    """

    worlds: Pair
    observed: Observed
    rows: Rows
    models: list[Vector]

    @property
    def own(self) -> tuple[int, ...]:
        """The columns of noises that the insider drew."""
        return tuple(self.observed.own_relays(self.worlds.plan.observer))

    @cached_property
    def proven(self) -> float:
        """The victim's μ by Theorem O."""
        return self.observed.shifts(self.worlds.plan.observer)[self.worlds.holder]

    @cached_property
    def claimed(self) -> float | None:
        """The μ by a formula that somebody lies with in its place."""
        formula = self.worlds.lie.exposed
        return None if formula is None else self.observed.shifts(self.worlds.plan.observer, formula)[self.worlds.holder]


class Insider:
    """Listens on the wire for agents that put together what they see."""

    def __init__(self, worlds: Pair) -> None:
        self._observed = Observed()
        self.kinds = self._observed.kinds
        self._worlds = worlds
        self._writer = build_writer(worlds.worlds[0].scenario, worlds.holder)
        self._said: dict[tuple[int, int], bytes] = {}

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        self._observed(seq, t, event)

    def sent(self, now: float, frame: Frame, peer: int) -> None:
        """A frame leaves; whether the insider sees it, events will tell."""
        if frame.kind is Kind.VALUE:
            self._said[frame.sender, frame.round] = frame.payload

    def delivered(self, frame: Frame, peer: int) -> None:
        """Events tell more: a damaged or late frame is seen, too."""

    def view(self) -> View:
        """All that was seen, once the run is over."""
        seen = self._observed.messages_seen(self._worlds.plan.observer)
        heard = [message for message in seen if message in self._said]
        rows = tuple(tuple(self._observed.coefficients(*message)) for message in heard)
        models = [self._writer.decode(self._said[message])[0] for message in heard]
        return View(self._worlds, self._observed, rows, models)


def view_score(view: View, seed: int) -> float:
    """The log-likelihood ratio of the first data set against the second, given all that an insider knows of a run."""
    if not view.rows:
        return 0.0
    worlds, known = view.worlds, known_terms(view, seed)
    one, other = (models[worlds.holder] for models in worlds.clean_models)
    known[worlds.holder] += 0.5 * (one + other)
    rest = np.array(view.models) - np.array(view.rows, dtype=np.float64) @ known
    weights = _weights(view.rows, view.own, view.observed.noise, worlds.plan.observer, worlds.holder)
    return float(weights @ rest @ (one - other))


def known_terms(view: View, seed: int) -> Table:
    """What an insider knows of each term of its messages, one row per column of their coefficients.

    Of the victim it knows the secrets that they share; its model is in question.
    """
    worlds, world, observers = view.worlds, view.worlds.worlds[0], set(view.worlds.plan.observer)
    known = np.zeros((len(view.rows[0]), world.length))
    made, streams = worlds.shadows(0, 0, seed), Streams(seed)
    shared = [sorted(observers & set(world.graph[agent])) for agent in world.graph]
    for agent in world.graph:
        if agent in observers:
            rounds = view.observed.rounds_told(agent)
            known[agent], noises = made[agent].draws_again(len(rounds))
            for t, noise in zip(rounds if view.own else (), noises, strict=False):
                known[world.agents * t + agent] = noise
        else:
            known[agent] = world.scenario.algorithm.cancelling(agent, shared, streams, known.shape[1])
            known[agent] += 0.0 if agent == worlds.holder else worlds.clean_models[0][agent]
    return known


@lru_cache(maxsize=8)
def _weights(rows: Rows, own: tuple[int, ...], noise: InitialNoise, observers: tuple[int, ...], victim: int) -> Vector:
    """The weights of the best test; the same in every run as long as the network is."""
    strange = [[Fraction(0) if place in own else value for place, value in enumerate(row)] for row in rows]
    largest = max(noise.variances) + noise.pair_variance + noise.relay_variance
    return np.array(best_test(strange, noise, observers, victim, largest * _ROUNDING**2))
