"""The study of the frontier: settings are chosen on rows set aside, and reported on all others.

    python -m analysis.frontier choose results/frontier/tuning     # the studies that report, with chosen settings
    python -m analysis.frontier store results/frontier             # what was run, one row per run, in docs/frontier
    python -m analysis.frontier page                               # tables and figures of docs/frontier.md from that

Every study of scenarios/studies/frontier/tuning is one entry: a method with a grid of settings. The rule of `simnet
tune` chooses one setting per entry and ε, over the tuning seeds and rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from analysis.frontier_page import fill
from simnet.studies.results import StudyResult
from simnet.studies.sweep import plan_sweep, read
from simnet.studies.tuning import choose

HERE = Path(__file__).parents[1] / "scenarios" / "studies" / "frontier"
STORED = Path("docs/frontier")
EPSILONS = (0.25, 1.0, 4.0)
ENTRIES = (
    *("one-shot", "one-shot-unscaled", "prox-rounds", "noisy-nesterov", "scaled-pp-admm", "pp-admm", "ipp-admm"),
    *("r-admm", "pp-admm-stopped", "pp-admm-few", "trusted-hub"),
)
COUNTED = {"pp-admm-few": "test_error_neighbours", "scaled-pp-admm": "test_error_neighbours"}
"""What counts as an entry's model if not its last one."""
PAPERS = ("pp-admm", "ipp-admm", "r-admm")
"""Reported with numbers of eight bytes as well, as the papers send them."""
FLOODS = ("one-shot", "one-shot-unscaled", "prox-rounds")
FIRST_SEED = 101

BARRIER = {"kind": "barrier", "patience": "500 ms"}
NETWORKS: dict[str, dict[str, Any]] = {
    "ideal": {"pacing": "ideal"},
    "lossy WAN": {"pacing": BARRIER, "link": {"preset": "wan", "loss": 0.1}},
    "4G": {"pacing": BARRIER, "link": {"preset": "4g"}},
    "radio cell": {"pacing": BARRIER, "channel": {"kind": "csma"}},
}
POWER = {"send_watts": 1.14, "receive_watts": 0.939, "idle_watts": 0.819, "compute_watts": 2.0}

Choices = dict[tuple[str, float], dict[str, Any]]
"""By entry and ε, the chosen scenario."""


def choices(results: Path) -> Choices:
    """What the rule chooses for each entry and ε."""
    found: Choices = {}
    for entry in ENTRIES:
        planned = plan_sweep(read(HERE / "tuning" / f"{entry}.toml"), results)
        tuned = StudyResult.load(planned.folder)
        for epsilon in EPSILONS:
            runs = [run for run in planned.runs if run.scenario.privacy.epsilon == epsilon]
            best = choose(runs, tuned, figure=COUNTED.get(entry, "test_error"))
            found[entry, epsilon] = best.scenario.content()
            print(f"{entry}, ε = {epsilon:g}: {best}")
    return found


def row(entry: str, content: dict[str, Any], *, lossy: bool = False) -> dict[str, Any]:
    """What one run of a study that reports sets; under loss, floods and moments have twice the rounds."""
    algorithm, rounds = dict(content["algorithm"]), content["rounds"]
    scaled = entry in ("one-shot", "prox-rounds", "noisy-nesterov", "scaled-pp-admm")
    if lossy and scaled:
        algorithm["moment_rounds"] = 4
    if lossy:
        rounds = 2 * rounds if entry in FLOODS else rounds + 2 * scaled
    return {
        "name": entry,
        "privacy.epsilon": content["privacy"]["epsilon"],
        "rounds": rounds,
        "topology.kind": content["topology"]["kind"],
        "algorithm": algorithm,
        "task": content.get("task", {"kind": "logistic"}),
    }


