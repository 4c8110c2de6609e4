"""The page of a run."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

import networkx as nx
import numpy as np
import tomli_w

from simnet.record.folder import slug
from simnet.record.metrics import Row
from simnet.report.page import asset, bytes_of, cards, colours, columns, facts, figure, page, percent, seconds
from simnet.report.run_facts import RunFacts

_SCRIPTS = ("format.js", "chart.js", "table.js", "graph.js", "replay.js", "run.js")
_LINKS = 4_000
"""Links that a drawing shows; beyond, those with the most messages."""
_ROUNDS = 2_000
"""Points of a curve; a screen shows no more."""
_EXACT = 60
"""Up to so many agents, distances on the page follow distances in the graph exactly; beyond, springs are cheaper."""
_DRAWN, _CROSSED = 2_000, 10_000
"""Beyond so many agents or links, a drawing shows nothing but its outline, so a circle will do."""


def run_page(run: RunFacts) -> str:
    """HTML, the same for the same run folder."""
    summary, scenario = run.summary, run.start.scenario
    toml = tomli_w.dumps(_without_none(scenario))
    shape = f"{summary['agents']:,} agents, {summary['edges']:,} links, {summary['rounds']:,} rounds"
    body = Template(asset("run.html")).substitute(
        name=html.escape(summary["scenario"]),
        method=html.escape(summary["algorithm"]),
        shape=shape,
        seed=summary["seed"],
        events=f"{summary['time']['events']:,}",
        private=" It is a private log: it also holds what was not released." if run.start.private else "",
        cards=cards(card_entries(summary)),
        reports=_reports(run),
        basis=html.escape(summary["privacy"]["basis"]),
        promise=_promise(summary["privacy"]) + _fitness(summary["privacy"]),
        again=_again(run),
        toml=html.escape(toml),
        facts=facts(_identity(run)),
        environment=facts(_environment(run.environment)),
        folder=html.escape(f"runs/{slug(summary['scenario'])}/{summary['digest'][:12]}"),
        digest=summary["digest"],
    )
    return page(summary["scenario"], colours(summary["algorithm"]), body, _SCRIPTS, _data(run, toml))


def replay_data(run: RunFacts) -> dict[str, Any]:
    """The network of a run and what happened in it, for a replay, and its curves."""
    return {
        "test_error_is": run.summary.get("test_error_is"),
        "places": layout(run.summary["agents"], run.start.edges, run.summary["seed"]),
        "links": columns(run.links.rows(_LINKS)),
        "rounds": columns(_thinned(run.rounds)),
        "tape": run.playback.columns(),
    }


def _data(run: RunFacts, toml: str) -> dict[str, Any]:
    return {
        "name": slug(run.summary["scenario"]),
        "method": run.summary["algorithm"],
        "budget": run.summary["privacy"]["epsilon"],
        "observers": run.summary["privacy"].get("observers"),
        "simulated": run.summary["time"]["simulated"],
        "yardsticks": run.summary.get("yardsticks", {}),
        "measures": list(run.summary.get("measures", ())),
        "output": run.summary.get("output"),
        **replay_data(run),
        "links_in_all": len(run.links),
        "rounds_in_all": len(run.rounds),
        "agents": columns(run.agents),
        "agents_step": run.step,
        "staleness": {"value": list(run.staleness), "count": list(run.staleness.values())},
        "flow": run.flow.intervals(),
        "charges": columns(run.charges.entries),
        "charges_in_all": run.charges.count,
        "kinds": columns(run.charges.kinds),
        "accounts": columns(run.accounts),
        "toml": toml,
    }


def card_entries(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The name, figure and remark of each figure of a run."""
    accuracy, privacy, traffic = summary["accuracy"], summary["privacy"], summary["communication"]
    stale, time = summary["staleness"], summary["time"]
    turns = traffic["broadcasts"] + traffic["skips"]
    told = [
        _test_error(summary),
        *_yardsticks(summary),
        *(
            (name.replace("_", " ").capitalize(), figure(value), "")
            for name, value in summary.get("measures", {}).items()
        ),
        ("Train loss", figure(accuracy["train_loss"]), "mean over agents, own rows"),
        ("Dual drift", figure(accuracy["dual_drift"]), "0 on a perfect network"),
        ("ε proven", figure(privacy["proven_epsilon"]), f"at δ = {privacy['delta']:g}"),
        ("ε claimed", figure(privacy["claimed_epsilon"]), "what the paper’s theorem says of this noise"),
        *(
            ("ε declared", figure(epsilon), "what the method’s author says, without a proof here")
            for name, epsilon in privacy.items()
            if name == "declared_epsilon"
        ),
        ("On the wire", bytes_of(traffic["wire_bytes"]), f"{traffic['messages']:,} messages"),
        ("Delivered", percent(_share(traffic["delivered"], traffic["messages"])), _fates(traffic)),
        ("Skipped", percent(_share(traffic["skips"], turns)), _reasons(summary, turns)),
        ("Staleness", figure(stale["mean"]), f"rounds; {percent(stale['fresh_share'])} fresh, at most {stale['max']}"),
        (
            "Age",
            seconds(stale["p95_seconds"]),
            f"95th percentile of used values; mean {seconds(stale['mean_seconds'])}",
        ),
        ("Missed", percent(stale["missed_share"]), "of the values used: a newer release had not arrived"),
        ("Gradients", _count(summary["work"]["gradients"]), "evaluated by all agents"),
        ("Simulated", seconds(time["simulated"]), f"{seconds(time['wall'])} of computing" if time["wall"] else ""),
        *_busiest(summary),
    ]
    if air := summary.get("airtime"):
        told.append(
            ("Airtime", seconds(air["sent"]), f"the channel was busy {percent(air['utilisation'])} of the time")
        )
    if joules := summary.get("joules"):
        parts = ", ".join(f"{figure(value)} {name}" for name, value in joules.items())
        told.append(("Joules", figure(sum(joules.values())), parts))
    return told


