"""What the page plays back: the flights of messages and the turns of agents, in columns of bytes.

A flight is a message from its sending to its fate. A turn is one round of one agent: what it did, and how stale the
values were that it used. When there are too many for a page, both are sampled by a hash of the message's or the agent's
number. So an agent that is shown is shown in every round, and the same log always gives the same playback.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from simnet.record import events

FLIGHTS = 80_000
"""Enough for 50 agents that all talk to each other for 30 rounds; 2.2 MB on the page."""
FLIGHTS_PER_ROUND = 2_500
"""About as many as a browser moves smoothly at once."""
TURNS = 40_000

_CODES: dict[type[events.Event], int] = {kind: code for code, kind in enumerate(events.FATES, start=1)}
_UNDER_WAY = 0
_FLIGHT = {"sent": "<f8", "lasts": "<f4", "from": "<u4", "to": "<u4", "fate": "u1"}
_TURN = {
    "agent": "<u4",
    "round": "<u4",
    "began": "<f8",
    "acted": "<f8",
    "ended": "<f8",
    "act": "u1",
    "staleness": "<f4",
}
"""The columns of flights and turns, and the numbers they hold."""
_SILENT, _BROADCAST, _SKIP = 0, 1, 2


class HashedSample:
    """Keeps numbers with a share that halves whenever more than `limit` things are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._below = 1 << 32

    @property
    def share(self) -> float:
        return self._below / (1 << 32)

    def keeps(self, number: int) -> bool:
        # Knuth's multiplicative hash: neighbours in number land far apart.
        return (number * 2654435761) % (1 << 32) < self._below

    def narrow(self, kept: int) -> bool:
        """Whether the share had to be halved."""
        if kept <= self._limit or self._below == 1:
            return False
        self._below //= 2
        return True


class Playback:
    """A subscriber that keeps what is needed to play a run back."""

    def __init__(self, flights: int = FLIGHTS, turns: int = TURNS, per_round: int = FLIGHTS_PER_ROUND) -> None:
        self._limit, self._per_round = flights, per_round
        self._messages, self._actors = HashedSample(flights), HashedSample(turns)
        self._flights: dict[int, list[Any]] = {}
        self._turns: list[list[Any]] = []
        self._open: dict[int, list[Any]] = {}
        self._stale: dict[int, list[int]] = {}
        self._faults: list[dict[str, Any]] = []
        self._end = 0.0

    def __call__(self, _seq: int, t: float, event: events.Event) -> None:
        self._end = t
        if isinstance(event, events.MessageSent):
            self._sent(t, event)
        elif isinstance(event, events.OfMessage):
            flight = self._flights.get(event.message)
            if flight is not None and type(event) in _CODES:
                flight[1], flight[2] = t, _CODES[type(event)]
        elif isinstance(event, events.RunStarted):
            self._messages = HashedSample(min(self._limit, self._per_round * event.scenario["rounds"]))
        elif isinstance(event, (events.FaultBegan, events.FaultEnded)):
            self._fault(t, event)
        else:
            self._act(t, event)

    def _sent(self, t: float, event: events.MessageSent) -> None:
        if not self._messages.keeps(event.message):
            return
        notice = event.carries == "notice"
        self._flights[event.message] = [t, t, _UNDER_WAY, event.agent, event.peer, event.round, notice]
        if self._messages.narrow(len(self._flights)):
            self._flights = {number: flight for number, flight in self._flights.items() if self._messages.keeps(number)}

    def _act(self, t: float, event: Any) -> None:
        kind = type(event)
        if kind is events.RoundStarted:
            if self._actors.keeps(event.agent):
                self._open[event.agent] = [event.agent, event.round, t, t, t, _SILENT, 0.0]
                self._stale[event.agent] = []
        elif kind is events.ValueUsed and event.agent in self._stale:
            self._stale[event.agent].append(event.staleness)
        elif kind in (events.BroadcastSent, events.BroadcastSkipped) and event.agent in self._open:
            turn = self._open[event.agent]
            turn[3], turn[5] = t, _BROADCAST if kind is events.BroadcastSent else _SKIP
        elif kind is events.DualUpdated and event.agent in self._open:
            self._close(t, event.agent)

    def _close(self, t: float, agent: int) -> None:
        turn, stale = self._open.pop(agent), self._stale.pop(agent)
        turn[4], turn[6] = t, sum(stale) / len(stale) if stale else 0.0
        if self._actors.keeps(agent):
            self._turns.append(turn)
        if self._actors.narrow(len(self._turns)):
            self._turns = [each for each in self._turns if self._actors.keeps(each[0])]

    def _fault(self, t: float, event: events.FaultBegan | events.FaultEnded) -> None:
        place = {"fault": event.fault, "agent": event.agent, "peer": event.peer, "agents": event.agents}
        if isinstance(event, events.FaultBegan):
            self._faults.append(place | {"began": t, "ended": None})
            return
        for known in self._faults:
            if known == place | {"began": known["began"], "ended": None}:
                known["ended"] = t
                return

    def columns(self) -> dict[str, Any]:
        """What the page carries; a run without simulated time is stretched to one second per round."""
        timeless = self._end == 0.0
        flights, turns = list(self._flights.values()), self._turns
        if timeless:
            flights = [[r - 0.7, r - 0.2, fate, a, b, r, notice] for _, _, fate, a, b, r, notice in flights]
            turns = [[agent, r, r - 1.0, r - 0.7, r, act, stale] for agent, r, _, _, _, act, stale in turns]
        end = float(max((turn[4] for turn in turns), default=0.0)) if timeless else self._end
        # A flight that met no fate lasts to the end. The lowest bit of `fate` tells a notice from a value.
        shown = [
            (sent, (met if fate else end) - sent, a, b, 2 * fate + notice)
            for sent, met, fate, a, b, _, notice in flights
        ]
        return {
            "end": end,
            "timeless": timeless,
            "flights": {"count": len(flights), "share": self._messages.share} | _packed(shown, _FLIGHT),
            "turns": {"count": len(turns), "share": self._actors.share} | _packed(turns, _TURN),
            "faults": self._faults,
        }


def _packed(rows: Sequence[Sequence[float]], kinds: dict[str, str]) -> dict[str, str]:
    """Rows as columns of numbers, each column as base64."""
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return {
        name: base64.b64encode(np.array(column, dtype=kind).tobytes()).decode()
        for (name, kind), column in zip(kinds.items(), columns, strict=True)
    }
