"""`plan(table, ...)`: read a user's files, say what is feasible, and give the scenario and the study that answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from pathlib import Path
from typing import Any

from simnet.build import World, build, kinds_of_links, latencies_of_their_own
from simnet.errors import ScenarioError, SimnetError
from simnet.learning.table_form import Name
from simnet.methods import METHODS
from simnet.network.delays import quantiles
from simnet.planning.feasible import Trial, feasible
from simnet.planning.user_files import (
    FilledSection,
    data_section,
    fewest_rows,
    latency_section,
    loss_section,
    topology_section,
)
from simnet.planning.writing import scenario_text, study_text
from simnet.privacy.budget import span
from simnet.record.atomic import refusing, write_file
from simnet.record.folder import slug
from simnet.record.formats import table_html
from simnet.scenario import Scenario
from simnet.scenario.overrides import with_other_parts
from simnet.scenario.toml import parse
from simnet.simulate import method_names
from simnet.studies.runs import plan as planned_runs
from simnet.studies.spec import Study

Facts = dict[str, str]
_ROUNDINGS = (1, 2, 5, 10)
_ANY = {"name": "admm"}
"""A method that runs everywhere, for a scenario of which only rows and links are asked."""


@dataclass(frozen=True)
class Plan:
    """What there is, what is feasible, and the two files that come of it."""

    scenario: Scenario
    facts: dict[str, Facts]
    """topic → fact → value"""
    settings: tuple[Trial, ...]
    refused: dict[str, str]
    """why a method has no setting"""
    runs: int
    files: dict[str, str]
    """name → text, the scenario first"""

    @property
    def study(self) -> str:
        """The study's file."""
        return [*self.files][1]

    def write(self, folder: str | Path = ".", *, force: bool = False) -> list[Path]:
        """Write both files, or none."""
        paths = {Path(folder) / name: text for name, text in self.files.items()}
        for path in paths:
            if path.exists() and not force:
                raise SimnetError(f"{path} exists already: choose another --name, or --force to replace it")
        for path, text in paths.items():
            with refusing(path, "the plan cannot be written"):
                write_file(path, text.encode())
        return [*paths]

    def __repr__(self) -> str:
        return f"Plan({self.scenario.name!r}, {len(self.settings)} settings, {self.runs} runs)"

    def _repr_html_(self) -> str:
        found = [{"what": fact, "found": told} for topic in self.facts.values() for fact, told in topic.items()]
        tried = [
            {"method": each.method, "rounds": each.rounds, "η": each.algorithm.get("eta")}
            | {"bytes at most": each.bytes, "seconds": each.seconds, "privacy": not each.control}
            for each in self.settings
        ]
        return table_html(self.scenario.name, found) + table_html(f"{self.runs} runs", tried)


@dataclass
class _Draft:
    """A scenario that is being put together."""

    content: dict[str, Any] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    found: Facts = field(default_factory=dict)

    def put(self, path: str, section: FilledSection) -> None:
        """Add a section."""
        here = self.content
        for name in path.split("."):
            here = here.setdefault(name, {})
        here |= section.content
        self.why |= {f"{path}.{name}": reason for name, reason in section.why.items()}
        self.found |= {fact: said for fact, said in section.found.items() if said}


