"""How fast is the local solver? One run, side by side with scipy's L-BFGS-B, with Newton, and with bare products.

Five agents on a ring hold 7,000 rows of Adult each and run 30 rounds of ADMM. Every contender then replays the local
problems of one agent, each from its own model of the round before, to a gradient norm of at most 1e-6. All use one BLAS
thread, and times are CPU times: of each round the least of several replays, so that what else the machine does in a
moment spoils one round of one replay only. `products` is the time of the matrix products alone that our
solver asked for, `gradients` that of the gradients: the same products, and one exponential per row.

    python -m benchmarks.solver
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from benchmarks.report import publish
from simnet.learning.adult import adult
from simnet.learning.dataset import scale
from simnet.learning.objective import LOGISTIC, LocalObjective, Subproblem
from simnet.learning.solver import Solver
from simnet.streams import Streams
from simnet.vectors import Vector

AGENTS, ROWS, ROUNDS = 5, 7000, 30
REGULARISER, TOLERANCE = 1e-4, 1e-6
REPEATS = 15


@dataclass
class Replay:
    """What a contender did in each round: its model, the gradients and factorisations that it took, and CPU seconds."""

    thetas: list[Vector] = field(default_factory=list)
    gradients: list[int] = field(default_factory=list)
    factorisations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _began: float = field(default_factory=time.process_time)

    def end_round(self, gradients: int, factorisations: int, *theta: Vector) -> None:
        self.seconds.append(time.process_time() - self._began)
        self.thetas += theta
        self.gradients.append(gradients)
        self.factorisations.append(factorisations)
        self._began = time.process_time()


def main() -> None:
    with threadpool_limits(1):
        data = scale(adult())
        order = Streams(1).generator("data").permutation(data.rows)
        parts = [data.take(order[k * ROWS : (k + 1) * ROWS]) for k in range(AGENTS)]
        objectives = [LocalObjective(part.X, part.y, LOGISTIC, REGULARISER) for part in parts]
        print(f"{'problem':>22} {'':>10} {'ms per round':>12} {'times ours':>10} {'gradients':>9} {'factors':>7}")
        found = {
            name: compare(name, rounds(objectives, eta, noise))
            for eta in (0.5, 0.01)
            for noise in (0.0, 0.01)
            for name in (f"eta {eta:g}, noise {noise:g}",)
        }
        small = tiny()
    ratios = {}
    for name, seconds in found.items():
        ratios[f"L-BFGS-B over ours, {name} (goal: at least 3)"] = seconds["L-BFGS-B"] / seconds["simnet"]
        ratios[f"Newton over ours, {name} (goal: at least 8)"] = seconds["Newton"] / seconds["simnet"]
        ratios[f"ours over bare products, {name} (goal: at most 1.5)"] = seconds["simnet"] / seconds["products"]
        ratios[f"ours over bare gradients, {name}"] = seconds["simnet"] / seconds["gradients"]
    milliseconds = {
        name: {contender: 1e3 * value / ROUNDS for contender, value in seconds.items()}
        for name, seconds in found.items()
    }
    publish("solver", {"milliseconds per round": milliseconds, "microseconds per tiny solve": small, "ratios": ratios})


def rounds(objectives: list[LocalObjective], eta: float, noise: float) -> list[Subproblem]:
    """The local problems of the first agent in a run of ADMM on a ring, with N(0, noise² I) in the linear term."""
    shape = (len(objectives), objectives[0].features)
    solvers = [Solver(objective) for objective in objectives]
    draws = Streams(1).generator("noise").standard_normal((ROUNDS, *shape))
    thetas, duals = np.zeros(shape), np.zeros(shape)
    problems = []
    for t in range(ROUNDS):
        nearby = np.roll(thetas, 1, axis=0) + np.roll(thetas, -1, axis=0)
        linear = 2 * duals - eta * (2 * thetas + nearby) + noise * draws[t]
        problems.append(Subproblem(objectives[0], linear[0], 4 * eta))
        thetas = np.array([s.solve(linear[i], 4 * eta, thetas[i], 1e-10).theta for i, s in enumerate(solvers)])
        duals += eta / 2 * (2 * thetas - np.roll(thetas, 1, axis=0) - np.roll(thetas, -1, axis=0))
    return problems


def compare(name: str, problems: list[Subproblem]) -> dict[str, float]:
    ours = simnet(problems)
    contenders: dict[str, Callable[[], Replay]] = {
        "simnet": lambda: simnet(problems),
        "L-BFGS-B": lambda: lbfgs(problems),
        "Newton": lambda: newton(problems),
        "gradients": lambda: gradients(problems, ours),
        "products": lambda: products(problems, ours),
    }
    least = dict.fromkeys(contenders, np.full(ROUNDS, np.inf))
    replays = {}
    for _ in range(REPEATS):
        for contender, play in contenders.items():
            replays[contender] = play()
            least[contender] = np.minimum(least[contender], replays[contender].seconds)
    seconds = {contender: float(rounds.sum()) for contender, rounds in least.items()}
    for contender, replay in replays.items():
        for problem, theta in zip(problems, replay.thetas, strict=False):
            assert np.linalg.norm(problem.gradient(theta)) <= TOLERANCE * (1 + 1e-6), contender
        print(
            f"{name:>22} {contender:>10} {seconds[contender] / ROUNDS * 1e3:>12.3f} "
            f"{seconds[contender] / seconds['simnet']:>10.2f} {sum(replay.gradients):>9} "
            f"{sum(replay.factorisations):>7}"
        )
    return seconds


def simnet(problems: list[Subproblem]) -> Replay:
    replay = Replay()
    solver = Solver(problems[0].objective)
    theta = np.zeros_like(problems[0].linear)
    for problem in problems:
        solution = solver.solve(problem.linear, problem.quadratic, theta, TOLERANCE)
        theta = solution.theta
        replay.end_round(solution.gradients, solution.factorisations, theta)
    return replay


def lbfgs(problems: list[Subproblem]) -> Replay:
    """scipy's, with value and gradient from one pair of products, and stopped as soon as the norm is small enough."""
    replay = Replay()
    theta = np.zeros_like(problems[0].linear)
    norm = np.inf

    def stop(intermediate_result: object) -> None:
        if norm <= TOLERANCE:
            raise StopIteration

    for problem in problems:
        objective, linear, curvature = problem.objective, problem.linear, problem.curvature

        def both(
            x: Vector, objective: LocalObjective = objective, linear: Vector = linear, curvature: float = curvature
        ) -> tuple[float, Vector]:
            nonlocal norm
            margins = objective._forward(x)
            e = np.exp(-np.abs(margins))
            value = np.mean(np.log1p(e) - np.minimum(margins, 0.0)) + linear @ x + curvature / 2 * (x @ x)
            slopes = -np.where(margins > 0, e, 1.0) / (1.0 + e)
            gradient = objective._backward(slopes) / objective.rows + curvature * x + linear
            norm = np.linalg.norm(gradient)
            return value, gradient

        found = minimize(
            both, theta, jac=True, method="L-BFGS-B", callback=stop, options={"gtol": 1e-9, "ftol": 0.0, "maxiter": 500}
        )
        theta = found.x
        replay.end_round(found.nfev, 0, theta)
    return replay


