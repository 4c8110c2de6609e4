"""Which methods can keep the budget on these agents, with which rounds and η, and what a run of each may send.

Public numbers decide: rows and neighbours of each agent. No row is looked at, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simnet.build import World, build, calibrate, refuse_what_gets_lost, refuse_what_never_passes
from simnet.errors import ScenarioError
from simnet.learning.partitions import EVEN
from simnet.methods.method import AgentSize
from simnet.most_traffic import most_traffic
from simnet.scenario import Scenario

_SHARES = (4, 2, 1)
"""A method may play all rounds, or this part of them: fewer rounds are fewer releases with less noise each."""
_SMALLEST, _LARGEST = 1e-4, 1e3
"""Where an η is looked for."""


@dataclass(frozen=True)
class Trial:
    """One setting that can keep the budget, or a control: the same method without noise."""

    algorithm: dict[str, Any]
    rounds: int
    control: bool
    bytes: int
    """the most that a run sends in values"""
    seconds: float | None
    """how long a run takes; None if that depends on what happens"""

    @property
    def method(self) -> str:
        return str(self.algorithm["name"])


@dataclass(frozen=True)
class Feasible:
    """The settings, and why some methods have none."""

    settings: tuple[Trial, ...]
    refused: dict[str, str]


def feasible(built: World, methods: Sequence[str], rounds: int) -> Feasible:
    """What can be tried in a world whose scenario has any method at all: settings, then their controls."""
    found: list[Trial] = []
    controls: list[Trial] = []
    refused: dict[str, str] = {}
    horizons = sorted({max(1, round(rounds / share)) for share in _SHARES})
    for method in dict.fromkeys(methods):
        try:
            trials = list(_of(built, method, horizons))
        except ScenarioError as error:
            refused[method] = str(error)
            continue
        found += [each for each in trials if not each.control]
        controls.append(replace(trials[-1], control=True))
    return Feasible((*found, *controls), refused)


def _of(built: World, method: str, horizons: Sequence[int]) -> Iterator[Trial]:
    wanted = built.scenario.with_method(method)
    last: ScenarioError | None = None
    there = False
    for rounds in horizons:
        try:
            for found in _settings(built, wanted.with_(rounds=rounds)):
                there = True
                yield found
        except ScenarioError as error:
            last = error
    if not there and last is not None:
        raise last


def _settings(built: World, scenario: Scenario) -> Iterator[Trial]:
    """With the η that the method has by default, and with the smallest that keeps the budget if that is far from it."""
    eta = getattr(scenario.algorithm, "eta", None)
    if not isinstance(eta, float):
        yield _setting(built, scenario)
        return
    least = _least_eta(built, scenario)
    etas = {eta / 10, eta} if least <= eta / 10 else {least, eta} if least <= eta / 2 else {max(least, eta)}
    for each in sorted(etas):
        yield _setting(built, scenario.with_(**{"algorithm.eta": each}))


def _least_eta(built: World, scenario: Scenario) -> float:
    """The least that keeps the budget, to about two digits; ScenarioError if there is none."""
    worst = _worst(built)

    def fits(eta: float) -> bool:
        try:
            calibrate(scenario.with_(**{"algorithm.eta": eta}), worst)
        except ScenarioError:
            return False
        return True

    high = getattr(scenario.algorithm, "eta", _SMALLEST)
    if not fits(high):
        while not fits(high):
            low, high = high, 2.0 * high
            if high > _LARGEST:
                calibrate(scenario, worst)  # says why not
    elif fits(_SMALLEST):
        return _SMALLEST
    else:
        low = _SMALLEST
    while low < (middle := float(f"{(low * high) ** 0.5:.2g}")) < high:
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _worst(built: World) -> list[AgentSize]:
    """The agents for whom a budget is hardest to keep under any seed: it deals other rows and draws other graphs.

    The others share what is left, so that a reason which counts agents and rows counts the true ones.
    """
    data, sizes = built.scenario.data, built.sizes
    least = min(size.rows for size in sizes)
    if data.partition.word != EVEN.word:
        least = min(least, data.min_rows or 1)
    degrees = {size.degree for size in sizes} | (set() if built.scenario.topology.word == "file" else {1})
    worst = [replace(sizes[0], rows=least, degree=degree) for degree in sorted(degrees)]
    others = len(sizes) - len(worst)
    if others <= 0:
        return worst
    left = (sum(size.rows for size in sizes) - least * len(worst)) // others
    return [*worst, *[replace(sizes[0], rows=max(least, left))] * others]


def _setting(built: World, scenario: Scenario) -> Trial:
    """What one setting may cost."""
    world = _world(built, scenario)
    tick = scenario.network.pacing.tick
    written = scenario.content()["algorithm"]
    written = {"name": written.pop("name")} | written
    seconds = None if tick is None else float(f"{scenario.rounds * tick:.6g}")
    return Trial(written, scenario.rounds, not world.calibration.noisy, most_traffic(world).wire_bytes, seconds)


def _world(built: World, scenario: Scenario) -> World:
    """The same rows, graph and links under another method, if its rows stay where they are."""
    method = scenario.algorithm
    if method.central or method.reports_from is not None or method.public_share:
        return build(scenario)
    calibrate(scenario, _worst(built))
    world = replace(built, scenario=scenario, calibration=calibrate(scenario, built.sizes))
    refuse_what_never_passes(scenario, built.graph, world.length)
    refuse_what_gets_lost(scenario, built.graph)
    return world
