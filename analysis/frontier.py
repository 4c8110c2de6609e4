"""The study of the frontier: settings are chosen on rows set aside, and reported on all others.

    python -m analysis.frontier tune results/frontier      # every setting of every entry, on the rows set aside
    python -m analysis.frontier choose results/frontier    # the studies that report, and what was chosen
    python -m analysis.frontier report results/frontier    # runs these
    python -m analysis.frontier audit                      # audits what is private in the study `adult`, at ε = 1
    python -m analysis.frontier store results/frontier     # one row per run, in docs/frontier
    python -m analysis.frontier page                       # tables and figures of docs/frontier.md from that

`analysis/frontier_grids.py` has the entries with their grids. The rule of `simnet tune` chooses one setting per entry
and ε, and of all methods on scaled columns the best one within each budget of bytes. All commands go on where they were
stopped. Data that are not here are left out, and so is what was stored of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from analysis.frontier_grids import (
    CASES,
    IJCNN1,
    OURS,
    REPORT_SEEDS,
    TUNING_SEEDS,
    WAVEFORM,
    Case,
    Entry,
    Settings,
    base_of,
    matched,
    sections,
)
from analysis.frontier_page import fill
from simnet import Scenario
from simnet.audit import Audit, audit
from simnet.errors import ScenarioError, SimnetError
from simnet.studies.pool import cores
from simnet.studies.results import StudyResult
from simnet.studies.runs import PlannedRun
from simnet.studies.spec import Study
from simnet.studies.sweep import executor, plan_sweep, read, sweep
from simnet.studies.tuning import Budget, Choice, choose

HERE = Path(__file__).parents[1] / "scenarios" / "studies" / "frontier"
STORED = Path("docs/frontier")
TOLD = "# Made by `python -m analysis.frontier choose` from what was tuned; see docs/frontier.md.\n\n"

AUDIT = Audit(runs=30, evidence="rounds")
BARRIER = {"kind": "barrier", "patience": "500 ms"}
NETWORKS: dict[str, dict[str, Any]] = {
    "ideal": {"pacing": "ideal"},
    "lossy WAN": {"pacing": BARRIER, "link": {"preset": "wan", "loss": 0.1}},
    "4G": {"pacing": BARRIER, "link": {"preset": "4g"}},
    "radio cell": {"pacing": BARRIER, "channel": {"kind": "csma"}},
}
POWER = {"send_watts": 1.14, "receive_watts": 0.939, "idle_watts": 0.819, "compute_watts": 2.0}
WORK = {"cost.energy": [POWER], "compute": [{"time": {"kind": "uniform", "low": "5 ms", "high": "15 ms"}}]}
SKEWED = {"data.partition": ["skewed"], "data.concentration": [1.0], "data.min_rows": [4000]}
SLANTED = {"data.partition": ["slanted.py:Slanted"]}


@dataclass(frozen=True)
class Tried:
    """One setting of an entry, as it is tuned and as it would be reported."""

    entry: str
    epsilon: float
    settings: Settings
    tuned_at: float
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.entry}, ε = {self.epsilon:g}"

    def row(self, case: Case, epsilon: float) -> Settings:
        """What a study sets of it."""
        found = {"task": {"kind": "logistic"}, "network.codec": "int8", "topology.kind": "ring"} | sections(
            case.base | self.settings
        )
        for field in [each for each in found if each.startswith("data.")]:
            del found[field]
        found.setdefault("rounds", 30)
        if "topology" not in found:
            found["topology"] = {"kind": "ring", "agents": 5}
        del found["topology.kind"]
        return {"name": self.name, "privacy.epsilon": epsilon} | found


def tried(case: Case, entry: Entry) -> Iterator[Tried]:
    """Every setting of an entry that meets an ε on the rows of the report, with the ε' at which it is tuned."""
    base = Scenario.load(HERE / "base.toml")
    for epsilon in case.epsilons if entry.private else (1.0,):
        for settings in entry.tried:
            tuned_at = matched(base_of(base, case.base, settings, {"privacy.epsilon": epsilon}))
            if tuned_at is not None:
                yield Tried(entry.name, epsilon, settings, tuned_at, entry.outputs)


