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

from simnet.agent.pacing import ALIGNED
from simnet.audit.answers import Answer
from simnet.audit.bounds import Table
from simnet.audit.conformance import Conformance, Evidence, conformance, standard_noise
from simnet.audit.insider import Insider, View, view_score
from simnet.audit.pair import Pair, pair
from simnet.audit.scores import Reading, read, report_score, score, score_tests
from simnet.audit.section import Audit
from simnet.audit.transcript import Breach, Eavesdropper, Round, Tap, retraceable, shows_noise
from simnet.diagnostics import tell
from simnet.methods.peer import Peer
from simnet.privacy.ledger import Charge
from simnet.record.bus import Subscriber
from simnet.record.events import DualUpdated, Event
from simnet.record.laws import Laws
from simnet.record.thinning import Thinned
from simnet.scenario import Scenario
from simnet.simulate import play
from simnet.streams import Streams
from simnet.threads import one_thread
from simnet.vectors import Vector

Progress = Callable[[int, int], None]

_CHUNK = 50
_Chunk = tuple[int, int, "list[OneRun]"]
"""A side, the number of its first run, and the runs."""


@dataclass(frozen=True)
class Trials:
    """The scores of all runs, one row per run and one column per name, and the victim's charges in the first run.

    `evidence` is what the auditor saw in the runs of either side, `view` what an observer saw in the first run.
    """

    names: tuple[str, ...]
    first: Table
    second: Table
    charges: tuple[Charge, ...]
    evidence: tuple[list[Evidence], list[Evidence]]
    view: View | None = None


def noise_seed(scenario: Scenario, side: int, run: int) -> int:
    """The seed of the privacy noise in one run; every other stream keeps the scenario's seed."""
    return int(Streams(scenario.seed).generator("audit", f"{side}/{run}").integers(2**53))


def run_trials(scenario: Scenario, plan: Audit, workers: int, progress: Progress | None = None) -> Trials:
    """All runs. The same scenario and plan give the same scores, whatever the number of workers."""
    task = pickle.dumps((scenario, plan))
    chunks = [(side, start) for side in (0, 1) for start in range(0, plan.runs, _CHUNK)]
    runs: tuple[list[OneRun], list[OneRun]] = ([], [])
    parts: dict[tuple[int, int], list[OneRun]] = {}
    tell("attack started", scenario=scenario.name, runs=2 * plan.runs, workers=workers)
    if progress is not None:
        progress(0, 2 * plan.runs)
    for finished, (side, start, found) in enumerate(_all(task, chunks, workers), 1):
        parts[side, start] = found
        if progress is not None:
            progress(min(finished * _CHUNK, 2 * plan.runs), 2 * plan.runs)
    tell("attack finished", scenario=scenario.name, runs=2 * plan.runs)
    for (side, _), found in sorted(parts.items()):
        runs[side].extend(found)
    names = tuple(runs[0][0].scores)
    tables = [np.array([[each.scores[name] for name in names] for each in side]) for side in runs]
    heard = listen(_pair(task), 0, noise_seed(scenario, 0, 0))
    evidence = ([each.evidence for each in runs[0]], [each.evidence for each in runs[1]])
    return Trials(names, tables[0], tables[1], tuple(heard.charges), evidence, heard.view)


def examined(trials: Trials, scenario: Scenario, plan: Audit) -> Conformance:
    """What the auditor makes of all runs."""
    method = scenario.algorithm
    flips = method.flip_probability(scenario.privacy)
    return conformance(
        *trials.evidence,
        method.holder(plan.victim),
        flip_chance=flips,
        labels_only=flips > 0.0 and plan.evidence == "all",
        skips=method.has_test,
    )


def _all(task: bytes, chunks: list[tuple[int, int]], workers: int) -> Iterator[_Chunk]:
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


def _chunk(task: bytes, side: int, start: int) -> _Chunk:
    worlds = _pair(task)
    scenario, plan = worlds.worlds[0].scenario, worlds.plan
    with one_thread():
        runs = range(start, min(start + _CHUNK, plan.runs))
        return side, start, [run_once(worlds, side, noise_seed(scenario, side, run)) for run in runs]


@lru_cache(maxsize=1)
def _pair(task: bytes) -> Pair:
    """The worlds of a task, built once per process."""
    return pair(*pickle.loads(task))


@dataclass(frozen=True)
class OneRun:
    """What is kept of a run: the scores of the attacker, and the evidence of the auditor."""

    scores: dict[str, float]
    evidence: Evidence


