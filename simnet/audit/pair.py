"""Two worlds that differ in one row, and who lives in them: honest agents, a liar, an adversary, and shadows.

Shadows are what the eavesdropper has instead of agents: they do what the method prescribes, with the data of one
hypothesis, and never see a noise draw of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from simnet.audit.canary import holder, neighbours
from simnet.audit.lies import lying_flips, lying_peer, lying_plans
from simnet.audit.row_paths import Way, ways
from simnet.audit.section import Audit
from simnet.build import World, build
from simnet.learning.dataset import Matrix
from simnet.methods.method import Calibration
from simnet.methods.peer import Peer
from simnet.scenario import Scenario
from simnet.streams import Streams


@dataclass(frozen=True)
class Pair:
    """The two worlds, honest ones: the lie is told by the peers that `peers` makes.

    `ways` are how the row may have come to its `holder` in either world; `public` are the features that are nobody's.
    """

    plan: Audit
    worlds: tuple[World, World]
    ways: tuple[tuple[Way, ...], tuple[Way, ...]]
    public: Matrix | None

    @property
    def holder(self) -> int:
        """Who computes with the row: the victim, or the hub that it trusts."""
        return holder(self.worlds[0], self.plan)

    @property
    def adversary(self) -> int | None:
        """The victim's neighbour that drives it, if one does."""
        if self.plan.canary != "adversarial":
            return None
        return int(min(self.worlds[0].graph[self.plan.victim]))

    def way(self, side: int, noise_seed: int) -> Way:
        """The way that one run of one world takes."""
        every = self.ways[side]
        flipped = lying_flips(1.0 - every[0].probability, self.worlds[side].scenario, self.plan.lie)
        draw = Streams(noise_seed).generator("labels", self.plan.victim).random()
        return every[-1] if draw < flipped else every[0]

    def peers(self, side: int, noise_seed: int) -> list[Peer]:
        """All agents of one world, their privacy noise drawn from streams of their own seed."""
        world, plan = self.worlds[side], self.plan
        calibration = lying_plans(world.calibration, self.holder, plan.lie)
        made = self._made(world, calibration, self.way(side, noise_seed), noise_seed)
        made[self.holder] = lying_peer(made[self.holder], plan.lie)
        return self._driven(world, made)

    def shadows(self, side: int, way: int = 0) -> list[Peer]:
        """Honest agents of one world, for an eavesdropper that wants to retrace their steps."""
        world = self.worlds[side]
        made = self._made(world, world.calibration, self.ways[side][way], world.scenario.seed)
        return self._driven(world, made)

    def _made(self, world: World, calibration: Calibration, way: Way, seed: int) -> list[Peer]:
        method, rounds = world.scenario.algorithm, world.scenario.rounds
        return method.peers(calibration, way.training, world.sizes, rounds, Streams(seed), self.public)

    def _driven(self, world: World, made: list[Peer]) -> list[Peer]:
        """The same agents, with the adversary in its place."""
        if self.adversary is not None:
            victim, method = self.plan.victim, world.scenario.algorithm
            honest, degree = made[self.adversary], world.sizes[victim].degree
            made[self.adversary] = method.driver(honest, victim, degree, self.plan.drive)
        return made


def pair(scenario: Scenario, plan: Audit) -> Pair:
    """Build both worlds."""
    world = build(scenario)
    first, second = neighbours(world, plan)
    return Pair(plan, (first, second), (ways(first, plan), ways(second, plan)), world.learning.public)
