"""Who saw what: the coefficients of every message in the agents' first models, from the events alone.

A subscriber for logs of methods whose messages are linear in models that got their noise once. It retraces what each
agent mixed in each round, keeps the rows that each agent saw, and says what ε that is
(`simnet.privacy.observers`). A receiver saw a message that it took in, and one that came damaged or late, was refused
or found its inbox full as well; what was lost on the way, it did not. A message that travels in several packets may
lose one and show the others, and one packet shows some coordinates, so it counts as seen whatever became of it. Who
shares a radio channel hears what is meant for others, and hosts of an underlay may forward it: there every agent
counts as one that saw everything.

Rows are whole numbers over a power of `base`, which all mixing weights divide.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.allowance import Allowance
from simnet.privacy.mechanisms import primal_shift
from simnet.privacy.observers import InitialNoise, Row, epsilon_of_shift, exposures
from simnet.record import events

Coefficients = npt.NDArray[np.object_]

Scaled = tuple[Coefficients, int]
"""A row, and the power of the base by which it is to be divided."""

Exposed = Callable[[Sequence[Row], InitialNoise, Sequence[int]], dict[int, Fraction]]
"""From what is seen, the noise and the observers: μ² of each agent for a model that moves by at most 1."""

EAVESDROPPER = "eavesdropper"
AGENT = "agent"


class Observed:
    """A subscriber that retraces a linear method; the log of a stranger gets an allowance."""

    def __init__(self, allowance: Allowance | None = None) -> None:
        self.kinds = frozenset(_HANDLERS)
        self._allowance = allowance
        self.linear = False
        """Whether the method says that it is one; no other can be retraced."""

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None and (self.linear or type(event) is events.RunStarted):
            handler(self, event)

    def _start(self, event: events.RunStarted) -> None:
        self.linear = event.linear_gaussian
        if not self.linear:
            return
        method = event.scenario["algorithm"]
        self._agents = agents = len(event.rows)
        self._neighbours: list[list[int]] = [[] for _ in range(agents)]
        for a, b in event.edges:
            self._neighbours[a].append(b)
            self._neighbours[b].append(a)
        self._pairs = list(event.edges)
        self._sums = method["averaging"] == "push-sum"
        self._relayed = method["averaging"] == "relayed"
        degrees = [len(each) for each in self._neighbours]
        self._base = math.lcm(*(degree + 1 for degree in degrees)) if self._sums else 1 + max(degrees)
        network = event.scenario.get("network", {})
        self._overhear = "channel" in network or "underlay" in network
        self._in_parts = network.get("transport", {}).get("kind") == "reliable" or _has_mtu(network)
        self._pair_sigma, self._relay_sigma = method["pair_sigma"], method.get("relay_sigma") or 0.0
        self._delta: float = event.scenario["privacy"]["delta"]
        self._in_step = event.in_step
        width = agents * (1 + (event.scenario["rounds"] if self._relayed else 0))
        if self._allowance is not None:
            self._allowance.need(8.0 * agents * width, "what each agent saw")
        self._value: list[Scaled] = [(_unit(width, agent), 0) for agent in range(agents)]
        self._told: list[dict[int, Scaled]] = [{} for _ in range(agents)]
        """each agent's messages, by their rounds"""
        self._arrived: dict[tuple[int, int], list[int]] = {}
        self._used: dict[tuple[int, int], int] = {}
        self._news: list[list[int]] = [[] for _ in range(agents)]
        self._flying: dict[int, tuple[int, int, int]] = {}
        self._saw: list[set[tuple[int, int]]] = [set() for _ in range(agents)]
        self._shift: dict[int, float] = {}
        self._sigma: dict[int, float] = {}

    def _spent(self, event: events.PrivacySpent) -> None:
        if event.mechanism == "primal-gaussian":
            self._shift[event.agent] = primal_shift(event.parameters)
            self._sigma[event.agent] = event.parameters["sigma"]

    def _released(self, event: events.ReleaseMade) -> None:
        """The message of a round: the value, or the running sum of its shares."""
        agent, t = event.agent, event.round
        row, power = self._value[agent]
        if self._sums:
            share = (row * (self._base // (len(self._neighbours[agent]) + 1)), power + 1)
            self._value[agent] = share
            before = self._told[agent]
            self._told[agent][t] = self._total(
                [(1, share), *((1, before[last]) for last in (max(before, default=0),) if last)]
            )
            return
        if self._relayed:
            row = row.copy()
            row[self._agents * t + agent] += self._base**power
        self._told[agent][t] = (row, power)

    def _total(self, terms: Sequence[tuple[int, Scaled]]) -> Scaled:
        """A sum of rows, each times a whole number."""
        power = max(power for _, (_, power) in terms)
        return sum(each * self._base ** (power - its) * row for each, (row, its) in terms), power

    def _sent(self, event: events.MessageSent) -> None:
        if event.carries == "value":
            self._flying[event.message] = (event.agent, event.peer, event.round)

    def _delivered(self, event: events.MessageDelivered) -> None:
        if self._seen(event.message):
            self._arrived.setdefault((event.agent, event.peer), []).append(event.round)

    def _seen(self, message: int) -> bool:
        """The receiver saw a message with a value."""
        if message not in self._flying:
            return False
        sender, receiver, round = self._flying.pop(message)
        self._saw[receiver].add((sender, round))
        return True

    def _lost(self, event: events.MessageLost) -> None:
        if event.reason is not None:  # some of it had left
            self._seen(event.message)
        else:
            self._vanished(event.message)

    def _vanished(self, message: int) -> None:
        """A message did not come; what came of it, if it travelled in several packets, was seen."""
        if self._in_parts:
            self._seen(message)
        else:
            self._flying.pop(message, None)

    def _overflowed(self, event: events.MessageOverflowed) -> None:
        # The queue may have been the sender's; which one it was is not told, so it counts as seen.
        self._seen(event.message)

    def _unreachable(self, event: events.MessageUnreachable) -> None:
        self._vanished(event.message)

    def _use(self, event: events.ValueUsed) -> None:
        """Whoever was heard of anew is mixed in at the end of the round."""
        link = (event.agent, event.peer)
        arrived = [each for each in self._arrived.get(link, ()) if not self._in_step or each <= event.round]
        newest = max(arrived, default=0)
        if newest > self._used.get(link, 0):
            self._news[event.agent].append(event.peer)

    def _updated(self, event: events.DualUpdated) -> None:
        agent, t = event.agent, event.round
        heard = []
        for peer in self._news[agent]:
            link = (agent, peer)
            newest = max(each for each in self._arrived[link] if not self._in_step or each <= t)
            heard.append((peer, self._used.get(link, 0), newest))
            self._used[link] = newest
        self._news[agent] = []
        mine = self._value[agent]
        if self._sums:
            told = [(1, self._told[peer][newest]) for peer, _, newest in heard]
            taken = [(-1, self._told[peer][before]) for peer, before, _ in heard if before]
            self._value[agent] = self._total([(1, mine), *told, *taken])
        elif heard:
            told = [(1, self._told[peer][newest]) for peer, _, newest in heard]
            row, power = self._total([(self._base - len(heard), mine), *told])
            self._value[agent] = (row, power + 1)

    @property
    def noise(self) -> InitialNoise:
        """The noise on all models and messages, as it was charged."""
        return InitialNoise(
            tuple(Fraction(self._sigma[agent]) ** 2 for agent in range(self._agents)),
            Fraction(self._pair_sigma) ** 2,
            tuple(self._pairs),
            Fraction(self._relay_sigma) ** 2,
        )

    def rounds_told(self, agent: int) -> list[int]:
        """The rounds in which an agent released something, in their order."""
        return sorted(self._told[agent])

    def messages_seen(self, observers: Sequence[int]) -> list[tuple[int, int]]:
        """What a coalition saw, as pairs of sender and round; without members, what crossed any link.

        What was still on its way counts.
        """
        on_the_way = {(sender, round) for sender, receiver, round in self._flying.values() if receiver in observers}
        seen = on_the_way.union(*(self._saw[agent] for agent in observers))
        if not observers or self._overhear:
            seen = {(sender, round) for sender, told in enumerate(self._told) for round in told}
        return sorted(seen)

    def coefficients(self, sender: int, round: int) -> list[Fraction]:
        """Of one message: in all first models, then in the noises of all agents' messages, round by round."""
        row, power = self._told[sender][round]
        return [Fraction(int(value), self._base**power) for value in row]

    def shifts(self, observers: Sequence[int], exposed: Exposed = exposures) -> dict[int, float]:
        """μ of each agent outside a coalition: what the coalition saw is no better than N(0, 1) against N(μ, 1)."""
        own = self.own_relays(observers)
        rows = [_without(self._told[sender][round][0], own).tolist() for sender, round in self.messages_seen(observers)]
        found = exposed(rows, self.noise, observers)
        return {agent: self._shift[agent] * math.sqrt(each) for agent, each in found.items()}

    def epsilons(self, observers: Sequence[int]) -> dict[int, float]:
        """ε of each agent outside a coalition against it."""
        return {agent: epsilon_of_shift(mu, self._delta) for agent, mu in self.shifts(observers).items()}

    def own_relays(self, observers: Sequence[int]) -> list[int]:
        """The columns of noise that a coalition put on its own messages."""
        return [self._agents * (t + 1) + agent for agent in observers for t in range(self._width_rounds)]

    @property
    def _width_rounds(self) -> int:
        return len(self._value[0][0]) // self._agents - 1

    def distances(self, origin: int) -> dict[int, int]:
        """Links between an agent and each other one that it can reach."""
        found, todo = {origin: 0}, deque([origin])
        while todo:
            here = todo.popleft()
            for peer in self._neighbours[here]:
                if peer not in found:
                    found[peer] = found[here] + 1
                    todo.append(peer)
        return found

    def summary(self, wanted: Sequence[str | Sequence[int]], eavesdropper: float | None) -> dict[str, Any]:
        """The largest ε against each observer that somebody asked for; of single agents also by distance.

        Where a method cannot be retraced, or adds no noise, all that is said is what holds against an eavesdropper.
        """
        found: dict[str, Any] = {}
        for observer in wanted:
            name = observer if isinstance(observer, str) else "+".join(map(str, observer))
            if not self.linear or len(self._sigma) < self._agents:
                found[name] = eavesdropper
                continue
            if observer == EAVESDROPPER:
                found[EAVESDROPPER] = max(self.epsilons(()).values())
            elif observer == AGENT:
                by_distance = self.by_distance()
                found[AGENT] = max(max(values) for values in by_distance.values())
                found["agent_by_distance"] = {str(d): max(values) for d, values in sorted(by_distance.items())}
            else:
                found[name] = max(self.epsilons([int(agent) for agent in observer]).values(), default=0.0)
        return found

    def by_distance(self) -> Mapping[int, list[float]]:
        """ε of each agent against each other single one, by the number of links between them."""
        found: dict[int, list[float]] = {}
        for observer in range(self._agents):
            distances = self.distances(observer)
            for agent, epsilon in self.epsilons([observer]).items():
                if agent in distances:
                    found.setdefault(distances[agent], []).append(epsilon)
        return found


def _has_mtu(table: Any) -> bool:
    """Whether some link, line or exception of [network] cuts messages into packets."""
    if isinstance(table, Mapping):
        return "mtu" in table or any(_has_mtu(each) for each in table.values())
    return isinstance(table, Sequence) and not isinstance(table, str) and any(_has_mtu(each) for each in table)


def _unit(width: int, place: int) -> Coefficients:
    row = np.zeros(width, dtype=object)
    row[place] = 1
    return row


def _without(row: Coefficients, places: Sequence[int]) -> Coefficients:
    """The row without noise that the observers drew themselves."""
    if not places:
        return row
    rest = row.copy()
    rest[list(places)] = 0
    return rest


_HANDLERS: dict[type[events.Event], Any] = {
    events.RunStarted: Observed._start,
    events.PrivacySpent: Observed._spent,
    events.ReleaseMade: Observed._released,
    events.MessageSent: Observed._sent,
    events.MessageDelivered: Observed._delivered,
    events.MessageLost: Observed._lost,
    events.MessageOverflowed: Observed._overflowed,
    events.MessageUnreachable: Observed._unreachable,
    events.ValueUsed: Observed._use,
    events.DualUpdated: Observed._updated,
}
