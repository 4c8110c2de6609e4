"""COCA, censored ADMM without privacy: Liu, Xu, Wu and Ling, "Communication-censored ADMM for decentralized consensus
optimization" (IEEE Transactions on Signal Processing, 2019).

Plain decentralised ADMM in which an agent speaks only when it has something to say: its new model is sent if it is at
least τ ρ^t away from the last one that was sent. Who hears nothing goes on with the last value, at both ends.
"""

import numpy as np

from simnet.extend import AdmmMethod, AdmmPeer, Field, Positive, PositiveShare, Proposal


class Coca(AdmmMethod):
    """COCA: decentralised ADMM that is silent while its model changes little, without privacy."""

    needs = frozenset({"solve"})
    private_silences = ("censored",)  # whether an agent is silent depends on its data
    control = "admm"  # what `simnet compare` stops at the same bytes and at the same time

    tolerance: Positive = Field(1e-6, description="gradient norm at which a local solve may stop")
    censoring: Positive = Field(2.0, description="τ, how far a model must move in the first round to be sent")
    decay: PositiveShare = Field(0.93, description="ρ, the factor by which that falls per round")

    def peer(self, plan, objective, place, streams):
        peer = CocaPeer(objective, eta=self.eta, degree=place.size.degree, tolerance=self.tolerance)
        peer.censoring, peer.decay = self.censoring, self.decay
        return peer


class CocaPeer(AdmmPeer):
    """One agent of COCA: an agent of ADMM with a reason to be silent."""

    def propose(self, t):
        solution = yield from self.minimiser(self.linear())
        moved = float(np.linalg.norm(solution.theta - self.theta))
        work = {"gradients": solution.gradients, "residual": solution.gradient_norm, "notes": {"moved": moved}}
        if moved < self.censoring * self.decay**t:
            return Proposal(None, skipped="censored", **work)
        return Proposal((solution.theta,), **work)