def plan(
    source: str,
    *,
    target: float,
    epsilon: float = 1.0,
    delta: float | None = None,
    label: Name | None = None,
    positive: str | None = None,
    drop: Sequence[str] = (),
    graph: str | None = None,
    agents: int | None = None,
    trace: str | None = None,
    trace_unit: str | None = None,
    round_trip: bool | None = None,
    loss: str | float | None = None,
    burst: float | None = None,
    skew: float | None = None,
    rounds: int = 30,
    methods: Sequence[str] | str | None = None,
    seeds: int = 5,
    name: str | None = None,
    sets: Mapping[str, Any] | None = None,
) -> Plan:
    """What answers: how many bytes and seconds does a test error take, on these rows, this network and at this ε?

    Args:
        source: a table (CSV, also LIBSVM, NPZ, MAT), or a data set that simnet knows.
        target: the test error to reach.
        epsilon: ε of the whole run; `delta` is the largest power of ten below one over the training rows if absent.
        label, positive, drop: columns of the table, and the label that counts as +1.
        graph: GraphML, GML, CSV, JSON or an edge list, or `agents`: so many on a random graph.
        trace: measured delays for the links of which the graph says none; `trace_unit` where no heading says it.
        loss, burst: share of lost packets, and mean length of a run of lost ones.
        skew: Dirichlet parameter by which labels are dealt; absent: rows are dealt evenly.
        rounds: the most that an agent plays.
        methods: which to try; default: those that say so of themselves. Controls without noise come on top.
        seeds: runs of each setting.
        name: what both files are called.
        sets: further fields of the scenario, by their dotted paths.
    """
    if burst is not None and loss is None:
        raise SimnetError("--burst: says how losses come together; --loss says how many there are")
    draft = _draft(graph, agents, epsilon)
    signs = "data.labels" not in (sets or {})
    draft.put("data", data_section(source, label=label, positive=positive, drop=drop, skew=skew, signs=signs))
    if trace is not None:
        draft.put("network.link.latency", latency_section(trace, trace_unit, round_trip=round_trip))
    if loss is not None:
        draft.put("network.link.loss", loss_section(loss, burst))
    draft.content |= {"name": name or Path(source).name.partition(".")[0], "seed": 1, "rounds": rounds}
    wanted = _names(methods)
    scenario = _with(Scenario.of(draft.content | {"algorithm": _ANY}, folder=Path()), sets)
    built = build(scenario)
    _settle(draft, built, delta, sets or {})
    scenario = _with(Scenario.of(draft.content | {"algorithm": _ANY}, folder=Path()), sets)
    built = build(scenario)
    asked = _target(built, target)
    found = feasible(built, wanted, rounds)
    if not any(not each.control for each in found.settings):
        reasons = "; ".join(f"{method}: {reason}" for method, reason in found.refused.items())
        raise ScenarioError(f"no method can keep ε = {epsilon:g} here: {reasons}")
    base = max((each for each in found.settings if not each.control), key=lambda each: each.rounds)
    scenario = scenario.with_(algorithm=base.algorithm, rounds=base.rounds)
    question = f"How many bytes and seconds does a test error of {target:g} take at ε = {epsilon:g}?"
    files, runs = _files(scenario, draft.why, question, target, found.settings, seeds)
    facts = {"what there is": draft.found | _world_facts(built), "the question": asked | _budget(scenario)}
    return Plan(scenario, facts, found.settings, found.refused, runs, files)


def _draft(graph: str | None, agents: int | None, epsilon: float) -> _Draft:
    draft = _Draft()
    draft.put("topology", topology_section(graph, agents))
    draft.content["privacy"] = {"epsilon": epsilon}
    return draft


def _names(methods: Sequence[str] | str | None) -> list[str]:
    if methods is None:
        return [name for name, method in METHODS.items() if method.planned]
    return method_names(methods) if isinstance(methods, str) else list(methods)


def _with(scenario: Scenario, sets: Mapping[str, Any] | None) -> Scenario:
    return scenario if not sets else scenario.with_(**with_other_parts(scenario, sets)[0])


def _settle(draft: _Draft, built: World, delta: float | None, sets: Mapping[str, Any]) -> None:
    """What depends on the rows and links: the fewest rows per agent, δ, and the period."""
    rows = sum(built.learning.rows)
    data = FilledSection(draft.content["data"])
    fewest_rows(data, rows, built.agents)
    draft.put("data", data)
    own = float(f"1e{floor(log10(1 / rows))}")
    draft.content["privacy"]["delta"] = own if delta is None else delta
    if delta is None:
        draft.why["privacy.delta"] = f"δ, below one over the {rows:,} training rows"
    if any(field.startswith("network.pacing") for field in sets):
        return
    slowest = max((found[-1] for found in quantiles(kinds_of_links(built)).values()), default=0.0)
    if slowest > 0:
        period = _round_up(max(slowest, 1e-3))
        draft.content.setdefault("network", {})["pacing"] = {"kind": "deadline", "period": _time(period)}
        draft.why["network.pacing.period"] = f"99 of 100 values arrive within {_time(float(f'{slowest:.3g}'))}"