def run_once(worlds: Pair, side: int, seed: int) -> OneRun:
    """Let one world happen with its own noise, score what was heard, and note what the auditor sees."""
    plan, built = worlds.plan, worlds.worlds[0]
    heard = listen(worlds, side, seed)
    noise = built.calibration.plans[worlds.holder]
    test = None if noise is None else noise.test
    if plan.evidence == "tests" and test is not None:
        scores = score_tests([_shadow(worlds, each, seed) for each in (0, 1)], heard.rounds, test)
        return OneRun(scores, Evidence({}, heard.breaches, None))
    truth = worlds.path(side, seed)
    readings = [
        [
            (path, read(_shadow(worlds, each, seed, number), heard.rounds, test))
            for number, path in enumerate(worlds.paths[each])
        ]
        for each in (0, 1)
    ]
    scores = score(*([(path.probability, reading) for path, reading in each] for each in readings))
    if plan.evidence == "all" and truth.report is not None:
        scores["reports"] = report_score(truth.report, *worlds.paths)
    if heard.view is not None:
        # An observer did not hear what the scores above are made of.
        scores = {"likelihood": view_score(heard.view, seed)}
    own = next(reading for path, reading in readings[side] if path is truth)
    return OneRun(scores, _evidence(worlds, side, seed, heard, own))


def _evidence(worlds: Pair, side: int, seed: int, heard: Overheard, own: Reading) -> Evidence:
    """What the auditor makes of a run; `own` is what the true data make of it as far as the eavesdropper hears."""
    holder, truth = worlds.holder, worlds.path(side, seed)
    path = worlds.paths[side].index(truth)
    noise = worlds.worlds[0].calibration.plans[holder]
    test = None if noise is None else noise.test
    shadows = worlds.shadows(side, path, seed)
    if worlds.plan.links:
        own = read(shadows[holder], heard.everything[holder], test)
    noises: dict[int, dict[int, tuple[Vector, float]]] = {}
    answers: tuple[Answer, ...] = ()
    if shows_noise(worlds.worlds[0].scenario):
        noises = {holder: standard_noise(own)}
        for agent in worlds.witnesses:
            noises[agent] = standard_noise(read(shadows[agent], heard.everything[agent], None))
    if test is not None and not test.shared_noise and retraceable(worlds.worlds[0].scenario):
        answers = tuple(own.answers)
    flipped = truth is worlds.paths[side][-1] if len(worlds.paths[side]) > 1 else None
    return Evidence(noises, heard.breaches, heard.traffic, answers, flipped)


def _shadow(worlds: Pair, hypothesis: int, seed: int, path: int = 0) -> Peer:
    return worlds.shadows(hypothesis, path, seed)[worlds.holder]


@dataclass(frozen=True)
class Overheard:
    """A run as it was heard: the victim's rounds on the overheard links, everybody's on all of them, and breaches."""

    rounds: list[Round]
    everything: dict[int, list[Round]]
    charges: list[Charge]
    breaches: tuple[Breach, ...]
    traffic: str
    view: View | None = None

    @property
    def releases(self) -> int:
        """How often the victim has sent a model."""
        return sum(each.sent is not None for each in self.rounds)


def listen(worlds: Pair, side: int, seed: int) -> Overheard:
    """Simulate one run and hear what crosses the links; check the laws of its log."""
    plan, built = worlds.plan, worlds.worlds[side]
    everybody = frozenset(built.graph)
    trusted = frozenset() if worlds.adversary is None else frozenset((worlds.adversary,))
    auditor = Eavesdropper(built, worlds.holder, dict(enumerate(worlds.shadows(0))), everybody, trusted)
    ears = [auditor]
    insider = Insider(worlds) if plan.observer else None
    if plan.links:
        heard = frozenset(agent for link in plan.links for agent in link)
        ears.append(Eavesdropper(built, worlds.holder, dict(enumerate(worlds.shadows(0))), heard, everybody))
    cap = built.scenario.algorithm.most_releases(built.scenario.rounds)

    def enough(_seq: int, _t: float, event: Event) -> None:
        """End the run once the victim has no answer left to give: all that follows is silence."""
        if isinstance(event, DualUpdated) and event.agent == plan.victim and auditor.releases >= cap:
            raise _Stop

    laws, thinning = Laws(ALIGNED), built.scenario.log.thinning(built.scenario.seed)
    subscribers: list[Subscriber] = [laws if thinning is None else Thinned(laws, thinning)]
    if plan.evidence == "tests":
        subscribers.append(enough)
    with suppress(_Stop):
        play(built, Tap([*ears, insider] if insider else ears, *subscribers), worlds.peers(side, seed))
    found = auditor.breaches if retraceable(built.scenario) else []
    breaches = (*found, *(Breach("laws", sentence) for sentence in laws.finish()))
    view = None if insider is None else insider.view()
    return Overheard(ears[-1].rounds, auditor.runs, auditor.charges, breaches, auditor.traffic, view)


class _Stop(Exception):
    """Nothing more can be learned from this run."""
