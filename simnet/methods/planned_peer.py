"""A peer whose noise comes from a ready plan: what the rest of simnet asks about noise is answered here.

A method's own peer adds `propose`, `absorb` and, for audits, `noise_of`:

    released = self.plan.perturb(t, clean, self.rng)
    return Proposal((released,), 1, 0.0, self.charges(t))
"""

from __future__ import annotations

import numpy as np

from simnet.methods.method import AgentPlace
from simnet.methods.peer import Peer
from simnet.privacy.budget import NoisePlan
from simnet.privacy.ledger import Charge
from simnet.privacy.ready_plans import ReadyPlan
from simnet.privacy.sparse_vector import SparseVector
from simnet.streams import Streams


class PlannedPeer(Peer):
    """Keeps the plan, its noise, its test if it has one, and the limits of what neighbours may send."""

    def __init__(self, features: int, plan: NoisePlan | None, place: AgentPlace, streams: Streams) -> None:
        super().__init__(features)
        assert isinstance(plan, ReadyPlan), "a ready plan is what its method made"
        self.plan = plan
        self.rng = streams.generator("noise", place.agent)
        self.limits = (plan.limit,) * len(self.limits)
        self.test = None if plan.gate is None else plan.gate.begin(streams.generator("svt", place.agent))
        """Whether a round may release something; its answer goes into the proposal."""
        self._unpaid = plan.opening

    def charges(self, t: int, *, released: bool = True) -> tuple[Charge, ...]:
        """What round t costs: what is paid in advance and was not yet, and its release if there is one."""
        return (*self._unpaid, self.plan.charge(t)) if released else self._unpaid

    def settled(self, *, accepted: bool) -> None:
        """A test that was never paid for is never asked again."""
        if not accepted and self.test is not None:
            self.test.positives = self.test.cap
        self._unpaid = ()

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    @property
    def sparse_vector(self) -> SparseVector | None:
        return self.test

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.plan.charge(t),)