def _round_up(seconds: float) -> float:
    """The next of 1, 2, 5, 10 times a power of ten."""
    power = 10.0 ** floor(log10(seconds))
    return float(f"{next(size * power for size in _ROUNDINGS if size * power >= seconds * (1 - 1e-9)):.6g}")


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.6g} ms" if seconds < 1 else f"{seconds:.6g} s"


def _target(built: World, target: float) -> Facts:
    """Where the target lies between a constant answer and the optimum; SimnetError if nothing is to be asked there."""
    found = built.yardsticks().figures()
    constant, best = found["constant"], found["best_optimum"]
    if constant is not None and target >= constant:
        raise SimnetError(f"--target {target:g}: a constant answer errs {constant:.4f} already; ask for less")
    if best is not None and target < best:
        raise SimnetError(
            f"--target {target:g}: the optimum of all rows without privacy errs {best:.4f}; no method here gets below"
        )
    told = {"target": f"a test error of {target:g}"}
    told |= {} if constant is None else {"constant answer": f"{constant:.4f}, without learning anything"}
    told |= {} if best is None else {"optimum": f"{best:.4f}, of all rows in one place, without privacy"}
    return told


def _budget(scenario: Scenario) -> Facts:
    privacy = scenario.privacy
    caveats = scenario.caveats()
    return {"ε": f"{privacy.epsilon:g} at δ = {privacy.delta:g}, proven, for each row of each agent"} | (
        {"ε does not cover": "; ".join(caveats)} if caveats else {}
    )


def _world_facts(built: World) -> Facts:
    """What the graph and the links are, by the code that will use them."""
    scenario, rows = built.scenario, built.learning.rows
    degrees = [size.degree for size in built.sizes]
    kinds = kinds_of_links(built)
    found = {
        "graph": f"{built.agents} agents, {built.graph.number_of_edges()} links, {span(degrees)} neighbours",
        "rows per agent": f"{span(rows)}; {built.learning.test.rows:,} test rows",
        "features": f"{built.learning.features:,}",
    }
    links, own = built.graph.number_of_edges(), latencies_of_their_own(built)
    traced = "latency" in scenario.network.link.model_fields_set
    if traced and own == links:
        raise SimnetError(
            "--trace: every link of the graph has a latency of its own, so none would use the trace; leave it out, or "
            "take the latencies out of the graph"
        )
    if own:
        others = f", and {links - own} have that of the trace" if traced else ""
        found["latencies"] = f"{own} links have one in the graph{others}"
    for which, (_, half, late, last) in quantiles(kinds).items():
        times = [f"{1e3 * each:.3g}" for each in (half, late, last)]
        found[f"delay, {which}"] = f"half of the values within {times[0]} ms, 95 % {times[1]} ms, 99 % {times[2]} ms"
    return found


def _files(
    scenario: Scenario,
    why: Mapping[str, str],
    question: str,
    target: float,
    settings: Sequence[Trial],
    seeds: int,
) -> tuple[dict[str, str], int]:
    """Both texts, tried: the study is read and all its runs are checked."""
    called = slug(scenario.name)
    base, file = f"{called}.toml", f"{called}-study.toml"
    first = f"# Written by `simnet plan`. `simnet explain {base}` says what it means, `simnet sweep {file}` answers."
    text = scenario_text(scenario, why, first)
    study = study_text(scenario, question, target, base, settings, seeds)
    content = parse(study, file)
    del content["base"]
    again = Scenario.loads(text, name=base, folder=Path())
    assert again.content() == scenario.content(), "the scenario is not what its file says"
    return {base: text, file: study}, len(planned_runs(Study.of(content | {"scenario": again.content()})))
