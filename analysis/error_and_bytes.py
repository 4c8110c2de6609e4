"""Error and cumulative bytes against simulated time, for one scenario or one stored run.

    python -m analysis.error_and_bytes scenarios/quickstart.toml --output figure.png
    python -m analysis.error_and_bytes runs/quickstart/0123456789ab --output figure.png

A scenario is run for several methods on the same data, network and seed; a run folder is drawn as it is. The table
behind the picture is written beside it as CSV.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl

from analysis.palette import COLOURS, style
from simnet import Scenario, compare
from simnet.record.folder import load_summary

COLUMNS = ["round", "t", "test_error", "wire_bytes"]


def curves(source: Path, methods: list[str]) -> tuple[dict[str, pl.DataFrame], Mapping[str, Any]]:
    """The rounds, by method; and what errors are held against, which is the same for all of them."""
    if source.is_dir():
        summary = load_summary(source)
        return {summary["algorithm"]: pl.read_csv(source / "rounds.csv")}, summary["yardsticks"]
    results = list(compare(Scenario.load(source), methods))
    return {result.summary["algorithm"]: result.rounds for result in results}, results[0].summary["yardsticks"]


LINES = {"constant": ("constant answer", ":"), "optimum": ("optimum without privacy", "--")}


def draw(found: Mapping[str, pl.DataFrame], known: Mapping[str, Any], output: Path) -> None:
    """Two panels over one time axis, the same colour for the same method everywhere."""
    style()
    figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(7.0, 5.6), layout="constrained")
    for method, rounds in found.items():
        top.plot(rounds["t"], rounds["test_error"], color=COLOURS[method], label=method)
        bottom.plot(rounds["t"], rounds["wire_bytes"] / 1e3, color=COLOURS[method], label=method)
    for name, (label, dashes) in LINES.items():
        if known[name] is not None:
            top.axhline(known[name], color="#888888", linestyle=dashes, linewidth=1.2, label=label)
    top.set_ylabel("test error")
    bottom.set_ylabel("sent so far (kB)")
    bottom.set_xlabel("simulated time (s)")
    bottom.set_ylim(bottom=0)
    top.legend(frameon=False, ncols=2)
    figure.savefig(output, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="scenario file or run folder")
    parser.add_argument("--methods", default="admm,pp-admm,ipp-admm", help="methods to compare (scenario files)")
    parser.add_argument("--output", type=Path, default=Path("error_and_bytes.png"))
    options = parser.parse_args()
    found, known = curves(options.source, options.methods.split(","))
    draw(found, known, options.output)
    tables = [rounds.select(pl.lit(method).alias("method"), *COLUMNS) for method, rounds in found.items()]
    pl.concat(tables, how="vertical_relaxed").write_csv(options.output.with_suffix(".csv"))
    print(f"wrote {options.output} and {options.output.with_suffix('.csv')}")


if __name__ == "__main__":
    main()
