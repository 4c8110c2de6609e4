"""The studies that report the frontier: what was chosen, on other networks, labels, data and numbers of agents.

No setting is chosen here. What was chosen for even labels on an ideal network is carried over by rules that are stated:
`patient` where messages may be lost, `carried` where agents have other numbers of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.frontier_grids import EPSILONS, IJCNN1, OURS, PAPERS, REPORT_SEEDS, SLANTED, WAVEFORM, Settings

BARRIER = {"kind": "barrier", "patience": "500 ms"}
NETWORKS: dict[str, dict[str, Any]] = {
    "ideal": {"pacing": "ideal"},
    "lossy WAN": {"pacing": BARRIER, "link": {"preset": "wan", "loss": 0.1}},
    "4G": {"pacing": BARRIER, "link": {"preset": "4g"}},
    "radio cell": {"pacing": BARRIER, "channel": {"kind": "csma"}},
}
POWER = {"send_watts": 1.14, "receive_watts": 0.939, "idle_watts": 0.819, "compute_watts": 2.0}
WORK = {"cost.energy": POWER, "compute": {"time": {"kind": "uniform", "low": "5 ms", "high": "15 ms"}}}
SKEWED = {"data.partition": "skewed", "data.concentration": 1.0, "data.min_rows": 4000}

FLOODED = ("one-shot", "prox-rounds")
BUDGETED = ("frontier, 10 kB", "frontier, 30 kB")
RIVALS = (*PAPERS, "pp-admm-few", "dp-gossip")
ELSEWHERE = (*RIVALS, *BUDGETED)
"""What is compared on other data, and on networks with labels dealt unevenly."""
ON_NETWORKS = (*ELSEWHERE, *OURS, "pp-admm-averaged", "pp-admm-stopped", "cancelling-gossip")
ON_A_RING = (*ELSEWHERE, *OURS, "one-shot-unscaled", "pp-admm-averaged", "pp-admm-stopped")
A_HUNDRED = ("frontier, 400 kB", "noisy-nesterov", "pp-admm", "ipp-admm", "dp-gossip")
"""What a hundred agents are compared by on networks."""
OTHER = {"ijcnn1": (IJCNN1, 7875), "waveform": (WAVEFORM, 7000)}
"""Other data, and how many rows an agent has there."""
UNEVEN: dict[str, Sequence[float]] = {"pp-admm-averaged": (4.0,)}
"""At which ε an entry cannot be met where agents have 4,000 to 17,000 rows, with settings for the smallest."""
AS_CHOSEN = UNEVEN | {"one-shot-unscaled": EPSILONS, "one-shot": (0.25, 4.0), "frontier, 10 kB": (0.25, 4.0)}
"""The same with settings as they were chosen, for 7,000 rows."""


def together(rows: Sequence[Settings]) -> dict[str, list[Any]]:
    """Lists that go together."""
    fields = dict.fromkeys(field for row in rows for field in row)
    return {field: [row[field] for row in rows] for field in fields}


def study(name: str, question: str, rows: Sequence[Settings], **fields: Any) -> dict[str, Any]:
    """A study that reports, as its file says it; `fields` are the same in all of its runs."""
    head = {"name": f"frontier {name}", "question": question, "base": "base.toml", "replicates": list(REPORT_SEEDS)}
    grid = {field: [value] for field, value in fields.items()}
    return head | ({"grid": grid} if grid else {}) | {"zip": [together(rows)]}


def patient(row: Settings) -> Settings:
    """The same with twice the rounds for telling on, where messages may be lost."""
    algorithm, more = dict(row["algorithm"]), 0
    if algorithm["name"] in OURS and algorithm.get("scaled", True):
        more = algorithm.get("moment_rounds", 2)
        algorithm["moment_rounds"] = 2 * more
    rounds = row["rounds"] + (row["rounds"] if algorithm["name"] in FLOODED else more)
    return row | {"rounds": rounds, "algorithm": algorithm}


def on(row: Settings, link: str) -> Settings:
    """The same on a network."""
    parts = {f"network.{name}": NETWORKS[link].get(name, {}) for name in ("pacing", "link", "channel")}
    return patient(row) | {"name": f"{row['name']} on {link}"} | parts


def everywhere(rows: Iterable[Settings], links: Iterable[str] = tuple(NETWORKS)) -> list[Settings]:
    """All rows on all networks."""
    return [on(row, link) for row in rows for link in links]


def carried(row: Settings, rows: int, to: int) -> Settings:
    """Settings of agents with so many rows for agents `to` whom others are dealt: what holds a model back is as 1/m."""
    algorithm = dict(row["algorithm"])
    for field in ("penalty", "eta", "dual_step"):
        if field in algorithm:
            algorithm[field] = float(f"{algorithm[field] * rows / to:.3g}")
    if "agent_eta" in algorithm:
        algorithm["agent_eta"] = [float(f"{value * rows / to:.3g}") for value in algorithm["agent_eta"]]
    return row | {"algorithm": algorithm}


def hundred(row: Settings) -> Settings:
    """What was chosen for twenty agents, for a hundred: paths are longer, so there is more time for telling on."""
    return patient(carried(row, 1750, 350)) | {"topology": row["topology"] | {"agents": 100}}


def named(rows: Iterable[Settings], names: Sequence[str]) -> list[Settings]:
    """Those rows, in their order."""
    return [row for row in rows if row["name"] in names]


def reports(rows: Mapping[str, Sequence[Settings]]) -> dict[str, dict[str, Any]]:
    """The studies that report, by their names, from the rows of what was chosen in each case."""
    budgeted = [row for case in ("adult", "twenty") for row in rows.get(case, ()) if row["name"].startswith("frontier")]
    lossy = everywhere(budgeted, ("ideal", "lossy WAN"))
    told = five(rows["adult"]) | {"loss": study("loss", "What does a loss of 10 % cost?", lossy, **WORK)}
    if "slanted" in rows:
        question = "What if settings were chosen on labels that are dealt alike?"
        told["slanted-tuned"] = study("slanted tuned", question, rows["slanted"], **SLANTED)
    return told | (many(rows["twenty"]) if "twenty" in rows else {})


def five(even: Sequence[Settings]) -> dict[str, dict[str, Any]]:
    """Those of five agents on a ring."""
    wide = [row | {"name": "pp-admm, float64", "network.codec": "float64"} for row in named(even, ("pp-admm",))]
    ring, few = named(even, ON_A_RING), named(even, ELSEWHERE)
    met, small = (
        [row for row in ring if row["privacy.epsilon"] not in unmet.get(row["name"], ())]
        for unmet in (AS_CHOSEN, UNEVEN)
    )
    told = {
        "adult": study("adult", "Which method errs least for its bytes at the same ε?", [*even, *wide]),
        "networks": study("networks", "What do real networks change?", everywhere(named(even, ON_NETWORKS)), **WORK),
        "skewed": study("skewed", "What if labels and sizes are dealt unevenly?", met, **SKEWED),
        "skewed-carried": study(
            "skewed carried",
            "What if settings are those of the agent with the fewest rows?",
            [carried(row, 7000, 4000) for row in small],
            **SKEWED,
        ),
        "slanted": study("slanted", "What if one agent has 1 % positives and another 48 %?", ring, **SLANTED),
        "slanted-networks": study("slanted networks", "And on real networks?", everywhere(few), **SLANTED, **WORK),
    }
    for name, (data, agent_rows) in OTHER.items():
        own = [carried(row, 7000, agent_rows) for row in few]
        own_wide = [carried(row, 7000, agent_rows) for row in wide]
        told[name] = study(name, "Is it so on rows that nothing was chosen on?", [*own, *own_wide], **data)
        told[f"{name}-networks"] = study(f"{name} networks", "And on real networks?", everywhere(own), **data, **WORK)
    return told


def many(twenty: Sequence[Settings]) -> dict[str, dict[str, Any]]:
    """Those of twenty agents, and of a hundred."""
    crowd = [hundred(row) for row in twenty]
    uneven = "What if labels rise from agent to agent?"
    return {
        "twenty": study("twenty", "What if twenty agents have the rows of five?", twenty),
        "twenty-slanted": study("twenty slanted", uneven, twenty, **SLANTED),
        "twenty-networks": study("twenty networks", "And on real networks?", everywhere(twenty), **WORK),
        "hundred": study("hundred", "What if a hundred agents have the rows of five?", crowd),
        "hundred-slanted": study("hundred slanted", uneven, crowd, **SLANTED),
        "hundred-networks": study(
            "hundred networks", "And on real networks?", everywhere(named(crowd, A_HUNDRED)), **WORK
        ),
    }
