"""Tables and figures of docs/frontier.md, from the stored runs of docs/frontier."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from math import sqrt
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from scipy.stats import t as student

from analysis.palette import COLOURS, style
from analysis.studies import filled

MISSING = "Not run: this part of the study is not stored."
NAMES = {
    "one-shot-unscaled": "one-shot, rows as they are",
    "pp-admm-averaged": "pp-admm, averaged",
    "pp-admm-stopped": "pp-admm, stopped",
    "pp-admm-few": "pp-admm, few rounds, averaged",
    "trusted-hub": "dp-admm at a trusted hub",
    "noisy-fixed-point": "noisy fixed point, complete graph",
    "cancelling-gossip": "gossip, cancelling noise",
    "coca": "coca (no privacy)",
    "choco": "choco (no privacy)",
}
PAPERS = ("pp-admm", "ipp-admm", "r-admm", "mr-admm")
FRONTIER = ("frontier, 10 kB", "frontier, 30 kB")
ALLOWED = 0.004
"""By how much a goal may be missed."""
GOALS = (
    ("ring of five, 10 kB", "adult", "frontier, 10 kB", None, {0.25: 0.179, 1.0: 0.166, 4.0: 0.161}),
    ("ring of five, 30 kB", "adult", "frontier, 30 kB", None, {0.25: 0.178, 1.0: 0.165, 4.0: 0.160}),
    ("twenty agents, 400 kB", "twenty", "frontier, 400 kB", None, {0.25: 0.189, 1.0: 0.173, 4.0: 0.167}),
    ("1 to 48 % positives, 10 kB", "slanted", "frontier, 10 kB", None, {1.0: 0.170}),
    ("1 to 48 % positives, 30 kB", "slanted", "frontier, 30 kB", None, {1.0: 0.170}),
    ("the same, chosen on such labels, 10 kB", "slanted-tuned", "frontier, 10 kB", None, {1.0: 0.170}),
    ("the same, chosen on such labels, 30 kB", "slanted-tuned", "frontier, 30 kB", None, {1.0: 0.170}),
)
LOSS = 0.005
"""What a loss of 10 % may cost."""


def spread(values: pl.Series) -> tuple[float, float]:
    """The mean, and half of its 95 % interval (t)."""
    found = values.to_numpy()
    half = student.ppf(0.975, len(found) - 1) * found.std(ddof=1) / sqrt(len(found))
    return float(found.mean()), float(half)


def plus_minus(values: pl.Series) -> str:
    """`0.172 ± 0.002`."""
    mean, half = spread(values)
    return f"{mean:.4f} ± {half:.4f}"


def signed(values: pl.Series) -> str:
    """`+0.002 ± 0.001`."""
    mean, half = spread(values)
    return f"{mean:+.4f} ± {half:.4f}".replace("-", "−")


def kilobytes(runs: pl.DataFrame) -> str:
    """Mean bytes on the wire."""
    return f"{float(runs['wire_bytes'].to_numpy().mean()) / 1e3:,.1f}"


def titled(entry: str) -> str:
    """An entry's name on the page."""
    return f"**{entry}**" if entry.startswith("frontier") else NAMES.get(entry, entry)


def entries(runs: pl.DataFrame) -> list[str]:
    """In the order of the study, what was chosen within a budget first."""
    found = runs["entry"].unique(maintain_order=True).to_list()
    return sorted(found, key=lambda entry: not entry.startswith("frontier"))


def paired(runs: pl.DataFrame, entry: str, other: str) -> pl.DataFrame:
    """Both, seed by seed."""
    return runs.filter(entry=entry).join(runs.filter(entry=other), on=["seed", "epsilon"], suffix="_other")


