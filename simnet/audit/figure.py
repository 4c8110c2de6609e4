"""The picture of an audit: what the scores looked like, and how well they told the two data sets apart."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simnet.audit.bounds import region, roc
from simnet.vectors import Vector

if TYPE_CHECKING:
    from simnet.audit.result import AuditResult

# Okabe and Ito's colours: told apart by colour-blind readers, and in print.
_FIRST, _SECOND, _PROMISE, _FOUND = "#0072B2", "#D55E00", "#000000", "#009E73"


def draw(result: AuditResult, path: Path) -> None:
    """Two histograms of the chosen score, and its ROC with the region that the promise allows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    bound = result.bound
    first, second = result.trials.first[:, bound.column], result.trials.second[:, bound.column]
    _histograms(left, first, second, result)
    _trade_off(right, first, second, result)
    promised = f"{result.promise.epsilon:.3g}" if math.isfinite(result.promise.epsilon) else "∞"
    figure.suptitle(
        f"{result.scenario.name} – {result.verdict}\n"
        f"promised ε = {promised} at δ = {result.scenario.privacy.delta:g}, lower bound {bound.epsilon:.3g} at "
        f"{result.plan.confidence:.0%} confidence, {result.plan.runs:,} runs on each data set",
        fontsize=11,
    )
    figure.savefig(path, dpi=130, metadata={"Software": None})


def _histograms(axes: Any, first: Vector, second: Vector, result: AuditResult) -> None:
    every = np.concatenate([first, second])
    finite = every[np.isfinite(every)]
    low, high = np.quantile(finite, [0.001, 0.999]) if finite.size else (0.0, 1.0)
    bins = int(np.clip(np.sqrt(first.size), 10, 60))
    edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    for values, colour, label in ((first, _FIRST, "first data set"), (second, _SECOND, "second data set")):
        axes.hist(np.clip(values, edges[0], edges[-1]), edges, color=colour, alpha=0.55, label=label)
    if edges[0] <= result.bound.threshold <= edges[-1]:
        axes.axvline(result.bound.threshold, color=_PROMISE, linestyle=":", linewidth=1.2, label="chosen threshold")
    axes.set_xlabel(f"score: {result.score}")
    axes.set_ylabel("runs")
    _quiet(axes)
    axes.legend(frameon=False)


def _trade_off(axes: Any, first: Vector, second: Vector, result: AuditResult) -> None:
    false, true = roc(first, second)
    axes.step(false, true, where="post", color=_FIRST, linewidth=1.8, label="what the eavesdropper achieves")
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, 501), np.geomspace(1e-6, 1.0, 200)]))
    delta = result.scenario.privacy.delta
    if math.isfinite(result.promise.epsilon):
        allowed = region(grid, result.promise.epsilon, delta)
        lowest, told = 1.0 - region(1.0 - grid, result.promise.epsilon, delta), f"{result.promise.epsilon:.3g}"
        axes.fill_between(grid, lowest, allowed, color=_PROMISE, alpha=0.10, linewidth=0.0)
        axes.plot(grid, allowed, color=_PROMISE, linewidth=1.2, label=f"the promise allows (ε = {told})")
    proved = region(grid, result.bound.epsilon, delta)
    found = f"lower bound (ε = {result.bound.epsilon:.3g})"
    axes.plot(grid, proved, color=_FOUND, linewidth=1.2, linestyle="--", label=found)
    axes.plot([0.0, 1.0], [0.0, 1.0], color="#999999", linewidth=0.8, label="a guess")
    axes.set_xlabel("false positives: says the first, was the second")
    axes.set_ylabel("true positives: says the first, was the first")
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.005)
    _quiet(axes)
    axes.legend(frameon=False, loc="lower right")


def _quiet(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