def study(name: str, question: str, rows: list[dict[str, Any]], seeds: int, **axes: Any) -> dict[str, Any]:
    """A study that reports, as its file says it."""
    together = {field: [each[field] for each in rows] for field in rows[0]}
    seeded = list(range(FIRST_SEED, FIRST_SEED + seeds))
    head = {"name": name, "question": question, "base": "base.toml", "replicates": seeded}
    return head | ({"grid": axes} if axes else {}) | {"zip": [together]}


def reports(chosen: Choices) -> dict[str, dict[str, Any]]:
    """The studies that report, by their names."""
    adult = []
    for (entry, _), content in chosen.items():
        for codec in ("int8", "float64") if entry in PAPERS else ("int8",):
            one = row(entry, content) | {"network.codec": codec}
            adult.append(one | {"name": entry if codec == "int8" else f"{entry}, {codec}"})
    few = [key for key in chosen if key[1] == 1.0 and key[0] != "trusted-hub"]
    lossy = [row(entry, chosen[entry, epsilon], lossy=True) for entry, epsilon in few]
    calm = [row(entry, chosen[entry, epsilon]) for entry, epsilon in few]
    networks = [
        each | {"name": f"{each['name']} on {link}", "network": {"codec": "int8", **network}}
        for each in lossy
        for link, network in NETWORKS.items()
    ]
    cost = {"cost.energy": [POWER], "compute": [{"time": {"kind": "uniform", "low": "5 ms", "high": "15 ms"}}]}
    return {
        "adult": study("frontier adult", "Which method errs least for its bytes at the same ε?", adult, 10),
        "networks": study("frontier networks", "What do real networks change?", networks, 5, **cost),
        "skew": study(
            "frontier skew",
            "What if labels are dealt unevenly?",
            calm,
            10,
            **{"data.partition": ["skewed"], "data.concentration": [1.0], "data.min_rows": [2800]},
        ),
    }


def write_reports(results: Path) -> None:
    """The files of the studies that report."""
    for name, content in reports(choices(results)).items():
        told = "# Made by `python -m analysis.frontier choose` from what was tuned; see docs/frontier.md.\n\n"
        (HERE / f"{name}.toml").write_text(told + tomli_w.dumps(content), encoding="utf-8")


def store(results: Path) -> None:
    """One row per run of every study that was run, with what its figures are made of."""
    STORED.mkdir(parents=True, exist_ok=True)
    for name in ("adult", "networks", "skew"):
        folder = plan_sweep(read(HERE / f"{name}.toml"), results).folder
        if not (folder / "study.json").is_file():
            print(f"{name}: not run, left as it is")
            continue
        runs = StudyResult.load(folder).runs
        if (unfinished := runs.filter(pl.col("test_error").is_null()).height) or not runs.height:
            print(f"{name}: {unfinished} runs have no figures, left as it is")
            continue
        kept(runs).write_csv(STORED / f"{name}.csv", float_precision=6)


def kept(runs: pl.DataFrame) -> pl.DataFrame:
    """Entry, network, ε and seed of every run, the error of what counts, costs and yardsticks."""
    entry = pl.col("name").str.split(" on ").list
    link = [entry.get(1, null_on_oob=True).alias("network")]
    figures = [pl.col(name) for name in ("wire_bytes", "simulated", "joules") if name in runs.columns]
    yardsticks = [f"yardsticks_{name}" for name in ("constant", "optimum", "best_optimum")]
    return runs.select(
        entry.get(0).alias("entry"),
        *link,
        pl.col("privacy.epsilon").alias("epsilon"),
        "seed",
        pl.when(entry.get(0).is_in(list(COUNTED))).then("test_error_neighbours").otherwise("test_error").alias("error"),
        *figures,
        "proven_epsilon",
        *yardsticks,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["choose", "store", "page"])
    parser.add_argument("results", type=Path, nargs="?", default=Path("results/frontier"))
    options = parser.parse_args()
    if options.what == "choose":
        write_reports(options.results)
    elif options.what == "store":
        store(options.results)
    else:
        fill(STORED, Path("docs/frontier.md"))


if __name__ == "__main__":
    main()
