"""`run(scenario)`: build the world, let it happen, keep the record."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

import networkx as nx
from threadpoolctl import threadpool_limits

from simnet import world
from simnet.agents.neighbourhood import Neighbourhood
from simnet.agents.program import run_agent
from simnet.algorithms.build import build_peers
from simnet.algorithms.plans import Standing, budgeting
from simnet.engines.scoreboard import Scoreboard
from simnet.engines.virtual import VirtualEngine, VirtualPort
from simnet.errors import ScenarioError
from simnet.network.codec import CODECS
from simnet.record import events
from simnet.record.bus import Bus, Subscriber
from simnet.record.folder import RunFolder, environment
from simnet.record.log import LogWriter, read
from simnet.record.metrics import Metrics, Row
from simnet.scenario import METHODS, Scenario
from simnet.version import VERSION

Progress = Callable[[int, int], None]
"""Called with (rounds finished, rounds in all)."""


@dataclass(frozen=True)
class Result:
    """What a run gives.

    `summary` is summary.json, `rounds` and `agents` are the tables' rows, `log` is the event log: a path once the
    run is stored, its bytes otherwise. `folder` is None unless the run was asked to store itself.
    """

    scenario: Scenario
    summary: dict[str, Any]
    rounds: list[Row]
    agents: list[Row]
    log: Path | bytes
    folder: Path | None = None

    @property
    def events(self) -> Iterator[tuple[int, float, events.Event]]:
        """The event stream, as (seq, t, event), read from the log and checked on the way."""
        return read(self.log)

    @property
    def digest(self) -> str:
        return str(self.summary["digest"])


def run(scenario: Scenario, out: str | Path | None = None, *, progress: Progress | None = None) -> Result:
    """Simulate a scenario.

    Args:
        scenario: what to simulate.
        out: where run folders go; None keeps everything in memory.
        progress: told after every evaluated round.

    >>> from simnet import Scenario, run
    >>> quick = {"data": {"source": "synthetic"}, "algorithm": {"name": "admm"}, "rounds": 2}
    >>> run(Scenario.of(quick)).summary["communication"]["broadcasts"]
    10
    """
    if out is None:
        sink = io.BytesIO()
        metrics, writer, wall = _simulate(scenario, sink, progress)
        return Result(scenario, metrics.summary(writer.digest, wall), metrics.rounds, metrics.agents, sink.getvalue())
    with RunFolder(Path(out), scenario.name) as folder:
        metrics, writer, wall = _simulate(scenario, folder.log, progress)
        summary = metrics.summary(writer.digest, wall)
        path = folder.commit(
            writer.digest, scenario.to_toml(), metrics.rounds, metrics.agents, summary, environment(VERSION)
        )
    return Result(scenario, summary, metrics.rounds, metrics.agents, path / "events.jsonl.zst", path)


def _simulate(scenario: Scenario, sink: BinaryIO, progress: Progress | None) -> tuple[Metrics, LogWriter, float]:
    """One run into an open file. One BLAS thread: agents are small, and workers must not fight."""
    with threadpool_limits(1):
        graph = world.graph(scenario)
        learning = world.learning(scenario, graph.number_of_nodes())
        standings = [Standing(rows, graph.degree[agent]) for agent, rows in enumerate(learning.rows)]
        budget = budgeting(scenario, standings)
        objectives = learning.objectives(scenario, budget.regulariser)
        peers = build_peers(scenario, objectives, standings, budget)
        metrics, writer = Metrics(), LogWriter(sink)
        subscribers: list[Subscriber] = [writer, metrics]
        if progress is not None:
            subscribers.append(_Watcher(progress, scenario.rounds))
        scoreboard = Scoreboard(
            world.evaluator(objectives, learning.test), len(peers), learning.features, scenario.rounds
        )
        engine = VirtualEngine(world.links(scenario, graph), Bus(*subscribers), scoreboard, len(peers))
        pacing = world.pacing(scenario)
        started = perf_counter()
        engine.emit(_first_event(scenario, learning, graph))
        for agent, peer in enumerate(peers):
            neighbours = sorted(graph[agent])
            neighbourhood = Neighbourhood(neighbours, peer.initial(), aligned=pacing.aligned)
            codec = CODECS[scenario.network.codec]()
            port = VirtualPort(engine, agent, neighbours, neighbourhood, codec, world.work_times(scenario, agent))
            ledger = budget.ledger(scenario)
            program = run_agent(
                peer, port, pacing, neighbourhood, ledger, scenario.rounds, private=scenario.log.private
            )
            engine.attach(port, program)
        engine.run(scenario.rounds)
        engine.emit(events.RunFinished(scoreboard.last_round, "", ""))
        writer.close()
        return metrics, writer, perf_counter() - started


def _first_event(scenario: Scenario, learning: world.Learning, graph: nx.Graph[int]) -> events.RunStarted:
    return events.RunStarted(
        schema=events.SCHEMA,
        version=VERSION,
        private=scenario.log.private,
        scenario=scenario.resolved(),
        edges=sorted((min(edge), max(edge)) for edge in graph.edges),
        rows=learning.rows,
        features=learning.features,
    )


class _Watcher:
    """A subscriber that tells how far the run is."""

    def __init__(self, progress: Progress, rounds: int) -> None:
        self._progress = progress
        self._rounds = rounds

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        if isinstance(event, events.EvaluationDone):
            self._progress(event.round, self._rounds)


def method_names(text: str) -> list[str]:
    """`all`, or names separated by commas."""
    return list(METHODS) if text.strip() == "all" else [name.strip() for name in text.split(",") if name.strip()]


def compare(
    scenario: Scenario, methods: Sequence[str], out: str | Path | None = None, *, progress: Progress | None = None
) -> list[Result]:
    """Run several methods on the same data, network, seed and ε, one result each."""
    if not methods:
        raise ScenarioError(f"--methods: name at least one of {', '.join(METHODS)}")
    scenarios = [scenario.with_method(name) for name in methods]
    results = []
    for done, each in enumerate(scenarios):
        told = _shifted(progress, done, len(scenarios)) if progress else None
        results.append(run(each, out, progress=told))
    return results


def _shifted(progress: Progress, done: int, runs: int) -> Progress:
    return lambda rounds, total: progress(done * total + rounds, runs * total)
