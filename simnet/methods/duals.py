"""How an agent keeps its dual variable, and what its messages carry for it.

On a perfect network the three ways give the same iterates. They differ in what a lost message does, of which
docs/network.md has the arguments and a figure. None costs privacy: whatever accompanies a released model is computed
from models released before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from simnet.errors import SimnetError
from simnet.methods.peer import LARGEST, Known
from simnet.vectors import Parts, Vector

Steps = Callable[[int], float]
"""The dual step of each round, 0 where the duals rest; the same for all agents."""


@lru_cache(maxsize=1 << 10)
def constant(step: float) -> Steps:
    """The same step in every round; agents with one step share it."""
    return lambda t: step


@lru_cache(maxsize=1 << 10)
def _limit(domain: float, eta: float, degree: float) -> tuple[float]:
    """How long a neighbour's model may be; agents that are alike share it."""
    return (min(LARGEST, domain / (4.0 * eta * max(degree, 1.0))),)


class Duals(ABC):
    """The dual variable of one agent with `degree` neighbours."""

    def __init__(self, features: int, degree: int) -> None:
        self._dual: Vector = np.zeros(features)
        self._degree = float(degree)

    @property
    def dual(self) -> Vector:
        """λ_i."""
        return self._dual

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        """What round t's message carries beside the `model`, which is given as the neighbours decode it."""
        return ()

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        """What each neighbour alone is sent instead of the model; None if all are sent the same."""
        return None

    def forget(self) -> Vector:
        """A crash: the dual is gone. What was heard from the neighbours is still known.

        The model is what to begin with if nobody tells a better one.
        """
        self._dual = np.zeros_like(self._dual)
        return self._dual

    def retell(self, last: Known) -> Parts:
        """What a neighbour that has lost its state is told about itself; `last` is the last message from it."""
        return last.parts[:1]

    def recall(self, last: Known) -> Vector:
        """Begin again from what a neighbour retold; the model in it."""
        return last.parts[0]

    def limits(self, domain: float, eta: float) -> tuple[float, ...]:
        """How long each vector of a neighbour's message may be where a linear term may be `domain` long.

        One round's messages alone do not carry the linear term out of its domain. Those of many rounds may, and then
        the agent does not solve (`AdmmPeer.outside`).
        """
        return _limit(domain, eta, self._degree)

    def step(self, t: int) -> float:
        """The dual step of a round, 0 where there is none."""
        return 0.0

    def timely(self, round: int, parts: Parts) -> bool:
        """Whether what a message of that `round` says of the time can be."""
        return True

    @abstractmethod
    def linear(self, model: Vector, eta: float) -> Vector:
        """The linear term of the local problem whose quadratic term is ½·2ηV|θ|²; `model` is the last one released."""

    @abstractmethod
    def absorb(self, t: int, model: Vector, sent: Parts | None, known: Sequence[Known]) -> None:
        """The dual update of round t: `model` is the last one released, `sent` what went out in this round."""


class NodeDuals(Duals):
    """λ_i ← λ_i + (step/2) Σ_j (θ_i − θ_j), with what is known of the neighbours."""

    def __init__(self, features: int, degree: int, step: Steps) -> None:
        super().__init__(features, degree)
        self._step = step
        self._known_sum: Vector = np.zeros(features)

    def step(self, t: int) -> float:
        return self._step(t)

    def linear(self, model: Vector, eta: float) -> Vector:
        """2λ_i − η Σ_j (θ_i + θ_j)."""
        models = self._degree * model + self._known_sum
        return (self._dual + self._dual) - eta * models

    def absorb(self, t: int, model: Vector, sent: Parts | None, known: Sequence[Known]) -> None:
        self._known_sum = total = np.zeros(len(model))
        for value in known:
            total += value.parts[0]
        self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)


_UNKNOWN = 10**6
"""Rounds, if nobody says how many."""
AVERAGED = 3
"""Over about how many messages a neighbour's models are averaged."""


@dataclass(frozen=True, slots=True)
class RunningSum:
    """An agent's running sum from a time of the common clock on: S(τ) = `offset` + W(τ)·`model`, τ >= `clock`."""

    clock: int
    model: Vector
    offset: Vector


@dataclass(slots=True)
class Neighbour:
    """What an agent knows of a neighbour's sum, how many ticks old it was when it came, and the models on average."""

    account: RunningSum
    average: Vector
    round: int = 0
    lag: int = 0

    def clock_of(self, news: Known) -> int:
        """When a message was sent; one without a sum does not say, and counts as far from its round as the last one."""
        if len(news.parts) > 2:
            return news.round + round(float(news.parts[2][0]))
        if len(news.parts) > 1 or news.round == 0:
            return news.round
        return news.round + self.account.clock - self.round