def tuning(case: Case, entry: Entry, settings: list[Tried]) -> Study:
    """The study that tunes an entry."""
    rows = [each.row(case, each.tuned_at) for each in settings]
    averaged = [kind for kind in entry.outputs if kind != "last"]
    rows = [row | {"output": averaged} for row in rows]
    data = {field: [value] for field, value in case.base.items() if field.startswith("data.")}
    head = {"name": f"tuning {case.name} {entry.name}", "base": "base.toml", "replicates": list(TUNING_SEEDS)}
    return Study.of(head | {"grid": data | {"data.use": ["tuning"]}, "zip": [together(rows)]}, folder=HERE)


def together(rows: list[Settings]) -> dict[str, list[Any]]:
    """Lists that go together."""
    fields = dict.fromkeys(field for row in rows for field in row)
    return {field: [row[field] for row in rows] for field in fields}


def present(case: Case) -> bool:
    """Whether its data are here."""
    try:
        base_of(Scenario.load(HERE / "base.toml"), case.base)
    except ScenarioError as error:
        print(f"{case.name}: left out ({error})")
        return False
    return True


def tune(results: Path, cases: list[str], workers: int | None) -> None:
    """Run every setting of every entry on the rows set aside."""
    for case in (CASES[name] for name in cases):
        for entry in case.entries if present(case) else ():
            found = plan_sweep(tuning(case, entry, settled(case, entry, results)), results / "tuning")
            print(f"{case.name}, {entry.name}: {len(found.todo)} of {len(found.runs)} runs", flush=True)
            sweep(found, executor(workers))


