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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

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

    `rows` are the coefficients of the messages in first models and in noises on messages, `own` the columns of noises
    that the insider drew, `models` what the messages said, `releases` the rounds in which each of its agents released
    something. `proven` is the victim's μ by Theorem O, `claimed` the one by a formula in its place.
    """

    rows: Rows
    own: tuple[int, ...]
    models: list[Vector]
    releases: dict[int, list[int]]
    noise: InitialNoise
    proven: float
    claimed: float | None


class Insider:
    """Listens on the wire for agents that put together what they see."""

    def __init__(self, worlds: Pair) -> None:
        self._observers = worlds.plan.observer
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
        victim, lie = self._worlds.holder, self._worlds.lie
        seen = [message for message in self._observed.messages_seen(self._observers) if message in self._said]
        return View(
            rows=tuple(tuple(self._observed.coefficients(*message)) for message in seen),
            own=tuple(self._observed.own_relays(self._observers)),
            models=[self._writer.decode(self._said[message])[0] for message in seen],
            releases={agent: self._observed.rounds_told(agent) for agent in self._observers},
            noise=self._observed.noise,
            proven=self._observed.shifts(self._observers)[victim],
            claimed=None if lie.exposed is None else self._observed.shifts(self._observers, lie.exposed)[victim],
        )


def view_score(worlds: Pair, view: View, seed: int) -> float:
    """The log-likelihood ratio of the first data set against the second, given all that an insider knows of a run."""
    if not view.rows:
        return 0.0
    one, other = (models[worlds.holder] for models in worlds.clean_models)
    known = known_terms(worlds, view, seed)
    known[worlds.holder] += 0.5 * (one + other)
    rest = np.array(view.models) - np.array(view.rows, dtype=np.float64) @ known
    weights = _weights(view.rows, view.own, view.noise, worlds.plan.observer, worlds.holder)
    return float(weights @ rest @ (one - other))


def known_terms(worlds: Pair, view: View, seed: int) -> Table:
    """What an insider knows of each term of its messages, one row per column of their coefficients.

    Of the victim it knows the secrets that they share; its model is in question.
    """
    world, observers = worlds.worlds[0], set(worlds.plan.observer)
    known = np.zeros((len(view.rows[0]), world.learning.features))
    made, streams = worlds.shadows(0, 0, seed), Streams(seed)
    shared = [sorted(observers & set(world.graph[agent])) for agent in world.graph]
    for agent in world.graph:
        if agent in observers:
            known[agent], noises = made[agent].draws_again(len(view.releases[agent]))
            for t, noise in zip(view.releases[agent] if view.own else (), noises, strict=False):
                known[world.agents * t + agent] = noise
        else:
            known[agent] = world.scenario.algorithm.cancelling(agent, shared, streams, known.shape[1])
            known[agent] += 0.0 if agent == worlds.holder else worlds.clean_models[0][agent]
    return known


@lru_cache(maxsize=8)
def _weights(rows: Rows, own: Sequence[int], noise: InitialNoise, observers: tuple[int, ...], victim: int) -> Vector:
    """The weights of the best test; the same in every run as long as the network is."""
    strange = [[Fraction(0) if place in own else value for place, value in enumerate(row)] for row in rows]
    largest = max(noise.variances) + noise.pair_variance + noise.relay_variance
    return np.array(best_test(strange, noise, observers, victim, largest * _ROUNDING**2))