class HealingDuals(NodeDuals):
    """λ_i = ½ Σ_j (S_i − S_j), S_i(t) = Σ_{τ<=t} step(τ) θ_i(τ) the running sum of what agent i let out.

    Messages carry D = S − W·θ, W the running sum of the steps. A receiver assumes that the model stayed since the last
    one: S_j(t) = S_j(s) + (W(t) − W(s)) θ_j(s). That is exact after a skip, and a guess after a loss, until the next
    message. With `every` = k only each k-th message carries D; who has missed none of the others loses nothing.

    Sums are compared at the same time of a common clock, which ticks once per round at every agent; a message says how
    far the clock is from the round, if it is. Two rules keep this stable. An agent whose clock has jumped takes only
    its part of the change of λ; otherwise the jump would be one dual step for many rounds. And where a slow link makes
    all news old, the rounds between are filled with an average of the models, and λ follows more slowly; otherwise the
    newest model would be fed back with a gain of 1 + lag.

    An agent that has lost its state asks for its sum as its neighbours know it. If none answers it begins with the
    mean of theirs, for which λ is 0.
    """

    def __init__(self, features: int, degree: int, step: Steps, every: int = 1, rounds: int = 0) -> None:
        super().__init__(features, degree, step)
        self._every = every
        self._rounds = float(rounds or _UNKNOWN)
        self._sent = 0
        self._totals = [0.0]
        self._mine = RunningSum(0, np.zeros(features), np.zeros(features))
        self._theirs: dict[int, Neighbour] = {}
        self._clock = 0
        self._sending = 0

    def limits(self, domain: float, eta: float) -> tuple[float, ...]:
        """A sum enters the linear term as it is; no clock is farther from its round than there are rounds.

        A model without the sum that belongs to it counts W times and may carry the linear term out at once.
        """
        return (*super().limits(domain, eta), min(LARGEST, domain / (2.0 * max(self._degree, 1.0))), self._rounds)

    def timely(self, round: int, parts: Parts) -> bool:
        return len(parts) < 3 or (len(parts[2]) == 1 and round + float(parts[2][0]) >= 0.0)

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        self._sent += 1
        self._sending = max([self._clock + 1, *(self._neighbour(value).clock_of(value) - 1 for value in known)])
        if self._sent % self._every:
            return ()
        offset = self._moved(self._mine, self._sending, model).offset
        lead = self._sending - t
        return (offset, np.array([float(lead)])) if lead else (offset,)

    def absorb(self, t: int, model: Vector, sent: Parts | None, known: Sequence[Known]) -> None:
        before, clock = self._clock, self._clock + 1
        if sent is not None:
            clock = max(clock, self._sending)
            mine = self._moved(self._mine, clock, model)
            self._mine = RunningSum(clock, model, sent[1]) if len(sent) > 1 else mine
        heard = [self._neighbour(value) for value in known]
        for neighbour, value in zip(heard, known, strict=True):
            self._hear(neighbour, value.unread(neighbour.round), clock)
        self._clock = clock = max([clock, *(neighbour.account.clock - 1 for neighbour in heard)])
        self._known_sum = np.sum([neighbour.account.model for neighbour in heard], axis=0)
        due = self._due(clock)
        lag = max((neighbour.lag for neighbour in heard), default=0)
        if lag:
            for neighbour in heard:
                missing = self._total(clock) - self._total(clock - neighbour.lag)
                due += missing * (neighbour.account.model - neighbour.average)
        self._dual = self._dual + (due / 2 - self._dual) / (clock - before + (1 + 2 * lag if lag else 0))

    def forget(self) -> Vector:
        super().forget()
        known = [neighbour.account for neighbour in self._theirs.values()]
        self._clock = max((account.clock - 1 for account in known), default=0)
        model, offset = (np.zeros_like(self._dual) for _ in range(2))
        for account in known:
            model += account.model / len(known)
            offset += account.offset / len(known)
        self._mine = RunningSum(self._clock, model, offset)
        self._sent = -1  # the next message carries the sum, whatever `every` is
        return model

    def retell(self, last: Known) -> Parts:
        """The model, its sum and its time, also if the last message was without a sum."""
        neighbour = replace(self._neighbour(last))
        self._hear(neighbour, last.unread(neighbour.round), neighbour.account.clock)
        account = neighbour.account
        return account.model, account.offset, np.array([float(account.clock - last.round)])

    def recall(self, last: Known) -> Vector:
        model, offset, lead = last.parts
        self._clock = last.round + round(float(lead[0]))
        self._mine = RunningSum(self._clock, model, offset)
        self._dual = self._due(self._clock) / 2
        return model

    def _due(self, clock: int) -> Vector:
        """Σ_j (S_i − S_j) at a time of the common clock, with what is known of the neighbours."""
        accounts = [neighbour.account for neighbour in self._theirs.values()]
        models = np.sum([account.model for account in accounts], axis=0)
        offsets = self._degree * self._mine.offset - np.sum([account.offset for account in accounts], axis=0)
        due: Vector = offsets + self._total(clock) * (self._degree * self._mine.model - models)
        return due

    def _hear(self, neighbour: Neighbour, news: list[Known], now: int) -> None:
        """Bring what is known of a neighbour up to its newest message, by way of those before it."""
        for each in news:
            clock = neighbour.clock_of(each)
            model, *rest = each.parts
            account = neighbour.account
            neighbour.account = RunningSum(clock, model, rest[0]) if rest else self._moved(account, clock, model)
            neighbour.average = neighbour.average + (model - neighbour.average) / AVERAGED
            neighbour.round = each.round
        if news:
            neighbour.lag = max(0, now - neighbour.account.clock)

    def _neighbour(self, value: Known) -> Neighbour:
        found = self._theirs.get(value.peer)
        if found is None:
            nothing: Vector = np.zeros_like(self._dual)
            found = self._theirs[value.peer] = Neighbour(RunningSum(0, nothing, nothing), nothing)
        return found

    def _moved(self, account: RunningSum, clock: int, model: Vector) -> RunningSum:
        """The account at a later time, if the old model stayed until just before it."""
        return RunningSum(clock, model, account.offset + self._total(clock - 1) * (account.model - model))

    def _total(self, clock: int) -> float:
        """W, the sum of the steps up to a time of the common clock."""
        while len(self._totals) <= clock:
            self._totals.append(self._totals[-1] + self._step(len(self._totals)))
        return self._totals[clock]


