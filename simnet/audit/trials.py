"""Many runs of two worlds, each reduced to its scores; spread over processes."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from simnet.audit.bounds import Table
from simnet.audit.pair import Pair, pair
from simnet.audit.scores import read, report_score, score, score_tests
from simnet.audit.section import Audit
from simnet.audit.transcript import Eavesdropper
from simnet.diagnostics import tell
from simnet.methods.peer import Peer
from simnet.privacy.ledger import Charge
from simnet.record.bus import Bus, Subscriber
from simnet.record.events import DualUpdated, Event
from simnet.scenario import Scenario
from simnet.simulate import play
from simnet.streams import Streams

Progress = Callable[[int, int], None]

_CHUNK = 50


@dataclass(frozen=True)
class Trials:
    """The scores of all runs, one row per run and one column per name, and the victim's charges in the first run."""

    names: tuple[str, ...]
    first: Table
    second: Table
    charges: tuple[Charge, ...]


def noise_seed(scenario: Scenario, side: int, run: int) -> int:
    """The seed of the privacy noise in one run; every other stream keeps the scenario's seed."""
    return int(Streams(scenario.seed).generator("audit", f"{side}/{run}").integers(2**53))


def run_trials(scenario: Scenario, plan: Audit, workers: int, progress: Progress | None = None) -> Trials:
    """All runs. The same scenario and plan give the same scores, whatever the number of workers."""
    task = pickle.dumps((scenario, plan))
    chunks = [(side, start) for side in (0, 1) for start in range(0, plan.runs, _CHUNK)]
    scores: list[list[dict[str, float]]] = [[{}] * plan.runs, [{}] * plan.runs]
    tell("attack started", scenario=scenario.name, runs=2 * plan.runs, workers=workers)
    if progress is not None:
        progress(0, 2 * plan.runs)
    for finished, (side, start, found) in enumerate(_all(task, chunks, workers), 1):
        scores[side][start : start + len(found)] = found
        if progress is not None:
            progress(min(finished * _CHUNK, 2 * plan.runs), 2 * plan.runs)
    tell("attack finished", scenario=scenario.name, runs=2 * plan.runs)
    names = tuple(scores[0][0])
    tables = [np.array([[each[name] for name in names] for each in side]) for side in scores]
    charges = listen(_pair(task), 0, noise_seed(scenario, 0, 0)).charges
    return Trials(names, tables[0], tables[1], tuple(charges))


def _all(task: bytes, chunks: list[tuple[int, int]], workers: int) -> Iterator[tuple[int, int, list[dict[str, float]]]]:
    if workers == 1:
        yield from (_chunk(task, side, start) for side, start in chunks)
        return
    # Ctrl-C reaches every process of a terminal; only this one is to speak of it.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=signal.signal, initargs=ignore) as pool:
        try:
            for done in as_completed([pool.submit(_chunk, task, side, start) for side, start in chunks]):
                yield done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _chunk(task: bytes, side: int, start: int) -> tuple[int, int, list[dict[str, float]]]:
    worlds = _pair(task)
    scenario, plan = worlds.worlds[0].scenario, worlds.plan
    with threadpool_limits(1):
        runs = range(start, min(start + _CHUNK, plan.runs))
        return side, start, [run_once(worlds, side, noise_seed(scenario, side, run)) for run in runs]


@lru_cache(maxsize=1)
def _pair(task: bytes) -> Pair:
    """The worlds of a task, built once per process."""
    return pair(*pickle.loads(task))


def run_once(worlds: Pair, side: int, seed: int) -> dict[str, float]:
    """Let one world happen with its own noise, and score what was heard."""
    plan, built = worlds.plan, worlds.worlds[0]
    heard = listen(worlds, side, seed)
    noise = built.calibration.plans[worlds.holder]
    test = None if noise is None else noise.test
    if plan.evidence == "tests" and test is not None:
        return score_tests([_shadow(worlds, each) for each in (0, 1)], heard.rounds, test)
    first, second = (
        [
            (path.probability, read(_shadow(worlds, each, number), heard.rounds, test))
            for number, path in enumerate(worlds.paths[each])
        ]
        for each in (0, 1)
    )
    found = score(first, second)
    report = worlds.path(side, seed).report
    if plan.evidence == "all" and report is not None:
        found["reports"] = report_score(report, *worlds.paths)
    return found


def _shadow(worlds: Pair, hypothesis: int, path: int = 0) -> Peer:
    return worlds.shadows(hypothesis, path)[worlds.holder]


def listen(worlds: Pair, side: int, seed: int) -> Eavesdropper:
    """Simulate one run and hear what crosses the overheard links."""
    plan, built = worlds.plan, worlds.worlds[side]
    shadows = dict(enumerate(worlds.shadows(0)))
    if built.scenario.algorithm.sends_models_only:
        # Messages carry nothing but models: only the victim's steps need to be retraced.
        shadows = {worlds.holder: shadows[worlds.holder]}
    heard = frozenset(agent for link in plan.links for agent in link) or frozenset(built.graph)
    ear = Eavesdropper(
        worlds.holder,
        lambda agent: sorted(built.graph[agent]),
        shadows,
        heard,
        aligned=built.scenario.network.pacing.aligned,
    )
    cap = built.scenario.algorithm.most_releases(built.scenario.rounds)

    def enough(_seq: int, _t: float, event: Event) -> None:
        """End the run once the victim has no answer left to give: all that follows is silence."""
        if isinstance(event, DualUpdated) and event.agent == plan.victim and ear.releases >= cap:
            raise _Stop

    subscribers: list[Subscriber] = [ear, enough] if plan.evidence == "tests" else [ear]
    with suppress(_Stop):
        play(built, Bus(*subscribers), worlds.peers(side, seed))
    return ear


class _Stop(Exception):
    """Nothing more can be learned from this run."""
