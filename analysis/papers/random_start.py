"""What a random start changes: plain ADMM on Adult from zero, where simnet begins, and from a normal start per agent.

    python -m analysis.papers.random_start

M-ADMM and R-ADMM begin with "generate f_i(0) randomly" and name no distribution; PP/IPP-ADMM have "initial variables".
An agent hears its neighbours' starts before the first round. No noise, five seeds, 30 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from analysis.papers.drawing import options
from simnet.build import World, build
from simnet.learning.evaluation import Evaluator
from simnet.learning.row_objective import Objective
from simnet.learning.solver import Solver
from simnet.scenario import Scenario
from simnet.streams import Streams

ADULT = Path(__file__).parents[2] / "scenarios" / "papers" / "adult.toml"
SPREADS = (0.0, 0.1, 1.0)
"""Standard deviations of each entry of a start; 0 is the start of simnet."""
SETTINGS = ((0.5, 1.0), (0.01, 1.0), (0.5, 1750.0))
"""η and C: the printed η, the one that learns in 30 rounds, and the C with which M-ADMM and R-ADMM learn."""
ROUNDS, SEEDS = 30, (1, 2, 3, 4, 5)


def models(
    objectives: Sequence[Objective], graph: nx.Graph[int], eta: float, rounds: int, starts: np.ndarray
) -> np.ndarray:
    """The models after so many rounds of ADMM: the papers' update (3), and λ_i += η/2 Σ_j (θ_i − θ_j)."""
    A = nx.to_numpy_array(graph, nodelist=range(len(objectives)))
    degrees, theta, dual = A.sum(axis=1)[:, None], starts, np.zeros_like(starts)
    solvers = [Solver(each) for each in objectives]
    for _ in range(rounds):
        linear = 2 * dual - eta * (degrees * theta + A @ theta)
        theta = np.array(
            [
                solver.solve(own, 2 * eta * float(degree[0]), start, 1e-8 * solver.objective.weight).theta
                for solver, own, degree, start in zip(solvers, linear, degrees, theta, strict=True)
            ]
        )
        dual = dual + eta / 2 * (degrees * theta - A @ theta)
    return theta


def figures(world: World, eta: float, spread: float) -> dict[str, float]:
    """Training loss and test error of the mean agent."""
    rng = Streams(world.scenario.seed).generator("random start")
    starts = spread * rng.standard_normal((world.agents, world.length))
    with threadpool_limits(1):
        found = models(world.objectives, world.graph, eta, ROUNDS, starts)
    evaluation = Evaluator(world.objectives, world.learning.test, world.scenario.learned).evaluate(found)
    return {"train_loss": evaluation.train_loss, "test_error": evaluation.test_error}


def main() -> None:
    chosen, base, rows = options(__doc__), Scenario.load(ADULT), []
    for eta, weight in SETTINGS:
        algorithm = {"name": "m-admm", "eta": eta, "loss_weight": weight}  # its f_i are those of plain ADMM
        for seed in SEEDS:
            world = build(base.with_(algorithm=algorithm, seed=seed))
            for spread in SPREADS:
                rows.append({"eta": eta, "C": weight, "spread": spread} | figures(world, eta, spread))
    columns = ("train_loss", "test_error")
    table = (
        pl.DataFrame(rows)
        .group_by("eta", "C", "spread", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            *(pl.col(name).mean() for name in columns),
            *(pl.col(name).min().alias(f"{name}_min") for name in columns),
            *(pl.col(name).max().alias(f"{name}_max") for name in columns),
        )
    )
    chosen.output.mkdir(parents=True, exist_ok=True)
    table.with_columns(pl.selectors.float().round_sig_figs(6)).write_csv(chosen.output / "random-start.csv")
    print(f"wrote {chosen.output / 'random-start.csv'}")


if __name__ == "__main__":
    main()
