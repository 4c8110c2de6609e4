"""CHOCO-SGD with whole gradients, without privacy: Koloskova, Stich and Jaggi, "Decentralized stochastic optimization
and gossip algorithms with compressed communication" (ICML 2019), Algorithm 2.

    x_i ← x_i − α ∇f_i(x_i)
    q_i ← the k largest entries of x_i − x̂_i, sent to all neighbours;   x̂_j ← x̂_j + q_j for all who heard q_j
    x_i ← x_i + γ Σ_j w_ij (x̂_j − x̂_i)

Everybody keeps a copy x̂_j of each neighbour that all of its neighbours have in common. Since q is a difference, a
message that is lost makes the copies differ for good: this method is for links that lose nothing.
"""

import numpy as np

from simnet.extend import Count, Field, Method, NonNegative, Peer, Positive, PositiveShare, Proposal, Told


class Choco(Method):
    """CHOCO-SGD: gossip of the largest changes only, without privacy."""

    survives_loss = False  # messages are differences

    step: Positive = Field(4.0, description="α, the step size")
    consensus_step: PositiveShare = Field(0.3, description="γ, how far agents go towards each other")
    entries: Count = Field(10, description="k, how many entries a message holds")
    regulariser: NonNegative = Field(1e-4, description="weight of ½|θ|² in one agent's objective")

    def message_lengths(self, features):
        return (min(self.entries, features),) * 2

    def peer(self, plan, objective, place, streams):
        return ChocoPeer(self, objective, place.weights)


class ChocoPeer(Peer):
    """One agent: its model, its own copy, and its neighbours' copies."""

    def __init__(self, method, objective, weights):
        super().__init__(objective.start)
        self.method, self.objective, self.weights = method, objective, weights
        self.copy, self.copies = self.theta, dict.fromkeys(weights, self.theta)
        self.heard = dict.fromkeys(weights, 0)

    def initial(self):
        return (np.zeros(0), np.zeros(0))

    def accepts(self, round, parts):
        """Numbers, and places that the model has: a neighbour may send anything."""
        return super().accepts(round, parts) and bool(np.isin(parts[1], np.arange(len(self.theta))).all())

    def stepped(self):
        return self.theta - self.method.step * self.objective.gradient(self.theta)

    def propose(self, t):
        change = self.stepped() - self.copy
        largest = np.sort(np.argsort(-np.abs(change), kind="stable")[: self.method.entries])
        return Proposal((change[largest], largest.astype(float)), gradients=1)

    def absorb(self, t, sent, known):
        model = self.stepped()
        if sent is not None:
            self.copy = self.changed(self.copy, sent)
        for value in known:
            for news in value.unread(self.heard[value.peer]):
                self.copies[value.peer] = self.changed(self.copies[value.peer], news.parts)
            self.heard[value.peer] = value.round
        apart = sum(self.weights[peer] * (copy - self.copy) for peer, copy in self.copies.items())
        self.theta = model + self.method.consensus_step * apart

    def own_model(self, t, sent, known):
        """What its neighbours take for its model, as an output may use it."""
        return Told(t, self.copy)

    def model_heard(self, value):
        return self.copies[value.peer]

    def changed(self, copy, message):
        found = copy.copy()
        found[message[1].astype(int)] += message[0]
        return found
