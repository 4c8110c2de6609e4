"""What the study of the frontier tries: its methods, the settings of each, and at which ε a setting is tried.

Few rows are set aside for tuning, so an agent has m' of them where it will have m in a report. At the same ε it would
add m/m' times the noise, and the best setting would be another one. So every setting is tried at an ε' of its own, the
one with which its noise is that of the report (`matched`), by simnet's own calibration of both. ε' is no promise to
anybody: rows set aside are taken as public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from simnet import Scenario
from simnet.build import build
from simnet.errors import BudgetError
from simnet.methods.method import AgentSize
from simnet.privacy.budget import NoisePlan
from simnet.privacy.moments_plan import MomentsPlan
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.privacy.objective_perturbation import PerturbationPlan

EPSILONS = (0.25, 1.0, 4.0)
TUNING_SEEDS = tuple(range(1, 9))
REPORT_SEEDS = tuple(range(101, 111))

Settings = dict[str, Any]
"""Dotted field → value."""

CAPPED = {"task": {"kind": "capped-logistic", "cap": 0.5}}
LOGISTIC = {"task": {"kind": "logistic"}}
BOTH = (LOGISTIC, CAPPED)
LAST = ("last",)
AVERAGED = ("neighbours", "tail+neighbours")
FREE = (*LAST, *AVERAGED)
"""What may count as an agent's model where that is not part of the method; all are evaluated in the same runs."""
FILES = "../../methods/"


@dataclass(frozen=True)
class Entry:
    """A method, or a method used in one way, with the settings that are tried for it."""

    name: str
    tried: tuple[Settings, ...]
    outputs: tuple[str, ...] = LAST
    private: bool = True
    """Whether it promises an ε; one that does not is tried once."""


@dataclass(frozen=True)
class Case:
    """Entries that are tuned on the same rows with the same graph."""

    name: str
    base: Settings
    entries: tuple[Entry, ...]
    epsilons: tuple[float, ...] = EPSILONS
    budgets: Mapping[str, float] = field(default_factory=dict)
    """Of the frontier: the best setting of all methods on scaled columns within so many bytes."""

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]


def every(*axes: Iterable[Settings]) -> tuple[Settings, ...]:
    """Every combination."""
    return tuple({name: value for part in parts for name, value in part.items()} for parts in product(*axes))


def axis(name: str, *values: Any) -> list[Settings]:
    return [{name: value} for value in values]


def called(name: str, **fixed: Any) -> list[Settings]:
    return [{"algorithm.name": name} | {f"algorithm.{key}": value for key, value in fixed.items()}]


def doubled(first: float, count: int, factor: float = 2.0) -> list[float]:
    """`first`, twice that, and so on, to three digits."""
    return [float(f"{first * factor**k:.3g}") for k in range(count)]


def eta(*values: float) -> list[Settings]:
    return axis("algorithm.eta", *values)


