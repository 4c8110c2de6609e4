"""Figures, tables and numbers of the shipped studies.

    python -m analysis.studies results --output docs/studies --page docs/studies.md

For every study found among the results: a figure, the means behind it as CSV, and its question with the answer's
numbers, which are put into the page between `<!-- study: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from math import nan
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from analysis import answers
from analysis.palette import COLOURS, style
from analysis.papers.drawing import held_against as line_at_yardsticks
from analysis.radio import COSTS, METHODS, NETWORKS, TARGET, TARGETS, Reached, complete
from simnet.cli import yardstick_words
from simnet.studies.results import YARDSTICKS, StudyResult

MEGA = 1e-6
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def table(found: StudyResult, *figures: str) -> pl.DataFrame:
    """One row per setting: mean, and the distance of the interval's ends from it, of each figure."""
    means = found.means(*figures)
    parts = [
        means.filter(figure=name).select(
            *found.fields, pl.col("mean").alias(name), (pl.col("mean") - pl.col("t95_low")).alias(f"{name}_half")
        )
        for name in figures
    ]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.join(part, on=found.fields, how="left", nulls_equal=True, maintain_order="left")
    return joined.filter(pl.col(figures[0]).is_not_null())


def panels(count: int, *, height: float = 3.6) -> tuple[Figure, Sequence[Axes]]:
    figure, axes = plt.subplots(1, count, figsize=(3.9 * count + 0.6, height), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def line(axes: Axes, rows: pl.DataFrame, x: str, y: str, label: str, colour: str, **look: Any) -> None:
    """Means with their intervals, joined."""
    axes.errorbar(
        rows[x],
        rows[y],
        rows[f"{y}_half"],
        label=label,
        color=colour,
        marker="o",
        markersize=4,
        capsize=2,
        elinewidth=0.8,
        **look,
    )


def methods(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "wire_bytes")
    figure, axes = panels(2)
    for axis, epsilon in zip(axes, (1.0, 4.0), strict=True):
        axis.set_title(f"proven ε = {epsilon:g}")
        for row in rows.filter(pl.col("privacy.epsilon") == epsilon).to_dicts():
            _point(axis, row, row["algorithm.name"], COLOURS[row["algorithm.name"]], "o")
        _bytes_against_error(axis)
        line_at_yardsticks(axis, found.runs)
    axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def skips(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "wire_bytes").with_columns(mb=pl.col("wire_bytes") * MEGA)
    figure, axes = panels(3)
    control = found.rounds.filter(pl.col("algorithm.name") == "pp-admm")
    for axis, epsilon in zip(axes, (1.0, 10.0, 100.0), strict=True):
        axis.set_title(f"ε = {epsilon:g}")
        _by_round(axis, control.filter(pl.col("privacy.epsilon") == epsilon), "pp-admm, by round", "black")
        for releases, colour in zip((5, 15, 30), CYCLE, strict=False):
            for threshold, mark in ((0.0, "o"), (0.1, "^")):
                for clip, filling in ((0.5, "none"), (2.0, "full")):
                    row = rows.filter(
                        pl.col("privacy.epsilon") == epsilon,
                        pl.col("algorithm.max_releases") == releases,
                        pl.col("algorithm.threshold") == threshold,
                        pl.col("algorithm.clip") == clip,
                    )
                    label = f"c = {releases}, α = {threshold:g}" if clip == 2.0 else None
                    axis.plot(
                        row["mb"], row["test_error"], mark, color=colour, fillstyle=filling, markersize=7, label=label
                    )
        line_at_yardsticks(axis, found.runs)
        axis.set_xlabel("sent (MB)")
        axis.set_ylabel("test error")
        axis.sharey(axes[0])
    axes[2].plot([], [], "o", color="grey", fillstyle="none", label="hollow: C_loss = 0.5")
    axes[2].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def duals(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "dual_drift")
    figure, axes = panels(2)
    for axis, pace in zip(axes, ("deadline", "barrier"), strict=True):
        axis.set_title(f"pace: {pace}")
        for kind, colour in zip(("node", "healing", "edge"), CYCLE, strict=False):
            part = rows.filter(pl.col("network.pacing.kind") == pace, pl.col("algorithm.duals") == kind)
            line(axis, part, "network.link.loss", "test_error", f"{kind} duals", colour)
        line_at_yardsticks(axis, found.runs)
        axis.set_xlabel("share of messages lost")
        axis.set_ylabel("test error")
    axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def pacing(found: StudyResult) -> Figure:
    """Bars: seconds until the target; a cross where fewer than half of the runs get there."""
    fields = ["network.pacing.kind", "algorithm.duals", "network.link.latency", "compute.time.sigma"]
    times = found.reaching(answers.PACING_TARGET, "t", by=fields)
    figure, axes = panels(2)
    kinds = ("barrier", "quorum", "deadline", "free")
    looks = [("node", 0.0), ("edge", 0.0), ("node", 2.0), ("edge", 2.0)]
    for axis, latency in zip(axes, ("20 ms", "100 ms"), strict=True):
        axis.set_title(f"links of {latency}")
        for place, (duals, sigma) in enumerate(looks):
            colour = CYCLE[0] if duals == "node" else CYCLE[1]
            for at, kind in enumerate(kinds):
                wanted = zip(fields, (kind, duals, latency, sigma), strict=True)
                row = times.filter(*(pl.col(name) == value for name, value in wanted)).row(0, named=True)
                x = at + 0.2 * (place - 1.5)
                if row["km_median"] is None:
                    axis.plot([x], [0.12], "x", color=colour, markersize=7)
                else:
                    axis.bar(x, row["km_median"], 0.18, color=colour, alpha=1.0 if sigma else 0.45)
        axis.set_yscale("log")
        axis.set_ylim(0.1, 5)
        axis.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xticks(range(len(kinds)), kinds)
        axis.set_ylabel(f"s until error ≤ {answers.PACING_TARGET:g} (median)")
    for duals, sigma in looks:
        colour = CYCLE[0] if duals == "node" else CYCLE[1]
        axes[1].bar(0, 0, color=colour, alpha=1.0 if sigma else 0.45, label=f"{duals} duals, σ = {sigma:g}")
    axes[1].plot([], [], "x", color="grey", label="not half of the runs")
    axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def codecs(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "wire_bytes")
    figure, axes = panels(1, height=4.2)
    figure.set_size_inches(7.6, 4.2)
    marks = {"float64": "o", "float32": "s", "float16": "^", "int8": "D", "top-k": "X"}
    for row in rows.to_dicts():
        name, codec = row["algorithm.name"], row["network.codec"]
        _point(axes[0], row, None, COLOURS[name], marks[codec])
    for name in ("admm", "pp-admm", "ipp-admm"):
        axes[0].plot([], [], color=COLOURS[name], label=name)
    control = found.rounds.filter(pl.col("algorithm.name") == "pp-admm")
    for codec, mark in marks.items():
        axes[0].plot([], [], color="grey", marker=mark, linestyle="none", label=codec)
    for codec in marks:
        rounds = control.filter(pl.col("network.codec") == codec)
        _by_round(axes[0], rounds, "pp-admm, by round" if codec == "float64" else None, COLOURS["pp-admm"])
    _bytes_against_error(axes[0])
    line_at_yardsticks(axes[0], found.runs)
    axes[0].set_xscale("linear")
    axes[0].set_xlim(left=0)
    axes[0].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def topologies(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "wire_bytes").with_columns(
        mb=pl.col("wire_bytes") * MEGA, mb_half=pl.col("wire_bytes_half") * MEGA
    )
    figure, axes = panels(2)
    kinds = rows["topology.kind"].unique(maintain_order=True)
    for kind, colour in zip(kinds, CYCLE, strict=False):
        part = rows.filter(pl.col("topology.kind") == kind)
        line(axes[0], part, "topology.agents", "test_error", kind, colour)
        line(axes[1], part, "topology.agents", "mb", kind, colour)
    line_at_yardsticks(axes[0], found.runs)
    axes[0].set_ylabel("test error")
    axes[1].set_ylabel("sent (MB)")
    axes[1].set_yscale("log")
    for axis in axes:
        axis.set_xlabel("agents")
        axis.set_xticks([5, 10, 20])
    handles, labels = axes[0].get_legend_handles_labels()
    axes[1].legend(handles, labels, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def transports(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "wire_bytes").with_columns(
        mb=pl.col("wire_bytes") * MEGA, mb_half=pl.col("wire_bytes_half") * MEGA
    )
    figure, axes = panels(2)
    for transport, colour in zip(("datagram", "reliable"), CYCLE, strict=False):
        for kind, dash in (("node", "-"), ("edge", "--")):
            part = rows.filter(pl.col("network.transport.kind") == transport, pl.col("algorithm.duals") == kind)
            for axis, figures in zip(axes, ("test_error", "mb"), strict=True):
                line(axis, part, "network.link.loss", figures, f"{transport}, {kind} duals", colour, linestyle=dash)
    line_at_yardsticks(axes[0], found.runs)
    axes[0].set_ylabel("test error")
    axes[1].set_ylabel("sent (MB)")
    axes[1].set_ylim(bottom=0)
    for axis in axes:
        axis.set_xlabel("share of messages lost")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[1].legend(handles, labels, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def hub(found: StudyResult) -> Figure:
    rows = table(found, "test_error", "wire_bytes")
    figure, axes = panels(2)
    for axis, train in zip(axes, (10_000, 35_000), strict=True):
        axis.set_title(f"{train:,} rows")
        for row in rows.filter(pl.col("data.train") == train).to_dicts():
            name, where = row["algorithm.name"], row["algorithm.hub"]
            label = name if where is None else f"{name}, {where} hub"
            _point(axis, row, label, COLOURS[name], "s" if where == "untrusted" else "o")
        _bytes_against_error(axis)
        line_at_yardsticks(axis, found.runs.filter(pl.col("data.train") == train))
    axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def radio(found: StudyResult) -> Figure:
    """What it costs to reach the target on each network; a cross where fewer than half of the runs get there."""
    reached = Reached(found)
    figure, axes = panels(len(COSTS), height=3.8)
    for axis, (cost, name) in zip(axes, COSTS.items(), strict=True):
        unit = MEGA if cost == "wire_bytes" else 1.0
        axis.set_title({"wire_bytes": "MB sent", "airtime_sent": "airtime, seconds"}.get(cost, name))
        axis.set_yscale("log")
        medians = {
            method: [reached.row(cost, network, method)["km_median"] for network in NETWORKS] for method in METHODS
        }
        top = 1.3 * unit * max(value for values in medians.values() for value in values if value is not None)
        for method, values in medians.items():
            known = [nan if value is None else unit * value for value in values]
            axis.plot(known, "o-", color=COLOURS[method], markersize=5, label=method)
            missed = [place for place, value in enumerate(values) if value is None]
            axis.plot(missed, [top] * len(missed), "x", color=COLOURS[method], markersize=7)
        low, high = axis.get_ylim()
        axis.set_yticks([each * 10.0**power for power in range(-3, 4) for each in (1, 2, 5)])
        axis.set_ylim(low, high)
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xticks(range(len(NETWORKS)), [network.replace(", ", "\n") for network in NETWORKS], fontsize=7)
    axes[0].set_ylabel(f"until error ≤ {TARGET:g} (median)")
    axes[-1].plot([], [], "x", color="grey", label="not half of the runs")
    axes[-1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def outputs(found: StudyResult) -> Figure:
    """Errors of all outputs, one group per setting."""
    names = ("test_error", *found.outputs)
    rows = table(found, *names)
    figure, axes = panels(2)
    axes[1].sharey(axes[0])
    for axis, loss in zip(axes, (0.0, 0.2), strict=True):
        axis.set_title(f"{100 * loss:g} % of the messages lost")
        part = rows.filter(pl.col("network.link.loss") == loss)
        for place, (name, colour) in enumerate(zip(names, CYCLE, strict=False)):
            at = [row + 0.15 * (place - 1.5) for row in range(part.height)]
            label = "last" if name == "test_error" else answers.OUTPUT_NAMES[name]
            axis.errorbar(
                at, part[name], part[f"{name}_half"], fmt="o", color=colour, markersize=5, capsize=2, label=label
            )
        line_at_yardsticks(axis, found.runs)
        settings = [f"η = {row['algorithm.eta']:g}\nT = {row['rounds']}" for row in part.to_dicts()]
        axis.set_xticks(range(part.height), settings)
        axis.set_ylabel("test error")
    axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _point(axis: Axes, row: dict[str, Any], label: str | None, colour: str, mark: str) -> None:
    axis.errorbar(
        row["wire_bytes"] * MEGA,
        row["test_error"],
        row["test_error_half"],
        color=colour,
        marker=mark,
        markersize=6,
        capsize=2,
        linestyle="none",
        label=label,
    )


def _by_round(axis: Axes, rounds: pl.DataFrame, label: str | None, colour: str) -> None:
    """What a method that skips nothing had reached whenever one stops it."""
    mean = rounds.group_by("round").agg(pl.col("wire_bytes", "test_error").mean()).sort("round")
    axis.plot(mean["wire_bytes"] * MEGA, mean["test_error"], color=colour, linewidth=1, label=label)


def _bytes_against_error(axis: Axes) -> None:
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("sent (MB)")
    axis.set_ylabel("test error")


FIGURES: dict[str, Callable[[StudyResult], Figure]] = {
    "methods": methods,
    "skips": skips,
    "duals": duals,
    "pacing": pacing,
    "codecs": codecs,
    "topologies": topologies,
    "transports": transports,
    "hub": hub,
    "radio": radio,
    "outputs": outputs,
}


def draw(found: StudyResult, output: Path) -> pl.DataFrame:
    """The figure and the table of one study; the table."""
    FIGURES[found.name](found).savefig(output / f"{found.name}.png", dpi=140)
    plt.close("all")
    figures = ("test_error", "train_loss", "wire_bytes", "skips", "simulated", "staleness_mean", "dual_drift")
    figures += tuple(f"yardsticks_{name}" for name in YARDSTICKS)
    if found.name == "radio":
        found.runs = complete(found, found.runs)
        figures += ("airtime_sent", "joules")
        times = pl.concat(Reached(found, target).table for target in TARGETS)
        times.write_csv(output / "radio_times.csv", float_precision=6)
    if found.name == "pacing":
        found.reaching(answers.PACING_TARGET, "t").write_csv(output / "pacing_times.csv", float_precision=6)
    means = found.means(*figures, *found.outputs)
    means.write_csv(output / f"{found.name}.csv", float_precision=6)
    return means


def filled(page: str, name: str, text: str) -> str:
    """The page with one study's block replaced."""
    block = re.compile(rf"(<!-- study: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: found[1] + text + found[2], page)


def held_against(means: pl.DataFrame) -> str:
    """What the errors of a study are held against: the range over its settings, from the table of its means."""
    known = [means.filter(figure=f"yardsticks_{name}")["mean"].to_list() for name in YARDSTICKS]
    told = yardstick_words.line([dict(zip(YARDSTICKS, each, strict=True)) for each in zip(*known, strict=True)])
    return f"Held against: {told}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of studies")
    parser.add_argument("--output", type=Path, default=Path("docs/studies"))
    parser.add_argument("--page", type=Path, default=Path("docs/studies.md"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    style()
    page = options.page.read_text(encoding="utf-8")
    for name in FIGURES:
        if not (options.results / name / "study.json").is_file():
            print(f"{name}: not run, left as it is")
            continue
        found = StudyResult.load(options.results / name)
        if found.runs.height < found.planned.height:
            print(f"{name}: {found.planned.height - found.runs.height} runs are still to be done, left as it is")
            continue
        means = draw(found, options.output)
        said = f"{answers.ANSWERS[name](found)} {held_against(means)}"
        picture = f"![{found.question}]({options.output.name}/{name}.png)"
        about = f"{found.runs.height - found.failures.height} runs of {found.planned.height}"
        page = filled(
            page, name, f"**{found.question}** {said}\n\n{picture}\n\n({about}; [table](studies/{name}.csv))\n"
        )
        print(f"{name}: {options.output / name}.png")
    options.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
