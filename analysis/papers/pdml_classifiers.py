"""PDML's classifiers w_i(t) and their averages w̄_i(t) = (1/t) Σ w_i(k), which no message holds: runs are done again.

What a server sends is w_i plus noise; what the paper draws in Figure 3(a), and bounds in Theorem 1, is w_i.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from analysis.papers.sweep import STUDIES
from simnet.build import World, build
from simnet.learning.evaluation import Evaluator
from simnet.methods.peer import Peer
from simnet.record.bus import Bus
from simnet.record.events import Event, ReleaseMade
from simnet.record.lines import unpack
from simnet.scenario import Scenario
from simnet.simulate import peers_of, play
from simnet.studies.runs import plan
from simnet.studies.spec import Study
from simnet.vectors import Vector


class Listener:
    """Keeps the model of every server in every round, before noise where it has some."""

    kinds = frozenset({ReleaseMade})

    def __init__(self, built: World, peers: list[Peer]) -> None:
        self._peers = peers
        self.models = np.zeros((built.scenario.rounds, built.agents, built.length))

    def __call__(self, seq: int, t: float, event: Event) -> None:
        assert isinstance(event, ReleaseMade)
        own = getattr(self._peers[event.agent], "classifier", None)
        self.models[event.round - 1, event.agent] = unpack(event.value) if own is None else own


def classifiers(scenario: Scenario) -> tuple[World, Vector]:
    """w_i(t) of a run: one matrix per round, one row per server."""
    built = build(scenario)
    peers = peers_of(built)
    listener = Listener(built, peers)
    play(built, Bus(listener), peers)
    return built, listener.models


def farthest(models: Vector) -> float:
    """The largest distance between two servers' classifiers."""
    return float(np.linalg.norm(models[:, None, :] - models[None, :, :], axis=2).max())


def averages(models: Vector) -> Vector:
    """w̄_i(t) of every round."""
    return np.cumsum(models, axis=0) / np.arange(1, len(models) + 1)[:, None, None]


def followed(scenario: Scenario) -> pl.DataFrame:
    """Distance, risk and test error by round, of classifiers and of averages."""
    built, models = classifiers(scenario)
    rows = []
    judge = Evaluator(built.objectives, built.learning.test, scenario.learned)
    for t, (own, mean) in enumerate(zip(models, averages(models), strict=True), 1):
        now, smoothed = judge.evaluate(own), judge.evaluate(mean)
        rows.append(
            {
                "round": t,
                "distance": farthest(own),
                "risk": now.objective,
                "risk of averages": smoothed.objective,
                "error": now.test_error,
                "error of averages": smoothed.test_error,
            }
        )
    return pl.DataFrame(rows)


def study_of_classifiers(name: str) -> pl.DataFrame:
    """The same of every run of a study: one row per setting, round and figure, with statistics over seeds."""
    study = Study.load(STUDIES / f"{name}.toml")
    runs = []
    for each in plan(study):
        named = [pl.lit(each.settings[field]).alias(field) for field in study.fields]
        runs.append(followed(each.scenario).select(*named, pl.all()))
    every = pl.concat(runs, how="vertical_relaxed")
    figures = [name for name in every.columns if name not in (*study.fields, "round")]
    tall = every.unpivot(figures, index=[*study.fields, "round"], variable_name="figure", value_name="value")
    return tall.group_by([*study.fields, "round", "figure"], maintain_order=True).agg(
        pl.len().alias("n"),
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().alias("std"),
        pl.col("value").min().alias("min"),
        pl.col("value").max().alias("max"),
    )