ETAS = eta(1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
MIDDLES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""Of the penalties of MR-ADMM's agents."""
OURS = ("one-shot", "prox-rounds", "noisy-nesterov", "scaled-pp-admm")
"""The methods on scaled columns."""
PAPERS = ("pp-admm", "ipp-admm", "r-admm", "mr-admm")


def flooded(
    solves: Sequence[int], reach: int, penalties: Sequence[float], tasks: Sequence[Settings]
) -> tuple[Settings, ...]:
    """Prox rounds: moments and every model are told on for `reach` rounds."""
    rounds = [{"algorithm.solves": count, "rounds": reach * (count + 1)} for count in solves]
    opening = called("prox-rounds", moment_rounds=reach)
    return every(opening, rounds, axis("algorithm.penalty", *penalties), tasks)


def ring_of_five() -> tuple[Entry, ...]:
    """Five agents with thousands of rows."""
    thirty = axis("rounds", 30)
    penalties = axis("algorithm.penalty", *doubled(5e-5, 7))
    return (
        Entry("one-shot", every(called("one-shot"), axis("rounds", 4), penalties, BOTH)),
        Entry("one-shot-unscaled", every(called("one-shot", scaled=False), axis("rounds", 2), penalties, BOTH)),
        Entry("prox-rounds", flooded((2, 4, 6, 8), 2, doubled(2e-4, 7), [CAPPED])),
        Entry(
            "noisy-nesterov",
            every(called("noisy-nesterov"), axis("rounds", 5, 17, 32), steps(5.0, 5), BOTH),
            FREE,
        ),
        Entry("scaled-pp-admm", every(called("scaled-pp-admm"), axis("rounds", 5, 17), ETAS[:6]), FREE),
        Entry("pp-admm", every(called("pp-admm"), thirty, ETAS)),
        Entry("pp-admm-averaged", every(called("pp-admm"), thirty, ETAS), AVERAGED),
        Entry("ipp-admm", every(called("ipp-admm"), thirty, *skips(5, 15, 30), ETAS[1:6])),
        Entry(
            "r-admm",
            every(called("r-admm", gamma=0.0), axis("algorithm.noise", "gamma", "gaussian"), thirty, ETAS[2:]),
        ),
        Entry("mr-admm", every(called("r-admm", gamma=0.0, noise="gaussian"), thirty, [spread(5, m) for m in MIDDLES])),
        Entry("pp-admm-stopped", every(called("pp-admm"), axis("rounds", 5, 15), ETAS[1:6])),
        Entry("pp-admm-few", every(called("pp-admm"), axis("rounds", 2, 4), eta(*doubled(1.25e-4, 6))), AVERAGED),
        Entry("dp-gossip", every(called(f"{FILES}dp_gossip.py:DpGossip"), axis("rounds", 10, 30), steps(2.0, 8)), FREE),
        Entry(
            "noisy-fixed-point",
            every(
                called(f"{FILES}noisy_fixed_point.py:NoisyFixedPoint"),
                axis("topology.kind", "complete"),
                axis("rounds", 15),
                axis("algorithm.gamma", 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0),
                axis("algorithm.relaxation", 0.5, 1.0),
            ),
        ),
        Entry(
            "cancelling-gossip",
            every(
                called("gossip", pair_sigma=1.0),
                axis("network.codec", "float64"),
                axis("rounds", 20),
                axis("algorithm.regulariser", 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
            ),
        ),
        Entry(
            "coca",
            every(called(f"{FILES}coca.py:Coca"), thirty, ETAS[:5], axis("algorithm.censoring", 0.5, 2.0)),
            private=False,
        ),
        Entry(
            "choco",
            every(
                called(f"{FILES}choco.py:Choco"), axis("rounds", 60), steps(4.0, 5), axis("algorithm.entries", 10, 30)
            ),
            private=False,
        ),
        Entry(
            "trusted-hub",
            every(
                called("dp-admm", hub="trusted"),
                axis("topology.kind", "star"),
                thirty,
                eta(10.0, 30.0, 100.0),
                axis("algorithm.penalty", 1e-3, 1e-2),
            ),
        ),
    )


def skips(*most: int) -> tuple[list[Settings], list[Settings]]:
    return axis("algorithm.max_releases", *most), axis("algorithm.threshold", 0.0, 0.01)


def steps(first: float, count: int) -> list[Settings]:
    return axis("algorithm.step", *doubled(first, count))


def spread(agents: int, middle: float) -> Settings:
    """Penalties of the agents' own, from half of the middle one to twice that, as MR-ADMM has them; one dual step."""
    own = [float(f"{middle * 2 ** (2 * agent / (agents - 1) - 1):.3g}") for agent in range(agents)]
    return {"algorithm.eta": middle, "algorithm.agent_eta": own, "algorithm.dual_step": middle}


def regular_twenty() -> tuple[Entry, ...]:
    """Twenty agents with four neighbours each."""
    thirty = axis("rounds", 30)
    penalties = axis("algorithm.penalty", *doubled(8e-4, 4, 3.0))
    return (
        Entry("one-shot", every(called("one-shot", moment_rounds=3), axis("rounds", 6), penalties, [CAPPED])),
        Entry("prox-rounds", flooded((2, 4), 3, doubled(1.6e-3, 3, 3.0), [CAPPED])),
        Entry(
            "noisy-nesterov",
            every(called("noisy-nesterov", moment_rounds=3), axis("rounds", 15, 24, 27), steps(5.0, 6), [CAPPED]),
            FREE,
        ),
        Entry("pp-admm", every(called("pp-admm"), thirty, ETAS[2:])),
        Entry("ipp-admm", every(called("ipp-admm"), thirty, *skips(5, 15), ETAS[3:])),
        Entry("pp-admm-few", every(called("pp-admm"), axis("rounds", 4, 12), ETAS[2:6]), AVERAGED),
        Entry("dp-gossip", every(called(f"{FILES}dp_gossip.py:DpGossip"), axis("rounds", 15, 30), steps(2.0, 7)), FREE),
    )


IJCNN1 = {"data.source": "ijcnn1", "data.tuning": 4990}
WAVEFORM = {"data.source": "waveform", "data.rows": 45_222}
REGULAR = {"topology.kind": "regular", "topology.agents": 20, "topology.degree": 4}
CASES = {
    case.name: case
    for case in (
        Case("adult", {}, ring_of_five(), budgets={"10 kB": 10e3, "30 kB": 30e3}),
        Case("twenty", REGULAR, regular_twenty(), budgets={"400 kB": 400e3}),
    )
}


def base_of(base: Scenario, *changes: Settings) -> Scenario:
    """The study's base with a case's fields and a setting's."""
    return base.with_(**{name: value for part in changes for name, value in sections(part).items()})


def sections(settings: Settings) -> Settings:
    """The same with one table for each of algorithm, topology and task: a new kind begins anew."""
    found: Settings = {}
    for name, value in settings.items():
        section, _, inside = name.partition(".")
        if inside and section in ("algorithm", "topology"):
            found.setdefault(section, {})[inside] = value
        else:
            found[name] = value
    for table in (found.get("topology", {}), found.get("algorithm", {})):
        table.update({key: table.pop(key) for key in sorted(table)})
    if found.get("topology", {}).keys() == {"kind"}:
        found["topology"] = found["topology"] | {"agents": 5}
    return found


def matched(scenario: Scenario) -> float | None:
    """The ε' at which agents with the rows set aside add the noise that those of the report add; None if none can."""
    report, aside = _sizes(_key(scenario), scenario), _sizes(_key(scenario), scenario, use="tuning")
    try:
        wanted = _amount(scenario, report, scenario.privacy.epsilon)
    except BudgetError:
        return None
    if wanted is None:
        return scenario.privacy.epsilon
    low, high = scenario.privacy.epsilon, 1e5 * scenario.privacy.epsilon
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _enough(scenario, aside, middle, wanted) else (middle, high)
    return float(f"{high:.4g}")


def _enough(scenario: Scenario, sizes: Sequence[AgentSize], epsilon: float, wanted: float) -> bool:
    try:
        found = _amount(scenario, sizes, epsilon)
    except BudgetError:
        return False
    return found is not None and found <= wanted


def _amount(scenario: Scenario, sizes: Sequence[AgentSize], epsilon: float) -> float | None:
    """The noise on whatever the agents release, larger where there is more; None if there is none."""
    privacy = scenario.privacy.model_copy(update={"epsilon": epsilon})
    plans = scenario.algorithm.calibrate(privacy, sizes, scenario.rounds).plans
    return next((_noise(plan) for plan in plans if plan is not None), None)


def _noise(plan: NoisePlan) -> float:
    if isinstance(plan, MomentsPlan):
        return _noise(plan.then)
    if isinstance(plan, PerturbationPlan):
        return plan.sigma1
    assert isinstance(plan, NoiseSchedule)
    scale = plan.rounds[0].scale
    return 1.0 / scale if plan.noise == "gamma" else scale


def _key(scenario: Scenario) -> str:
    """What agents' sizes depend on."""
    hub = getattr(scenario.algorithm, "hub", None)
    resolved = scenario.resolved()
    return repr((resolved["data"], resolved["topology"], resolved.get("task"), hub))


_SIZES: dict[tuple[str, str | None], list[AgentSize]] = {}


def _sizes(key: str, scenario: Scenario, use: str | None = None) -> list[AgentSize]:
    """Agents' sizes in a report, or in a run that tunes."""
    if (key, use) not in _SIZES:
        calm = scenario.with_(**{"privacy.calibration": "none"} | ({"data.use": use} if use else {}))
        _SIZES[key, use] = build(calm).sizes
    return _SIZES[key, use]
