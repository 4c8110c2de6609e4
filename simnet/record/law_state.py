"""Where every agent and link of a run stands, event by event: what its laws are checked against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simnet.record.events import RunStarted
from simnet.record.thinning import Thinning

_ALIGNED = ("ideal", "barrier")


@dataclass(slots=True)
class Agent:
    """Where an agent stands: what it did so far, the round it is in (0 between rounds), what it did in that round."""

    finished: int = 0
    releases: int = 0
    answers: int = 0
    advance: dict[str, int] = field(default_factory=dict)

    round: int = 0
    paid: int = 0
    tested: bool | None = None
    released: bool = False
    broadcasts: int = 0
    skips: int = 0
    sent: int = 0
    used: int = 0

    def enter(self, round: int) -> None:
        """A round begins: nothing was done in it yet."""
        self.round = round
        self.paid = self.broadcasts = self.skips = self.sent = self.used = 0
        self.tested, self.released = None, False


@dataclass(slots=True)
class Link:
    """One direction of a link: the round of the value in force at its receiver, and of those not looked at yet."""

    newest: int = 0
    ahead: tuple[int, ...] = ()
    sent_in: int = 0
    used_in: int = 0


class Standing:
    """What the fields of law share: the agents, and the links by (receiver, sender)."""

    def __init__(self, start: RunStarted, complain: Callable[[str], None]) -> None:
        self.complain = complain
        self.agents = {agent: Agent() for agent in range(len(start.rows))}
        ends = [end for a, b in start.edges for end in ((a, b), (b, a))]
        self.links = {end: Link() for end in ends}
        self.degrees = dict.fromkeys(self.agents, 0)
        for receiver, sender in self.links:
            if receiver == sender or receiver not in self.agents:
                complain(f"the link {receiver}-{sender} does not join two agents of the run")
            else:
                self.degrees[receiver] += 1
        if len(self.links) < len(ends):
            complain("a link is listed twice")
        self.thinning = Thinning.of(start.scenario)
        self.aligned = _found(start.scenario, "network", "pacing", "kind") in _ALIGNED
        self.one_way = _found(start.scenario, "algorithm", "hub") == "trusted"
        """A trusted hub has all the rows: its leaves only listen, and it uses no values of theirs."""

    def is_told(self, agent: int) -> bool:
        """Whether the log holds what happened at an agent."""
        return self.thinning is None or self.thinning.sample is None or self.thinning.sample[agent]


def _found(scenario: dict[str, Any], *path: str) -> Any:
    found: Any = scenario
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def who(event: Any) -> str:
    """The subject of a sentence about an event."""
    return f"agent {event.agent} in round {event.round}"