def by_epsilon(runs: pl.DataFrame) -> str:
    """Error and bytes per entry and ε."""
    epsilons = sorted(runs["epsilon"].unique())
    lines = [
        "| method | " + " | ".join(f"error, ε = {e:g} | kB" for e in epsilons) + " |",
        "|---|" + "---:|" * (2 * len(epsilons)),
    ]
    for entry in entries(runs):
        cells = []
        for epsilon in epsilons:
            part = runs.filter(entry=entry, epsilon=epsilon)
            cells += [plus_minus(part["error"]), kilobytes(part)] if part.height else ["–", "–"]
        lines.append(f"| {titled(entry)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + f"\n\n{yardsticks(runs)}\n"


def yardsticks(runs: pl.DataFrame) -> str:
    """What errors are held against."""
    constant, optimum, best = (yardstick(runs, name) for name in ("constant", "optimum", "best_optimum"))
    return f"Yardsticks: constant answer {constant:.4f}, optimum without privacy {optimum:.4f}, at best {best:.4f}."


def yardstick(runs: pl.DataFrame, name: str) -> float:
    """That of the runs of PP-ADMM: an optimum depends on the loss and the regulariser."""
    return float(runs.filter(entry="pp-admm")[f"yardsticks_{name}"].to_numpy().mean())


def best_paper(runs: pl.DataFrame, epsilon: float) -> str:
    """The papers' method with the least mean error in the report itself, which favours the papers."""
    means = {entry: runs.filter(entry=entry, epsilon=epsilon)["error"].mean() for entry in entries(runs)}
    known = {entry: mean for entry, mean in means.items() if entry in PAPERS and isinstance(mean, float)}
    return min(known, key=lambda entry: known[entry])


def against_papers(runs: pl.DataFrame) -> str:
    """The frontier against the best of the papers' methods, seed by seed."""
    lines = [
        "| | ε | best of the papers' methods | error less its error | share of its bytes | in float64 |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for entry in FRONTIER:
        for epsilon in sorted(runs["epsilon"].unique()):
            part = runs.filter(epsilon=epsilon)
            if part.filter(entry=entry).is_empty():
                continue
            other = best_paper(part, epsilon)
            both = paired(part, entry, other)
            difference = signed(both["error"] - both["error_other"])
            shares = " | ".join(f"{each:.1%}" for each in shares_of_bytes(part, entry, other))
            lines.append(f"| {titled(entry)} | {epsilon:g} | {other} | {difference} | {shares} |")
    return "\n".join(lines) + "\n"


WORTH = (
    ("scaled columns", "one-shot", "one-shot-unscaled"),
    ("a free average", "pp-admm-averaged", "pp-admm"),
    ("few rounds", "pp-admm-few", "pp-admm-averaged"),
    ("int8 in place of float64", "pp-admm", "pp-admm, float64"),
    ("one model on scaled columns", "one-shot", "pp-admm"),
    ("four models or more in place of one", "prox-rounds", "one-shot"),
    ("acceleration, scaled columns, slope cap", "noisy-nesterov", "dp-gossip"),
    ("a private test that skips", "ipp-admm", "pp-admm-stopped"),
    ("penalties of the agents' own", "mr-admm", "r-admm"),
    ("all of it, within 10 kB", "frontier, 10 kB", "pp-admm-averaged"),
    ("no trust, within 30 kB", "frontier, 30 kB", "trusted-hub"),
)
"""What each idea is worth: a method with it, and its control."""


def worth(runs: pl.DataFrame) -> str:
    """Differences seed by seed, and shares of bytes, per idea and ε."""
    epsilons = sorted(runs["epsilon"].unique())
    heads = " | ".join(f"ε = {e:g} | bytes" for e in epsilons)
    lines = [f"| what | error of | less that of | {heads} |", "|---|---|---|" + "---:|" * (2 * len(epsilons))]
    for told, entry, other in WORTH:
        cells = []
        for epsilon in epsilons:
            both = paired(runs.filter(epsilon=epsilon), entry, other)
            share = both["wire_bytes"].sum() / both["wire_bytes_other"].sum()
            cells += [signed(both["error"] - both["error_other"]), f"{share:.1%}"]
        lines.append(f"| {told} | {titled(entry)} | {titled(other)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def shares_of_bytes(runs: pl.DataFrame, entry: str, other: str) -> tuple[float, float]:
    """An entry's bytes over those of another one: in int8, and with its numbers in float64 as the papers send them.

    PP-ADMM was run with both; a message of any of the papers' methods is one model as well.
    """
    both, wider = paired(runs, entry, other), paired(runs, "pp-admm, float64", "pp-admm")
    share = both["wire_bytes"].sum() / both["wire_bytes_other"].sum()
    return share, share * wider["wire_bytes_other"].sum() / wider["wire_bytes"].sum()


def whole(runs: pl.DataFrame) -> str:
    """Errors, bytes, and the frontier against the papers."""
    return f"{by_epsilon(runs)}\n{against_papers(runs)}"


def networks(runs: pl.DataFrame) -> str:
    """Error and costs per entry and network at ε = 1, and folded up at the other ε."""
    others = [epsilon for epsilon in sorted(runs["epsilon"].unique()) if epsilon != 1.0]
    tables = {epsilon: at_one_epsilon(runs.filter(epsilon=epsilon)) for epsilon in others}
    folded = [
        f"<details><summary>The same at ε = {epsilon:g}</summary>\n\n{table}\n</details>\n"
        for epsilon, table in tables.items()
    ]
    return "\n".join([at_one_epsilon(runs.filter(epsilon=1.0)), *folded])


def at_one_epsilon(runs: pl.DataFrame) -> str:
    """Error and costs per entry and network, and what each network changes seed by seed."""
    links = [link for link in runs["network"].unique(maintain_order=True) if link is not None]
    lines = [
        "| method | network | error | less that on an ideal network | kB | seconds | joules |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for entry in entries(runs):
        for link in links:
            part = runs.filter(entry=entry, network=link)
            seconds, joules = (float(part[name].to_numpy().mean()) for name in ("simulated", "joules"))
            cost = "" if link == "ideal" else signed(lost(runs, entry, link))
            lines.append(
                f"| {titled(entry)} | {link} | {plus_minus(part['error'])} | {cost} | {kilobytes(part)} | "
                f"{seconds:.3g} | {joules:.3g} |"
            )
    return "\n".join(lines) + "\n"


def compact(runs: pl.DataFrame) -> str:
    """Errors at every ε, what a network adds to them, and costs at ε = 1, folded up."""
    epsilons = sorted(runs["epsilon"].unique())
    heads = " | ".join(f"error, ε = {e:g} | more than ideal" for e in epsilons)
    lines = [f"| method | network | {heads} | kB | seconds | joules |", "|---|---|" + "---:|" * (2 * len(epsilons) + 3)]
    for entry in entries(runs):
        for link in runs["network"].unique(maintain_order=True):
            part, cells = runs.filter(entry=entry, network=link), []
            for epsilon in epsilons:
                at = runs.filter(epsilon=epsilon)
                more = "" if link == "ideal" else signed(lost(at, entry, link))
                cells += [plus_minus(at.filter(entry=entry, network=link)["error"]), more]
            middle = part.filter(epsilon=1.0)
            seconds, joules = (float(middle[name].to_numpy().mean()) for name in ("simulated", "joules"))
            costs = f"{kilobytes(middle)} | {seconds:.3g} | {joules:.3g}"
            lines.append(f"| {titled(entry)} | {link} | " + " | ".join(cells) + f" | {costs} |")
    table = "\n".join(lines)
    return f"<details><summary>Every method on every network (costs at ε = 1)</summary>\n\n{table}\n\n</details>\n"


def lost(runs: pl.DataFrame, entry: str, link: str) -> pl.Series:
    """How much more an entry errs on a network than on an ideal one, seed by seed."""
    own = runs.filter(entry=entry)
    both = own.filter(network=link).join(own.filter(network="ideal"), on="seed", suffix="_ideal")
    return both["error"] - both["error_ideal"]


def choices(table: pl.DataFrame) -> str:
    """What was chosen, and how it did where it was chosen."""
    lines = [
        "| where | for | ε | method | settings | counts | tried at ε' | error there | of |",
        "|---|---|---:|---|---|---|---:|---:|---:|",
    ]
    for row in table.to_dicts():
        settings = {name.removeprefix("algorithm."): value for name, value in json.loads(row["settings"]).items()}
        told = ", ".join(f"{name} {shown(value)}" for name, value in settings.items() if name not in SILENT)
        edge = f" (at an end of its grid: {row['edges']})" if row["edges"] else ""
        lines.append(
            f"| {row['case']} | {titled(row['entry'])} | {row['epsilon']:g} | {row['method']} | {told}{edge} | "
            f"{row['output']} | {row['tuned_at']:.3g} | {row['tuned_error']:.4f} | {row['of']} |"
        )
    return "\n".join(lines) + "\n"


SILENT = ("name", "hub", "scaled", "moment_rounds", "topology.kind", "network.codec", "pair_sigma", "gamma_")


def shown(value: object) -> str:
    if isinstance(value, dict):
        return f"cap {value['cap']:g}" if "cap" in value else str(value["kind"])
    if isinstance(value, list):
        return f"{value[0]:g} to {value[-1]:g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def goals(stored: Path) -> str:
    """What was to be reached, what was measured, and whether that is enough."""
    lines = ["| goal | ε | at most | measured | |", "|---|---:|---:|---:|---|"]
    for told, study, entry, network, wanted in GOALS:
        for epsilon, most in wanted.items():
            values = measured(stored, study, entry, network, epsilon)
            lines.append(f"| {told} | {epsilon:g} | {most:.3f} | {verdict(values, most, ALLOWED)} |")
    lines += losses(stored)
    for study in ("ijcnn1", "waveform"):
        lines += elsewhere(stored, study)
    return "\n".join(lines) + "\n"


def losses(stored: Path) -> list[str]:
    """What a loss of 10 % adds, seed by seed."""
    if not (stored / "loss.csv").is_file():
        return [f"| what 10 % loss adds | | {LOSS:.3f} | not run | |"]
    runs = pl.read_csv(stored / "loss.csv")
    return [
        f"| what 10 % loss adds, {entry.partition(', ')[2]} | {epsilon:g} | {LOSS:.3f} | "
        f"{verdict(lost(runs.filter(epsilon=epsilon), entry, 'lossy WAN'), LOSS, 0.0)} |"
        for entry in entries(runs)
        for epsilon in sorted(runs["epsilon"].unique())
    ]


def measured(stored: Path, study: str, entry: str, network: str | None, epsilon: float) -> pl.Series | None:
    path = stored / f"{study}.csv"
    if not path.is_file():
        return None
    runs = pl.read_csv(path).filter(entry=entry, epsilon=epsilon)
    runs = runs if network is None else runs.filter(network=network)
    return runs["error"] if runs.height else None


def verdict(values: pl.Series | None, most: float, allowed: float) -> str:
    if values is None:
        return "not run |"
    mean, half = spread(values)
    word = f"missed by {mean - most:.4f}"
    if mean <= most:
        word = "met"
    elif mean <= most + allowed:
        word = f"within the {allowed} allowed"
    return f"{mean:.4f} ± {half:.4f} | {word}".replace("-", "−")


def elsewhere(stored: Path, study: str) -> list[str]:
    """Whether the frontier beats the papers on other data, with at most a tenth of what the papers send."""
    if not (stored / f"{study}.csv").is_file():
        return [f"| {study}: less error than the papers' best, a tenth of the bytes | | | not run | |"]
    runs = pl.read_csv(stored / f"{study}.csv")
    lines = []
    for epsilon in sorted(runs["epsilon"].unique()):
        part = runs.filter(epsilon=epsilon)
        other = best_paper(part, epsilon)
        both, (narrow, wide) = paired(part, FRONTIER[0], other), shares_of_bytes(part, FRONTIER[0], other)
        mean, half = spread(both["error"] - both["error_other"])
        word = "less" if mean + half < 0 else "more" if mean - half > 0 else "not told apart"
        met = "met" if word == "less" and wide <= 0.1 else "missed"
        lines.append(
            f"| {study}, 10 kB: error less that of {other} | {epsilon:g} | below 0 | "
            f"{signed(both['error'] - both['error_other'])} | {met}: {word}, {wide:.1%} of its bytes in float64, "
            f"{narrow:.1%} in int8 |"
        )
    return lines


def entry_look(entry: str) -> tuple[str, str]:
    """A marker and a colour."""
    if entry.startswith("frontier"):
        return "*", "#000000"
    base = next((name for name in sorted(COLOURS, key=len, reverse=True) if entry.startswith(name)), None)
    return LOOKS.get(entry, ("D" if entry.endswith("float64") else "o", COLOURS[base or "admm"]))


LOOKS = {
    "one-shot-unscaled": ("s", "#661100"),
    "pp-admm-stopped": ("v", "#0072B2"),
    "pp-admm-few": ("^", "#0072B2"),
    "mr-admm": ("s", "#CC79A7"),
    "dp-gossip": ("P", "#777777"),
    "noisy-fixed-point": ("X", "#999999"),
    "cancelling-gossip": ("p", "#44AA99"),
    "trusted-hub": ("h", "#AA4499"),
}
DRAWN = (
    *("one-shot", "prox-rounds", "noisy-nesterov", "pp-admm-few", "dp-gossip", "noisy-fixed-point"),
    *("pp-admm", "pp-admm, float64", "ipp-admm", "r-admm", "mr-admm"),
)
"""What the figure shows; the table has all."""


def point(axis: Axes, runs: pl.DataFrame, x: str, entry: str, factor: float = 1.0) -> None:
    mean, half = spread(runs["error"])
    mark, colour = entry_look(entry)
    where = factor * float(runs[x].to_numpy().mean())
    size = 11 if mark == "*" else 6
    axis.errorbar(where, mean, half, fmt=mark, color=colour, capsize=2, markersize=size, label=titled(entry).strip("*"))


def panel(axis: Axes, told: str) -> None:
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(told)


def draw(runs: pl.DataFrame, path: Path) -> None:
    """Error against bytes, one panel per ε."""
    style()
    epsilons = sorted(runs["epsilon"].unique())
    figure, axes = plt.subplots(1, len(epsilons), figsize=(11.0, 4.2), sharey=True, layout="constrained")
    for axis, epsilon in zip(axes, epsilons, strict=True):
        part = runs.filter(epsilon=epsilon)
        for entry in DRAWN:
            point(axis, part.filter(entry=entry), "wire_bytes", entry, 1e-3)
        best = yardstick(part, "best_optimum")
        axis.axhline(best, color="grey", linestyle="--", linewidth=1, label="best optimum without privacy")
        panel(axis, "sent by all agents (kB)")
        axis.set_title(f"ε = {epsilon:g}")
    axes[0].set_ylabel("test error")
    axes[-1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=140)
    plt.close(figure)


def draw_costs(runs: pl.DataFrame, path: Path) -> None:
    """Error against seconds and joules: a column for each network that costs any, a row for each ε and cost."""
    style()
    links, epsilons = ("lossy WAN", "4G", "radio cell"), sorted(runs["epsilon"].unique())
    costs = [("simulated", "seconds"), ("joules", "joules of all agents")]
    figure, axes = plt.subplots(
        2 * len(epsilons), len(links), figsize=(11.0, 16.0), sharey="row", squeeze=False, layout="constrained"
    )
    for row, (epsilon, (x, told)) in zip(axes, product(epsilons, costs), strict=True):
        for axis, link in zip(row, links, strict=True):
            part = runs.filter(network=link, epsilon=epsilon)
            for entry in ("one-shot", "prox-rounds", "noisy-nesterov", "pp-admm-few", "dp-gossip", *PAPERS[:3]):
                point(axis, part.filter(entry=entry), x, entry)
            panel(axis, told)
            axis.set_title(f"{link}, ε = {epsilon:g}")
        row[0].set_ylabel("test error")
    axes[0, -1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def sentence(runs: pl.DataFrame) -> str:
    """What README.md says of it."""
    part = runs.filter(epsilon=1.0)
    other = best_paper(part, 1.0)
    cells = [f"**{error(part, entry)}** for {kilobytes(part.filter(entry=entry))} kB" for entry in FRONTIER]
    papers = f"{error(part, other)} for {kilobytes(part.filter(entry=other))} kB"
    wide = part.filter(entry="pp-admm, float64")
    seeds = part["seed"].n_unique()
    ours = " or ".join(cells)
    told = f"Test error at a proven ε of 1 (Adult, ring of five, mean of {seeds} seeds): {ours}, against {papers}"
    wider = f"{kilobytes(wide)} kB in float64, which is what the papers send"
    skips = f"and {error(part, 'ipp-admm')} of IPP-ADMM"
    return (
        f"{told} of {other}, the best of the papers' methods ({wider}), {skips}. Settings were chosen on other rows.\n"
    )


def error(runs: pl.DataFrame, entry: str) -> str:
    return f"{float(runs.filter(entry=entry)['error'].to_numpy().mean()):.3f}"


ACROSS = (
    ("Adult, five agents", "networks", FRONTIER),
    ("Adult, five agents, 1 to 48 % positives", "slanted-networks", FRONTIER),
    ("Adult, twenty agents", "twenty-networks", ("frontier, 400 kB",)),
    ("Adult, twenty agents, 1 to 48 % positives", "twenty-slanted", ("frontier, 400 kB",)),
    ("Adult, a hundred agents", "hundred-networks", ("frontier, 400 kB", "noisy-nesterov")),
    ("Adult, a hundred agents, 1 to 48 % positives", "hundred-slanted", ("frontier, 400 kB", "noisy-nesterov")),
    ("ijcnn1, five agents", "ijcnn1-networks", FRONTIER),
    ("waveform, five agents", "waveform-networks", FRONTIER),
)
"""Where the frontier is held against the papers."""


def across(stored: Path) -> str:
    """The frontier's error less that of the best of the papers' methods in the same place, and its share of bytes."""
    lines = [
        "| where | network | method | ε = 0.25 | bytes | ε = 1 | bytes | ε = 4 | bytes |",
        "|---|---|---|" + "---:|" * 6,
    ]
    for where, study, names in ACROSS:
        path = stored / f"{study}.csv"
        if not path.is_file():
            lines.append(f"| {where} | not run |" + " |" * 7)
            continue
        runs = pl.read_csv(path).with_columns(pl.col("network").cast(pl.String).fill_null("ideal"))
        for link in runs["network"].unique(maintain_order=True):
            for entry in names:
                part = runs.filter(network=link)
                cells = [cell for epsilon in (0.25, 1.0, 4.0) for cell in versus(part, entry, epsilon)]
                lines.append(f"| {where} | {link} | {titled(entry)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def versus(runs: pl.DataFrame, entry: str, epsilon: float) -> list[str]:
    """An entry less the papers' best at one ε, seed by seed, and its share of the bytes."""
    both = paired(runs, entry, best_paper(runs, epsilon)).filter(epsilon=epsilon)
    share = both["wire_bytes"].sum() / both["wire_bytes_other"].sum()
    return [signed(both["error"] - both["error_other"]), f"{share:.0%}"]


def audits(table: pl.DataFrame) -> str:
    """What an auditor found of each method."""
    lines = ["| method | verdict | noise less than this share would be seen |", "|---|---|---:|"]
    lines += [f"| {titled(row['entry'])} | {row['verdict']} | {row['seen']:.1%} |" for row in table.to_dicts()]
    return "\n".join(lines) + f"\n\n{table['runs'][0]} runs on each of two neighbouring data sets.\n"


PARTS: dict[str, Callable[[pl.DataFrame], str]] = {
    "choices": choices,
    "audits": audits,
    "adult": whole,
    "networks": networks,
    "slanted": by_epsilon,
    "slanted-tuned": by_epsilon,
    "slanted-networks": compact,
    "skewed": by_epsilon,
    "skewed-carried": by_epsilon,
    "twenty": by_epsilon,
    "twenty-slanted": by_epsilon,
    "twenty-networks": compact,
    "hundred": by_epsilon,
    "hundred-slanted": by_epsilon,
    "hundred-networks": compact,
    "ijcnn1": whole,
    "ijcnn1-networks": compact,
    "waveform": whole,
    "waveform-networks": compact,
}
FIGURES = {"adult": draw, "networks": draw_costs}


def told(page: str, stored: Path) -> str:
    """The page with every block as the stored runs have it."""
    for name, table in PARTS.items():
        path = stored / f"{name}.csv"
        text = table(pl.read_csv(path)) if path.is_file() else f"{MISSING}\n"
        page = filled(page, f"frontier-{name}", f"\n{text}\n")
    adult = stored / "adult.csv"
    ideas = worth(pl.read_csv(adult)) if adult.is_file() else f"{MISSING}\n"
    page = filled(filled(page, "frontier-worth", f"\n{ideas}\n"), "frontier-across", f"\n{across(stored)}\n")
    return filled(page, "frontier-goals", f"\n{goals(stored)}\n")


def headline(readme: str, stored: Path) -> str:
    """README.md with its sentence as the stored runs have it."""
    if not (stored / "adult.csv").is_file():
        return readme
    return filled(readme, "frontier-readme", f"\n{sentence(pl.read_csv(stored / 'adult.csv'))}\n")


def fill(stored: Path, page: Path, readme: Path) -> None:
    """Write tables, figures and the sentence of README.md."""
    page.write_text(told(page.read_text(encoding="utf-8"), stored), encoding="utf-8")
    readme.write_text(headline(readme.read_text(encoding="utf-8"), stored), encoding="utf-8")
    for name, drawn in FIGURES.items():
        if (stored / f"{name}.csv").is_file():
            drawn(pl.read_csv(stored / f"{name}.csv"), stored / f"{name}.png")
