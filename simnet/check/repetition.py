"""Does a part give the same run again? In this process and in others, by named streams alone, whatever the time."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from simnet.check.outcome import Failing, Inapplicable
from simnet.check.subject import Subject
from simnet.record import events
from simnet.record.atomic import temporary_folder
from simnet.simulate import Result, run

HASH_SEEDS = ("0", "4211")
_PATIENCE = 300.0
_CLOCKS = frozenset(
    getattr(time, name)
    for name in dir(time)
    if name.removesuffix("_ns") in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    or name in ("localtime", "gmtime", "ctime")
)
"""Functions that tell what time it is."""
_TODAY = ("now", "today", "utcnow")


def same_seed(subject: Subject) -> str:
    """Twice in one process."""
    first, again = subject.result.digest, run(subject.scenario).digest
    if first != again:
        raise Failing(
            "two runs with one seed differ; draw from `streams` alone, and keep state in the peer, not in the module"
        )
    return f"two runs, one digest ({first[:12]})"


def fresh_process(subject: Subject) -> str:
    """In new processes, with other hashes of texts: the order of a set must not matter."""
    task = json.dumps(
        {"content": dict(subject.content), "folder": None if subject.folder is None else str(subject.folder)}
    )
    found = elsewhere([("content", task.encode(), {"PYTHONHASHSEED": seed}, None) for seed in HASH_SEEDS])
    if any(digest != subject.result.digest for digest in found):
        raise Failing("a new process gives another run; sort what comes out of a set, and use no `hash` and no `id`")
    return f"the same digest in new processes with PYTHONHASHSEED = {' and '.join(HASH_SEEDS)}"


def worker(subject: Subject) -> str:
    """In a worker process that has nothing but the pickled scenario, as workers of studies and clusters have."""
    try:
        task = pickle.dumps(subject.scenario)
    except Exception as error:
        raise Failing(f"the scenario cannot be pickled ({error}); let fields hold plain values") from None
    with temporary_folder("a worker") as empty:
        (digest,) = elsewhere([("pickle", task, {}, empty)])
    if digest != subject.result.digest:
        raise Failing("a worker process gives another run; its module must read nothing that is not in the scenario")
    return "the scenario travels to a worker in an empty folder, and gives the same digest"


Errand = tuple[str, bytes, dict[str, str], Path | None]
"""How the scenario is given, the scenario, the environment, and the folder to be in."""


def elsewhere(errands: list[Errand]) -> list[str]:
    """The digests that processes of their own find, all at once. What one of them says instead is a failure."""
    path = os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each)
    running = []
    for how, _, extra, folder in errands:
        command = [sys.executable, "-m", "simnet.check.elsewhere", how]
        environment = os.environ | {"PYTHONPATH": path} | extra
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=folder))
    found = []
    for process, (_, task, _, _) in zip(running, errands, strict=True):
        told, said = process.communicate(task, timeout=_PATIENCE)
        if process.returncode:
            last = said.decode(errors="replace").strip().splitlines()[-1:] or ["it ended without a word"]
            raise Failing(f"in a process of its own: {last[0]}")
        found.append(told.decode().strip())
    return found


def own_noise(subject: Subject) -> str:
    """With another noise, and everything else as it was, every release that is paid for as noisy is another."""
    if not subject.noisy:
        raise Inapplicable("it has no noise")
    other = run(subject.scenario.with_(**{"privacy.noise_name": "another"}))
    kept, changed = noisy_releases(subject.result), noisy_releases(other)
    same = [place for place, value in kept.items() if changed.get(place) == value]
    if same:
        agent, t = same[0]
        raise Failing(
            f"agent {agent} releases the same in round {t} whatever the noise is; draw it from "
            'streams.generator("noise", place.agent), and nowhere else'
        )
    return f"another noise changes all {len(kept)} noisy releases"


def noisy_releases(result: Result) -> dict[tuple[int, int], str]:
    """What was released on a charge for noise, by agent and round."""
    paid: set[tuple[int, int]] = set()
    found: dict[tuple[int, int], str] = {}
    for _, _, event in result.events:
        if isinstance(event, events.PrivacySpent) and event.spent_on == "release":
            if event.mechanism not in ("bare-model", "recycled"):
                paid.add((event.agent, event.round))
        elif isinstance(event, events.ReleaseMade) and (event.agent, event.round) in paid:
            found[event.agent, event.round] = event.value
    return found


def own_chance(subject: Subject) -> str:
    """The generators that a whole process shares are left alone."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        start = _shared_states()
        run(subject.scenario)
        used = [name for name, state in _shared_states().items() if state != start[name]]
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
    if used:
        raise Failing(f"it uses {used[0]}, which all agents share; take a generator from `streams` instead")
    return "numpy.random and random are left alone"


def _shared_states() -> dict[str, str]:
    return {"numpy.random": repr(np.random.get_state()), "random": repr(random.getstate())}  # noqa: NPY002


def no_clock(subject: Subject) -> str:
    """Real time is not read: a run that depends on it cannot be repeated."""
    seen: list[str] = []
    with _watching(subject.own_package, seen.append):
        run(subject.scenario)
    if seen:
        raise Failing(f"{seen[0]}; a peer knows no clock, and figures of time are the simulation's")
    return "no clock is read"


@contextmanager
def _watching(package: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell of every call of a clock by code of this package."""

    def look(frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or not _tells_time(function):
            return
        name = str(frame.f_globals.get("__name__", ""))
        if name == package or name.startswith(f"{package}."):
            tell(
                f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}, asks {function.__name__}() for the time"
            )

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def _tells_time(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return function.__name__ in _TODAY
    try:
        return function in _CLOCKS
    except TypeError:  # a method of something that has no hash
        return False
