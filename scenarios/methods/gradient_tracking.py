"""Gradient tracking, a baseline without privacy: Nedić, Olshevsky and Shi, "Achieving geometric convergence for
distributed optimization over time-varying graphs" (SIAM Journal on Optimization, 2017), algorithm DIGing.

    x_i ← Σ_j w_ij x_j − α y_i
    y_i ← Σ_j w_ij y_j + ∇f_i(x_i) − ∇f_i(x_i before)        y_i starts at ∇f_i(0)

w_ij = 1/(1 + max(V_i, V_j)) are Metropolis weights. The mean of the y_i stays the mean of the gradients as long as no
message is lost; a lost one leaves a gap for good, as it does in the paper.
"""

from simnet.extend import Field, Method, NonNegative, Peer, Positive, Proposal


class GradientTracking(Method):
    """Gradient tracking (DIGing), without privacy."""

    step: Positive = Field(2.0, description="α, the step size")
    regulariser: NonNegative = Field(1e-4, description="weight of ½|θ|² in one agent's objective")

    def message_lengths(self, features):
        return (features, features)

    def peer(self, plan, objective, place, streams):
        return TrackingPeer(self.step, objective, place.weights)


class TrackingPeer(Peer):
    """One agent: a model x, and y, which tracks the mean gradient of all agents."""

    def __init__(self, step, objective, weights):
        super().__init__(objective.start)
        self.objective, self.step, self.weights = objective, step, weights
        self.gradient = self.tracked = objective.gradient(self.theta)

    def initial(self):
        return (self.theta, 0 * self.theta)

    def propose(self, t):
        return Proposal((self.theta, self.tracked), gradients=1)

    def absorb(self, t, sent, known):
        x, y = self.mixed(known, 0, self.theta), self.mixed(known, 1, self.tracked)
        self.theta = x - self.step * self.tracked
        before, self.gradient = self.gradient, self.objective.gradient(self.theta)
        self.tracked = y + self.gradient - before

    def mixed(self, known, part, own):
        """Σ_j w_ij of what is known of the neighbours and of this agent's own."""
        return own + sum(self.weights[value.peer] * (value.parts[part] - own) for value in known)