class EdgeDuals(Duals):
    """Relaxed Peaceman-Rachford splitting (Bastianello, Todescato, Carli, Schenato, 2018-2021), r = 2η.

        x_i = argmin f_i(x) − (Σ_j z_ij)·x + (rV/2)|x|²
        q_ij = −z_ij + 2r x_i, to neighbour j alone;    z_ji ← ½ z_ji + ½ q_ij on receipt

    Silence, be it a skip or a loss, means that z_ji stays: an update of the splitting that did not take place. Both
    ends agree on it without knowing the reason, and no fixed point moves, because each is one of every single update.
    """

    def __init__(self, features: int, degree: int, eta: float) -> None:
        super().__init__(features, degree)
        self._eta = eta
        self._z: dict[int, Vector] = {}
        self._heard: dict[int, int] = {}

    def limits(self, domain: float, eta: float) -> tuple[float, ...]:
        """z_ij is a mean of letters, so it is no longer than they are, and the linear term is a sum over the links."""
        return (min(LARGEST, domain / max(self._degree, 1.0)),)

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        return {peer: (4 * self._eta * model - self._z.get(peer, 0.0),) for peer in neighbours}

    def linear(self, model: Vector, eta: float) -> Vector:
        if eta != self._eta:
            raise SimnetError(f"edge duals need one η for all agents and rounds: it is {self._eta:g}, not {eta:g}")
        return np.zeros_like(self._dual) - sum(self._z.values())

    def forget(self) -> Vector:
        self._z, self._heard = {}, {}
        return super().forget()

    def recall(self, last: Known) -> Vector:
        """A letter holds no model; the splitting converges from anywhere."""
        return np.zeros_like(self._dual)

    def absorb(self, t: int, model: Vector, sent: Parts | None, known: Sequence[Known]) -> None:
        for value in known:
            if value.round > self._heard.get(value.peer, 0):
                self._heard[value.peer] = value.round
                self._z[value.peer] = (self._z.get(value.peer, 0.0) + value.parts[0]) / 2
        # What λ_i is at a fixed point, where z_ij + z_ji = 2r x: the sum over all agents is 0 there.
        self._dual = self._eta * self._degree * model + self.linear(model, self._eta) / 2