def _test_error(summary: Mapping[str, Any]) -> tuple[str, str, str]:
    """The task's error: a share, unless the task says otherwise."""
    found, what = summary["accuracy"]["test_error"], summary.get("test_error_is")
    of = f", of {summary['output']}" if "output" in summary else ""
    return (
        "Test error",
        percent(found) if what is None else figure(found),
        f"{what or ''}, mean over agents{of}".strip(", "),
    )


def _yardsticks(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What the test error is held against, where the folder knows it."""
    found = summary.get("yardsticks", {})
    how = percent if summary.get("test_error_is") is None else figure
    best = "" if found.get("best_optimum") is None else f"; at best {how(found['best_optimum'])}"
    words = {"constant": "the best that is the same for all rows", "optimum": f"of all rows without privacy{best}"}
    titles = {"constant": "Constant answer", "optimum": "Optimum"}
    return [(titles[name], how(found[name]), words[name]) for name in titles if found.get(name) is not None]


def _busiest(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The busiest physical link of an underlay."""
    if "underlay" not in summary:
        return []
    found = summary["underlay"]
    return [
        ("Busiest link", percent(found["utilisation"]), f"{found['busiest']}; routes over it: {found['shared_by']}")
    ]


def _fates(traffic: Mapping[str, int]) -> str:
    names = ("lost", "overflowed", "unreachable", "refused", "in_flight")
    return ", ".join(f"{traffic[name]:,} {name.replace('_', ' ')}" for name in names if traffic[name]) or "all of them"


def _reasons(summary: Mapping[str, Any], turns: int) -> str:
    """How many rounds were skipped, and why."""
    told = ", ".join(f"{count:,} {reason}" for reason, count in summary["skips_by_reason"].items() if count)
    return f"{summary['communication']['skips']:,} of {turns:,} rounds" + (f": {told}" if told else "")


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _promise(privacy: Mapping[str, Any]) -> str:
    if privacy["proven_epsilon"] is None:
        declared = privacy.get("declared_epsilon")
        said = "" if declared is None else f" Its method’s author declares ε = {figure(declared)}; no proof is here."
        return f"No proof bounds what this run gave away.{said}"
    against = "".join(
        f" Against {_observer(name)} ε is {figure(epsilon)}."
        for name, epsilon in (privacy.get("observers") or {}).items()
        if not isinstance(epsilon, dict)
    )
    return (
        f"One row of training data lives at one agent, so the worst agent counts: the run is "
        f"({figure(privacy['proven_epsilon'])}, {privacy['delta']:g})-differentially private by proof.{against}"
    )


def _again(run: RunFacts) -> str:
    """Who can repeat the run."""
    if run.start.noise_key is not None or run.start.published:
        return "Its noise is not in this record. The log verifies and replays, but nobody else can repeat the run."
    same = "The same scenario, seed and version give the same digest, on nearly every machine."
    return f"Save the scenario below as <code>scenario.toml</code>. {same}"


def _fitness(privacy: Mapping[str, Any]) -> str:
    """What the record may be given away for, and what ε does not cover."""
    if not privacy.get("fit"):
        return ""
    told = [
        f"This record is {privacy['fit']}",
        *(f"ε does not cover everything: {each}" for each in privacy["caveats"]),
    ]
    return "".join(f"</p>\n<p>{html.escape(sentence)}." for sentence in told)


def _observer(name: str) -> str:
    """The name that summary.json has for an observer, in words."""
    words = {"eavesdropper": "an eavesdropper on all links", "agent": "any single agent"}
    return words.get(name, f"the agents {name.replace('+', ', ')} together")


def _reports(run: RunFacts) -> str:
    if not run.flow.reports:
        return ""
    told = f"Before the first round {run.flow.reports:,} rows travelled, each in its own message"
    return f"<p>{told}; the charts leave them out.</p>"


def _identity(run: RunFacts) -> dict[str, str]:
    summary = run.summary
    return {
        "Digest": summary["digest"],
        "Seed": str(summary["seed"]),
        "Events": f"{summary['time']['events']:,}",
        "simnet": run.start.version,
        "Event schema": str(run.start.schema),
        "Features": f"{run.start.features:,}",
        "Training rows": f"{sum(run.start.rows):,}",
    }


def _environment(environment: Mapping[str, Any] | None) -> dict[str, str]:
    if environment is None:
        return {"Environment": "unknown: the log came without its run folder"}
    found: dict[str, str] = {}
    for name, value in environment.items():
        if isinstance(value, Mapping):
            found |= {str(package): str(version) for package, version in value.items()}
        else:
            found[name] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return found


def _without_none(value: Any) -> Any:
    """TOML has no null: a field that is not set is left out."""
    if isinstance(value, Mapping):
        return {name: _without_none(each) for name, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list) else value


def _thinned(rows: Sequence[Row]) -> Sequence[Row]:
    step = -(-len(rows) // _ROUNDS)
    return rows if step <= 1 else [*rows[:-1:step], rows[-1]]


def layout(agents: int, edges: Sequence[tuple[int, int]], seed: int) -> list[tuple[float, float]]:
    """A place in the unit square for every agent, the same for the same graph and seed."""
    if agents > _DRAWN or len(edges) > _CROSSED or len(edges) == agents * (agents - 1) // 2:
        turns = 2 * np.pi * np.arange(agents) / agents
        places = np.column_stack((np.cos(turns), np.sin(turns)))
    else:
        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(agents))
        graph.add_edges_from(edges)
        if agents <= _EXACT and nx.is_connected(graph):
            found = nx.kamada_kawai_layout(graph)
        else:
            found = nx.spring_layout(graph, seed=seed % 2**32, iterations=100)
        places = np.array([found[agent] for agent in range(agents)])
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high - low > 1e-9, high - low, 1.0)
    middle = np.where(high - low > 1e-9, 0.0, 0.5)
    return [(round(float(x), 4), round(float(y), 4)) for x, y in (places - low) / span + middle]
