"""What the network, the log and the metrics cost: a whole run against the bare loop of its mathematics.

    python -m benchmarks.overhead

One run is recorded: every local problem that was solved, every loss that a test looked at, and every set of models that
was evaluated. The bare loop then does the same solves and evaluations and nothing else. Both are timed alternately in
one process, in CPU seconds with one BLAS thread; the ratio of the two best times is printed.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.report import publish
from simnet import Scenario, simulate
from simnet.build import build
from simnet.learning.evaluation import Evaluator
from simnet.learning.objective import LocalObjective
from simnet.learning.solver import Solution, Solver

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.toml"


@dataclass
class Work:
    """The solves and evaluations of one run, in order."""

    solvers: list[Solver] = field(default_factory=list)
    solves: list[tuple[int, tuple[np.ndarray, float, np.ndarray, float]]] = field(default_factory=list)
    losses: list[tuple[LocalObjective, np.ndarray]] = field(default_factory=list)
    evaluations: list[tuple[Evaluator, np.ndarray, np.ndarray | None]] = field(default_factory=list)

    def again(self) -> None:
        """Do it all once more, from fresh solvers."""
        solvers = [Solver(solver.objective) for solver in self.solvers]
        for index, arguments in self.solves:
            solvers[index].solve(*arguments)
        for objective, theta in self.losses:
            np.minimum(objective.row_losses(theta), 2.0).mean()
        for evaluator, thetas, duals in self.evaluations:
            [part.row_losses(theta).mean() for part, theta in zip(evaluator._parts, thetas, strict=True)]
            evaluator._task.errors(thetas, evaluator._test)
            np.linalg.norm(thetas - thetas.mean(axis=0)), np.linalg.norm(duals.sum(axis=0))


@contextmanager
def recording() -> Iterator[Work]:
    """Note every solve and evaluation made inside."""
    work = Work()
    solve, evaluate, row_losses = Solver.solve, Evaluator.evaluate, LocalObjective.row_losses

    def noted_solve(
        self: Solver, linear: np.ndarray, quadratic: float, start: np.ndarray, tolerance: float
    ) -> Solution:
        if self not in work.solvers:
            work.solvers.append(self)
        arguments = (linear.copy(), quadratic, start.copy(), tolerance)
        work.solves.append((work.solvers.index(self), arguments))
        return solve(self, linear, quadratic, start, tolerance)

    def noted_evaluate(
        self: Evaluator, thetas: np.ndarray, duals: np.ndarray | None = None, outputs: Sequence[np.ndarray] = ()
    ) -> object:
        work.evaluations.append((self, thetas.copy(), None if duals is None else duals.copy()))
        before = len(work.losses)
        found = evaluate(self, thetas, duals, outputs)
        del work.losses[before:]  # the evaluation's own
        return found

    def noted_losses(self: LocalObjective, theta: np.ndarray) -> np.ndarray:
        work.losses.append((self, theta.copy()))
        return row_losses(self, theta)

    Solver.solve, Evaluator.evaluate, LocalObjective.row_losses = noted_solve, noted_evaluate, noted_losses
    try:
        yield work
    finally:
        Solver.solve, Evaluator.evaluate, LocalObjective.row_losses = solve, evaluate, row_losses


def measure(scenario: Scenario, repeats: int) -> dict[str, float]:
    """Best CPU seconds of the simulation and of the bare loop, and their ratio."""
    built, simulated, bare = build(scenario), [], []
    played = partial(simulate.record, scenario, happen=partial(simulate.play, built))
    with recording() as work:
        played(io.BytesIO())
    with threadpool_limits(1):
        for _ in range(repeats):
            simulated.append(_seconds(lambda: played(io.BytesIO())))
            bare.append(_seconds(work.again))
    return {"simulated": min(simulated), "bare": min(bare), "ratio": min(simulated) / min(bare)}


def _seconds(action: Callable[[], object]) -> float:
    started = process_time()
    action()
    return process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path, nargs="?", default=QUICKSTART)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    found = measure(Scenario.load(options.scenario), options.repeats)
    print(f"simulated {found['simulated']:.3f} s, bare loop {found['bare']:.3f} s")
    publish("overhead", found | {"ratios": {"the run over its bare mathematics (goal: at most 1.3)": found["ratio"]}})


if __name__ == "__main__":
    main()
