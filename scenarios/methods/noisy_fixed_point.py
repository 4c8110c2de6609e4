"""Private ADMM as a noisy fixed-point iteration: Cyffers, Bellet and Basu, ICML 2023 (arXiv 2302.12559), the federated
algorithm with all users in every round.

    z   = mean of all u_j
    x_i = argmin f_i(x) + |x − (2z − u_i)|²/(2γ)
    u_i ← u_i + 2λ (x_i − z + n_i/2),  n_i ~ N(0, 4σ² I)

Every agent tells its u_i and takes their server's mean itself. On a complete graph that is their algorithm; elsewhere
the mean is over neighbours, which is not.

All u and z are public, so a round releases x_i + N(0, σ² I) and nothing else. x_i minimises a (1/γ)-strongly convex
function, up to a gradient of norm β: one row moves it by at most γ (2c/m + 2β).
"""

import numpy as np

from simnet.extend import OUTSIDE, AdmmPeer, Field, Method, Positive, Proposal, Told, gaussian_plan, mean_sensitivity


class NoisyFixedPoint(Method):
    """ADMM as a noisy fixed-point iteration: noise on an agent's exact step, the mean of all taken by everybody."""

    noise_amounts = ("sigma",)
    hides_models = property(lambda self: "a message holds u, and no model")

    gamma: Positive = Field(300.0, description="γ, how far a local minimiser may move; its curvature is 1/γ")
    relaxation: Positive = Field(0.5, le=1.0, description="λ, the share of a step that is taken")
    sigma: Positive | None = Field(None, description="σ of the noise on x; ε is then what it comes to; default: from ε")

    def tolerance(self, size):
        """Where a solve stops: β/2, a hundredth of 2c/m. The other half is for rounding."""
        return 0.01 * mean_sensitivity(size.rows, size.constants[0])

    def plan(self, privacy, size, rounds):
        moved = self.gamma * (mean_sensitivity(size.rows, size.constants[0]) + 4 * self.tolerance(size))
        return gaussian_plan(privacy, rounds, moved, sigma=self.sigma)

    def peer(self, plan, objective, place, streams):
        return NoisyFixedPointPeer(self, plan, objective, place, streams.generator("noise", place.agent))


class NoisyFixedPointPeer(AdmmPeer):
    """One agent of it; the local problem is that of ADMM with one neighbour and η = 1/(2γ)."""

    def __init__(self, method, plan, objective, place, rng):
        curvature = 1.0 / method.gamma
        stop, domain = method.tolerance(place.size), plan.limit * curvature
        super().__init__(objective, degree=1, eta=curvature / 2, tolerance=stop, domain=domain)
        self.curvature, self.relaxation, self.plan, self.rng = curvature, method.relaxation, plan, rng
        self.limits, self.u = (plan.limit,), self.theta

    def linear(self):
        """That of |x − (2z − u)|²/(2γ); θ is z."""
        return -self.curvature * (2 * self.theta - self.u)

    def moved(self, x):
        return self.u + 2 * self.relaxation * (x - self.theta)

    def propose(self, t):
        if self.outside(self.linear()):
            return OUTSIDE
        solution = yield from self.minimiser(self.linear())
        released = self.moved(self.plan.perturb(t, solution.theta, self.rng))
        return Proposal((released,), solution.gradients, solution.gradient_norm, (self.plan.charge(t),))

    def absorb(self, t, sent, known):
        self.u = self.u if sent is None else sent[0]
        self.theta = np.mean([self.u, *(value.parts[0] for value in known if value.round > 0)], axis=0)

    def own_model(self, t, sent, known):
        return None if sent is None else Told(t, self.theta)

    noise_source = property(lambda self: self.rng)

    def price(self, t):
        return (self.plan.charge(t),)

    def noise_of(self, t, released, known):
        return self.plan.noise_in(t, self.minimise().theta, self.theta + (released - self.u) / (2 * self.relaxation))