def newton(problems: list[Subproblem]) -> Replay:
    """Full steps with the exact Hessian, from dense rows: the faster layout for a Hessian."""
    replay = Replay()
    objective = problems[0].objective
    rows = objective._A.toarray() if objective.sparse else objective._A
    identity = np.eye(objective.features)
    theta = np.zeros_like(problems[0].linear)
    for problem in problems:
        steps = 0
        while True:
            margins = objective._forward(theta)
            gradient = objective._backward(LOGISTIC.slope(margins)) / objective.rows
            gradient += problem.curvature * theta + problem.linear
            if np.linalg.norm(gradient) <= TOLERANCE:
                break
            weighted = rows * np.sqrt(LOGISTIC.bend(margins) / objective.rows)[:, None]
            factor = cho_factor(weighted.T @ weighted + problem.curvature * identity, check_finite=False)
            theta = theta - cho_solve(factor, gradient, check_finite=False)
            steps += 1
        replay.end_round(steps + 1, steps, theta)
    return replay


def gradients(problems: list[Subproblem], ours: Replay) -> Replay:
    """As many gradients of the loss as we computed, and the product that made our Hessian."""
    objective, theta = problems[0].objective, ours.thetas[-1]
    replay = Replay()
    for times, factorisations in zip(ours.gradients, ours.factorisations, strict=True):
        for _ in range(times):
            objective.loss_gradient(theta)
        hessian_product(objective, factorisations)
        replay.end_round(times, factorisations)
    return replay


def products(problems: list[Subproblem], ours: Replay) -> Replay:
    """A θ and Aᵀ v as often as we computed a gradient, and the product that made our Hessian."""
    objective = problems[0].objective
    theta = ours.thetas[-1]
    slopes = LOGISTIC.slope(objective._forward(theta))
    replay = Replay()
    for times, factorisations in zip(ours.gradients, ours.factorisations, strict=True):
        for _ in range(times):
            objective._forward(theta)
            objective._backward(slopes)
        hessian_product(objective, factorisations)
        replay.end_round(times, factorisations)
    return replay


def hessian_product(objective: LocalObjective, times: int) -> None:
    if not times:
        return
    sample = objective._A[:: objective.rows // (4 * objective.features)]
    block = sample.toarray() if objective.sparse else sample
    for _ in range(times):
        block.T @ block


def tiny() -> float:
    """The cost of a solve when there is next to no data: what 100,000 agents pay."""
    rng = Streams(1).generator("tiny")
    X = rng.standard_normal((20, 20)) / 8
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    objective = LocalObjective(X, np.where(X[:, 0] > 0, 1.0, -1.0), LOGISTIC, 1e-3)
    linears = 0.01 * rng.standard_normal((1000, 20))
    best, gradients = np.inf, 0
    for _ in range(REPEATS):
        solver, theta, gradients = Solver(objective), np.zeros(20), 0
        began = time.process_time()
        for linear in linears:
            solution = solver.solve(linear, 0.04, theta, TOLERANCE)
            theta = solution.theta
            gradients += solution.gradients
        best = min(best, time.process_time() - began)
    print(f"20 rows, 20 features: {best * 1e3:.0f} µs per solve of {gradients / 1000:.1f} gradients")
    return best * 1e3


if __name__ == "__main__":
    main()
