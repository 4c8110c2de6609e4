"""Can a neighbour break it? Messages with values that are no numbers, endless, huge, or as long as a peer lets in.

What a peer `accepts` it is handed, as an agent's port would. It must go on, with numbers. And its noise must survive:
beside a neighbour's 1e150 a noise of 0.1 is lost to rounding, and what is released is the same whatever was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from simnet.build import World, build
from simnet.check.onlookers import Onlooker
from simnet.check.outcome import Failing
from simnet.check.repetition import noisy_releases
from simnet.check.subject import Subject, played
from simnet.methods.peer import Known, Peer
from simnet.record.lines import unpack
from simnet.simulate import Result, peers_of
from simnet.vectors import Parts

ENEMY = 1
"""The agent whose messages are replaced."""
HUGE = 1e200
LONG = 1e6
"""How long a value is that a peer without noise is handed: it has nothing to protect, and its solver has limits."""
RESOLUTION = 2.0**10
"""How many different values the noise on an entry must be able to take, at least."""
WEAPONS = ("not a number", "infinite", "huge", "as long as it lets in")


class Besieged(Onlooker):
    """Is handed hostile values in place of those of one neighbour, as far as the peer accepts them."""

    def __init__(self, peer: Peer, longest: float) -> None:
        super().__init__(peer)
        self._longest = longest
        self.let_in: list[str] = []

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        given = self._poisoned(t, known)
        self.peer.absorb(t, sent, given)
        self._look(t)

    def gather(self, known: Sequence[Known]) -> None:
        cast(Any, self.peer).gather(self._poisoned(max((each.round for each in known), default=0), known))

    def _poisoned(self, t: int, known: Sequence[Known]) -> list[Known]:
        return [self._hostile(t, value) if value.peer == ENEMY and value.round else value for value in known]

    def _hostile(self, t: int, value: Known) -> Known:
        weapon = WEAPONS[t % len(WEAPONS)]
        parts = tuple(self._vector(weapon, place, part) for place, part in enumerate(value.parts))
        if not self.peer.accepts(value.round, parts):
            return value
        self.let_in.append(weapon)
        return Known(value.peer, value.round, parts)

    def _vector(self, weapon: str, place: int, part: Any) -> Any:
        limit = self.peer.limits[place] if place < len(self.peer.limits) else 0.0
        longest = 0.99 * min(limit, self._longest) / math.sqrt(max(1, len(part)))
        amounts = dict(zip(WEAPONS, (np.nan, np.inf, HUGE, longest), strict=True))
        return np.full(len(part), amounts[weapon])

    def _look(self, t: int) -> None:
        if not np.isfinite(self.peer.theta).all():
            raise Failing(
                f"a neighbour's value that is {self.let_in[-1]} makes the model of round {t} infinite; let `accepts` "
                "refuse it, or set `limits`"
            )


def hostile(subject: Subject) -> str:
    """A run with an enemy among the neighbours, twice where there is noise: with another noise all else is the same."""
    result, let_in = _besieged(subject.world)
    told = f"it lets in {len(let_in)} of {len(WEAPONS)} kinds of hostile values, and goes on"
    if not subject.noisy:
        return told
    other, _ = _besieged(build(subject.scenario.with_(**{"privacy.noise_name": "another"})))
    changed = noisy_releases(other)
    for (agent, t), value in noisy_releases(result).items():
        if (agent, t) in changed and agent != ENEMY:
            one, two = unpack(value), unpack(changed[agent, t])
            if np.abs(one - two).max() < RESOLUTION * np.spacing(np.abs(one).max()):
                raise Failing(
                    f"after a neighbour's value of norm {np.linalg.norm(one):.0e} agent {agent} releases the same in "
                    f"round {t} whatever its noise is: rounding swallows it; set `limits` (a PrivatePeer does)"
                )
    return f"{told}; the noise survives"


def _besieged(world: World) -> tuple[Result, set[str]]:
    """A run under siege, and the weapons that were let in."""
    longest = math.inf if world.calibration.noisy else LONG
    peers = [Besieged(peer, longest) for peer in peers_of(world)]
    result = played(world, cast(Any, peers))
    return result, {weapon for peer in peers for weapon in peer.let_in}
