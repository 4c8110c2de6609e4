"""Gradient descent with gossip averaging under differential privacy: DP-SGD (Abadi et al., CCS 2016) with all rows in
every step, on a network (Bellet et al., AISTATS 2018).

    θ_i ← θ_i − α (g_i + n_i)          g_i the mean of the rows' gradients, each shortened to norm c;  n_i ~ N(0, σ² I)
    θ_i ← Σ_j w_ij θ_j                 over what is known of the neighbours

One row moves g_i by at most 2c/m, so σ follows from ε, δ and the number of rounds alone, whatever is learned.
"""

from simnet.extend import Field, Method, NonNegative, Positive, PrivatePeer, Proposal, gaussian_plan, mean_sensitivity


class DpGossip(Method):
    """Private gradient descent with gossip averaging: noise on clipped gradients, models averaged by neighbours."""

    noise_amounts = ("sigma",)

    step: Positive = Field(2.0, description="α, the step size")
    clip: Positive = Field(1.0, description="c, the norm to which a row's gradient is shortened")
    regulariser: NonNegative = Field(1e-4, description="weight of ½|θ|² in one agent's objective")
    sigma: Positive | None = Field(None, description="σ of the noise; ε is then what it comes to; default: from ε")

    def plan(self, privacy, size, rounds):
        return gaussian_plan(privacy, rounds, mean_sensitivity(size.rows, self.clip), sigma=self.sigma)

    def peer(self, plan, objective, place, streams):
        rng = streams.generator("noise", place.agent)
        return DpGossipPeer(self, plan, objective, place.weights, rng)


class DpGossipPeer(PrivatePeer):
    """One agent of it."""

    def __init__(self, method, plan, objective, weights, rng):
        super().__init__(objective.start, plan, rng)
        self.method, self.objective, self.weights = method, objective, weights

    def gradient(self):
        """What the rows give, and nothing else: the regulariser's part is public."""
        return self.objective.clipped_gradient(self.theta, self.method.clip)

    def step(self, noisy):
        return self.theta - self.method.step * (noisy + self.method.regulariser * self.theta)

    def propose(self, t):
        noisy = self.plan.perturb(t, self.gradient(), self.rng)
        return Proposal((self.step(noisy),), gradients=1, charges=(self.plan.charge(t),))

    def absorb(self, t, sent, known):
        own = self.theta if sent is None else sent[0]
        self.theta = own + sum(self.weights[value.peer] * (value.parts[0] - own) for value in known)

    def noise_of(self, t, released, known):
        """For an auditor: the noise that must have made a release, if the rows are those of this peer."""
        noisy = (self.step(0.0) - released) / self.method.step
        return self.plan.noise_in(t, self.gradient(), noisy)