def settled(case: Case, entry: Entry, results: Path) -> list[Tried]:
    """`tried`, kept in a file: to find ε' takes a while."""
    path = results / "tuning" / f"{case.name} {entry.name}.json"
    if path.is_file():
        return [Tried(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    found = list(tried(case, entry))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([vars(each) for each in found], ensure_ascii=False), encoding="utf-8")
    return found


@dataclass(frozen=True)
class Chosen:
    """What the rule chose, for a method or for a budget of bytes."""

    name: str
    by: Tried
    output: str
    choice: Choice

    def row(self, case: Case) -> Settings:
        """What a study that reports sets."""
        output = [] if self.output == "last" else [{"kind": self.output, "headline": True}]
        return self.by.row(case, self.by.epsilon) | {"name": self.name, "output": output}


def chosen(case: Case, results: Path) -> list[Chosen]:
    """The choices for each entry and ε, and within each budget."""
    found: list[Chosen] = []
    within: dict[tuple[str, float], list[Chosen]] = {}
    for entry in case.entries:
        settings = settled(case, entry, results)
        planned = plan_sweep(tuning(case, entry, settings), results / "tuning")
        tuned = StudyResult.load(planned.folder)
        for epsilon in sorted({each.epsilon for each in settings}):
            own = [each for each in settings if each.epsilon == epsilon]
            runs = [run for run in planned.runs if run.settings["name"] == own[0].name]
            best = best_of(entry, own, runs, tuned, Budget())
            assert best is not None, "without a budget something can be chosen"
            found.append(best)
            for name, bytes_ in case.budgets.items() if entry.name in OURS else ():
                some = best_of(entry, own, runs, tuned, Budget(bytes=bytes_))
                within.setdefault((name, epsilon), []).extend([some] if some else [])
    for (name, _), some in within.items():
        best = min(some, key=lambda each: each.choice.mean)
        found.append(Chosen(f"frontier, {name}", best.by, best.output, best.choice))
    return found


def best_of(
    entry: Entry, own: list[Tried], runs: list[PlannedRun], tuned: StudyResult, budget: Budget
) -> Chosen | None:
    """The best setting and output of an entry at one ε; None if none keeps to the budget."""
    best: Chosen | None = None
    for output in entry.outputs:
        figure = "test_error" if output == "last" else f"test_error_{output.replace('+', '_')}"
        try:
            choice = choose(runs, tuned, budget, figure)
        except SimnetError:
            continue
        if best is None or choice.mean < best.choice.mean:
            firsts = [run.settings for run in runs if run.seed == runs[0].seed]
            best = Chosen(entry.name, own[firsts.index(choice.settings)], output, choice)
    return best


def study(name: str, question: str, rows: list[Settings], **axes: Any) -> dict[str, Any]:
    """A study that reports, as its file says it."""
    head = {"name": name, "question": question, "base": "base.toml", "replicates": list(REPORT_SEEDS)}
    return head | ({"grid": axes} if axes else {}) | {"zip": [together(rows)]}


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


def reports(choices: dict[str, list[Chosen]]) -> dict[str, dict[str, Any]]:
    """The studies that report, by their names."""
    rows = {name: [each.row(CASES[name]) for each in some] for name, some in choices.items()}
    even = rows["adult"]
    wide = [row | {"name": "pp-admm, float64", "network.codec": "float64"} for row in even if row["name"] == "pp-admm"]
    ring = [row for row in even if row["name"] in ON_A_RING]
    at_one = [row for row in ring if row["privacy.epsilon"] == 1.0]
    unequal = [row for row in at_one if row["name"] != "one-shot-unscaled"]  # with 4,000 rows it cannot meet ε
    lossy = [row for row in even if row["name"] in ON_NETWORKS]
    networks = [on(row, link) for row in lossy for link in NETWORKS]
    budgeted = [row for some in rows.values() for row in some if row["name"].startswith("frontier")]
    loss = [on(row, link) for row in budgeted for link in ("ideal", "lossy WAN")]
    told = {
        "adult": study("frontier adult", "Which method errs least for its bytes at the same ε?", even + wide),
        "networks": study("frontier networks", "What do real networks change?", networks, **WORK),
        "loss": study("frontier loss", "What does a loss of 10 % cost?", loss, **WORK),
        "skewed": study("frontier skewed", "What if labels and sizes are dealt unevenly?", unequal, **SKEWED),
        "skewed-carried": study(
            "frontier skewed carried",
            "What if settings are those of the agent with the fewest rows?",
            [carried(row, 7000, 4000) for row in unequal],
            **SKEWED,
        ),
        "slanted": study("frontier slanted", "What if one agent has 1 % positives and another 48 %?", ring, **SLANTED),
    }
    if "twenty" in rows:
        told["twenty"] = study("frontier twenty", "What if twenty agents have the rows of five?", rows["twenty"])
        few = [hundred(row) for row in rows["twenty"]]
        told["hundred"] = study("frontier hundred", "What if a hundred agents have the rows of five?", few)
    elsewhere = [row for row in even + wide if row["name"].removesuffix(", float64") in ELSEWHERE]
    for name, (data, agent_rows) in OTHER.items():
        own = [carried(row, 7000, agent_rows) for row in elsewhere]
        fields = {field: [value] for field, value in data.items()}
        told[name] = study(f"frontier {name}", "Is it so on rows that nothing was chosen on?", own, **fields)
    return told


FLOODED = ("one-shot", "prox-rounds")
BUDGETED = ("frontier, 10 kB", "frontier, 30 kB")
RIVALS = ("pp-admm", "ipp-admm", "r-admm", "mr-admm", "pp-admm-few", "dp-gossip")
ELSEWHERE = (*RIVALS, *BUDGETED)
"""What is compared on other data."""
ON_NETWORKS = (*RIVALS, *BUDGETED, *OURS, "pp-admm-averaged", "pp-admm-stopped", "cancelling-gossip")
ON_A_RING = (*RIVALS, *BUDGETED, *OURS, "one-shot-unscaled", "pp-admm-averaged", "pp-admm-stopped")
OTHER = {"ijcnn1": (IJCNN1, 7875), "waveform": (WAVEFORM, 7000)}
"""Other data, and how many rows an agent has there."""


def write_reports(results: Path) -> None:
    """The files of the studies that report, and what was chosen."""
    found = {name: chosen(case, results) for name, case in CASES.items() if tuned_whole(case, results)}
    for name, content in reports(found).items():
        (HERE / f"{name}.toml").write_text(TOLD + tomli_w.dumps(content), encoding="utf-8")
    STORED.mkdir(parents=True, exist_ok=True)
    table = [
        {
            "case": name,
            "entry": each.name,
            "epsilon": each.by.epsilon,
            "method": each.by.entry,
            "output": each.output,
            "settings": json.dumps(each.by.settings, ensure_ascii=False),
            "tuned_at": each.by.tuned_at,
            "tuned_error": each.choice.mean,
            "of": each.choice.of,
            "within": each.choice.within,
            "edges": ", ".join(edges(each, CASES[name])),
        }
        for name, some in found.items()
        for each in some
    ]
    pl.DataFrame(table).write_csv(STORED / "choices.csv", float_precision=6)


def edges(best: Chosen, case: Case) -> list[str]:
    """Fields of the chosen setting that lie at an end of what was tried of them."""
    entry = next(entry for entry in case.entries if entry.name == best.by.entry)
    ends = []
    for field, value in best.by.settings.items():
        values = {each.get(field) for each in entry.tried if not isinstance(each.get(field), dict | list | str | bool)}
        numbers = sorted(each for each in values if each is not None)
        if len(numbers) > 2 and value in (numbers[0], numbers[-1]):
            ends.append(field.removeprefix("algorithm."))
    return ends


def tuned_whole(case: Case, results: Path) -> bool:
    """Whether all of its entries were tuned."""
    files = [results / "tuning" / f"{case.name} {entry.name}.json" for entry in case.entries]
    return all(path.is_file() for path in files) and present(case)


def names() -> list[str]:
    """The studies that report."""
    return sorted(path.stem for path in HERE.glob("*.toml") if path.stem != "base")


def report(results: Path, only: list[str], workers: int | None) -> None:
    """Run the studies that report."""
    for name in only:
        try:
            found = plan_sweep(read(HERE / f"{name}.toml"), results)
        except ScenarioError as error:
            print(f"{name}: left out ({error})")
            continue
        print(f"{name}: {len(found.todo)} of {len(found.runs)} runs", flush=True)
        sweep(found, executor(workers))


def audits(workers: int | None) -> None:
    """An audit of every private method with the settings, rows and ε of the report.

    Numbers travel in eight bytes: whole steps of int8 are made of releases, and hide noise from an auditor.
    """
    runs = [run for run in plan_sweep(read(HERE / "adult.toml"), "results").runs if run.seed == REPORT_SEEDS[0]]
    table = []
    for run in runs:
        entry = str(run.settings["name"])
        if run.scenario.privacy.epsilon != 1.0 or entry in ("coca", "choco") or entry.startswith("frontier"):
            continue
        scenario = run.scenario.with_(**{"network.codec": "float64"})
        found = audit(scenario, AUDIT, workers=workers or cores())
        print(f"{entry}: {found.verdict}", flush=True)
        table.append(
            {
                "entry": entry,
                "verdict": found.verdict,
                "promised": found.promise.epsilon,
                "at_least": found.bound.epsilon,
                "seen": found.conformance.f90,
                "runs": AUDIT.runs,
            }
        )
    STORED.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(table).write_csv(STORED / "audits.csv", float_precision=6)


def store(results: Path) -> None:
    """One row per run of every study that was run, with what its figures are made of."""
    STORED.mkdir(parents=True, exist_ok=True)
    for name in names():
        try:
            planned = plan_sweep(read(HERE / f"{name}.toml"), results)
        except ScenarioError as error:
            print(f"{name}: left as it is ({error})")
            continue
        if planned.todo:
            print(f"{name}: {len(planned.todo)} of {len(planned.runs)} runs are missing, left as it is")
            continue
        runs = StudyResult.load(planned.folder).runs
        if failed := runs.filter(pl.col("test_error").is_null()).height:
            print(f"{name}: {failed} runs have failed, left as it is")
            continue
        kept(runs).write_csv(STORED / f"{name}.csv", float_precision=6)


def kept(runs: pl.DataFrame) -> pl.DataFrame:
    """Entry, network, ε and seed of every run, its error, costs and yardsticks."""
    split = pl.col("name").str.split(" on ").list
    entry = split.get(0).str.replace(r", ε = [\d.]+", "")
    figures = [pl.col(name) for name in ("wire_bytes", "simulated", "joules") if name in runs.columns]
    yardsticks = [f"yardsticks_{name}" for name in ("constant", "optimum", "best_optimum")]
    return runs.select(
        entry.alias("entry"),
        split.get(1, null_on_oob=True).alias("network"),
        pl.col("privacy.epsilon").alias("epsilon"),
        "seed",
        pl.col("test_error").alias("error"),
        *figures,
        "proven_epsilon",
        *yardsticks,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tune", "choose", "report", "audit", "store", "page"])
    parser.add_argument("results", type=Path, nargs="?", default=Path("results/frontier"))
    parser.add_argument("--only", nargs="+", help="cases to tune, or studies to run")
    parser.add_argument("--workers", type=int, help="processes; default: the cores of this machine")
    options = parser.parse_args()
    if options.what == "tune":
        tune(options.results, options.only or list(CASES), options.workers)
    elif options.what == "choose":
        write_reports(options.results)
    elif options.what == "report":
        report(options.results, options.only or names(), options.workers)
    elif options.what == "audit":
        audits(options.workers)
    elif options.what == "store":
        store(options.results)
    else:
        fill(STORED, Path("docs/frontier.md"), Path("README.md"))


if __name__ == "__main__":
    main()
