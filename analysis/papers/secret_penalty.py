"""M-ADMM, section 6.2: what somebody learns of one row who knows all others and every broadcast of an agent.

    python -m analysis.papers.secret_penalty

In round t the local problem's stationarity says a_t = g_t + η(t) b_t. The attacker knows a_t, which is made of duals
and of the gradients of the rows that it knows, and b_t = Σ_j (2θ_i(t) − θ_i(t−1) − θ_j(t−1)). g_t, the gradient of the
unknown row, is a multiple of y·x. Whoever knows η(t) has g_t, and from two rounds the length of x. Whoever does not
still knows that y·x lies in the plane of a_t and b_t, and the planes of two rounds meet in one line if x has three
entries or more: the secret η(t) comes out as well. What hides the row is noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy.optimize import minimize_scalar

from analysis.papers.drawing import options
from simnet import Scenario, run
from simnet.build import build
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack
from simnet.vectors import Vector

ADULT = Path(__file__).parents[2] / "scenarios" / "papers" / "adult.toml"
OWN = {
    "rounds": 10,
    "algorithm.agent_eta": [0.012, 0.015, 0.011, 0.013, 0.014],
    "algorithm.agent_growth": [1.1, 1.05, 1.2, 1.0, 1.1],
    "algorithm.dual_step": 0.01,
}
"""Penalties of the agents' own."""
SEEDS = (1, 2, 3, 4, 5)
NOISE = {
    "none": {"privacy.calibration": "none", "algorithm.tolerance": 1e-13},
    "ε = 1": {},
    "ε = 100": {"privacy.epsilon": 100.0},
}
KNOWS = ("η", "a guess, η = θ", "no η")


def equations(chosen: Scenario, victim: int) -> tuple[Vector, Vector, Vector, Vector]:
    """a_t, b_t and the victim's models of all rounds, without its first row; and that row times its label."""
    built, spec = build(chosen), chosen.algorithm
    part, near = built.learning.parts[victim], sorted(built.graph[victim])
    X, y = part.X.toarray() if hasattr(part.X, "toarray") else np.asarray(part.X), part.y
    sent = np.zeros((chosen.rounds + 1, built.agents, X.shape[1]))
    for _, _, event in run(chosen).events:
        if isinstance(event, ReleaseMade):
            sent[event.round, event.agent] = unpack(event.value)
    step = spec.dual_steps(victim)
    dual, a, b = np.zeros(X.shape[1]), [], []
    for t in range(1, chosen.rounds + 1):
        now, before = sent[t, victim], sent[t - 1]
        known = -X[1:].T @ (y[1:] / (1.0 + np.exp(y[1:] * (X[1:] @ now)))) / len(y)
        a.append(-known - built.calibration.regulariser * now - 2.0 * dual)
        b.append(sum(2.0 * now - before[victim] - before[other] for other in near))
        dual = dual + step(t) / 2.0 * sum(now - sent[t, other] for other in near)
    return np.array(a), np.array(b), sent[1:, victim], y[0] * X[0]


def row(gradients: Vector, models: Vector, rows: int) -> Vector:
    """The row times its label whose gradients these are nearest to: their common direction, then its length."""
    direction = np.linalg.svd(gradients, full_matrices=False)[2][0]
    sizes = gradients @ direction
    if sizes.sum() > 0.0:  # a gradient of the loss points against y·x
        direction, sizes = -direction, -sizes
    margins = models @ direction

    def misfit(length: float) -> float:
        return float(np.sum((sizes + length / (1.0 + np.exp(length * margins)) / rows) ** 2))

    return float(minimize_scalar(misfit, bounds=(0.0, 1.0), method="bounded").x) * direction


def without_penalties(a: Vector, b: Vector) -> Vector:
    """g_t where no η(t) is known: the line that is nearest to the planes of all rounds, and its part of each a_t."""
    planes = [np.linalg.svd(np.array(pair), full_matrices=False)[2] for pair in zip(a, b, strict=True)]
    direction = np.linalg.eigh(sum(plane.T @ plane for plane in planes))[1][:, -1]
    parts = [
        np.linalg.lstsq(np.column_stack([direction, each]), of, rcond=None)[0][0] for of, each in zip(a, b, strict=True)
    ]
    return np.outer(parts, direction)


def errors(chosen: Scenario, victim: int = 0) -> dict[str, float]:
    """How far each attacker's row is from the true one, in lengths of it; whoever says zero is 1 off."""
    a, b, models, truth = equations(chosen, victim)
    spec, rows = chosen.algorithm, build(chosen).sizes[victim].rows
    own = np.array(spec.penalties(victim, chosen.rounds))[:, None]
    guess = np.full_like(own, spec.dual_steps(victim)(1))
    found = {"η": a - own * b, "a guess, η = θ": a - guess * b, "no η": without_penalties(a, b)}
    return {
        who: float(np.linalg.norm(row(g, models, rows) - truth) / np.linalg.norm(truth)) for who, g in found.items()
    }


def table(base: Scenario, seeds: Sequence[int] = SEEDS) -> pl.DataFrame:
    """The median over seeds, with the range."""
    lines = []
    for noise, changes in NOISE.items():
        each = [errors(base.with_(seed=seed, **changes)) for seed in seeds]
        for who in KNOWS:
            seen = [found[who] for found in each]
            lines.append((noise, who, len(seen), float(np.median(seen)), min(seen), max(seen)))
    return pl.DataFrame(lines, schema=["noise", "knows", "n", "median", "min", "max"], orient="row")


def main() -> None:
    chosen = options(__doc__)
    found = table(Scenario.load(ADULT).with_method("m-admm").with_(**OWN))
    chosen.output.mkdir(parents=True, exist_ok=True)
    found.with_columns(pl.selectors.float().round_sig_figs(3)).write_csv(chosen.output / "secret-penalty.csv")
    print(found)


if __name__ == "__main__":
    main()
