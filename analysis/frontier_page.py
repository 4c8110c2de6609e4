"""Tables and the figure of docs/frontier.md, from the stored runs of docs/frontier."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import polars as pl
from matplotlib.ticker import NullFormatter, StrMethodFormatter
from scipy.stats import t as student

from analysis.palette import COLOURS, style
from analysis.studies import filled

MISSING = "Not run: this part of the study is not stored."
NAMES = {
    "one-shot-unscaled": "one-shot, rows as they are",
    "pp-admm-stopped": "pp-admm, stopped",
    "pp-admm-few": "pp-admm, few rounds, neighbours",
    "scaled-pp-admm": "scaled-pp-admm, neighbours",
    "trusted-hub": "dp-admm at a trusted hub",
}
MARKS = {"one-shot-unscaled": "s", "pp-admm-stopped": "v", "pp-admm-few": "^", "trusted-hub": "*"}


def spread(values: pl.Series) -> tuple[float, float]:
    """The mean, and half of its 95 % interval (t)."""
    found = values.to_numpy()
    half = student.ppf(0.975, len(found) - 1) * found.std(ddof=1) / sqrt(len(found))
    return float(found.mean()), float(half)


def plus_minus(values: pl.Series) -> str:
    """`0.172 ± 0.002`."""
    mean, half = spread(values)
    return f"{mean:.4f} ± {half:.4f}"


def kilobytes(runs: pl.DataFrame) -> str:
    """Mean bytes on the wire."""
    return f"{float(runs['wire_bytes'].to_numpy().mean()) / 1e3:,.1f}"


def titled(entry: str) -> str:
    """An entry's name on the page."""
    return NAMES.get(entry, entry)


def entries(runs: pl.DataFrame) -> list[str]:
    """In the order of the study."""
    return runs["entry"].unique(maintain_order=True).to_list()


def adult(runs: pl.DataFrame) -> str:
    """Error and bytes per entry and ε, and what the flooded methods gain, seed by seed."""
    epsilons = sorted(runs["epsilon"].unique())
    lines = [
        "| method | " + " | ".join(f"error, ε = {e:g} | kB" for e in epsilons) + " |",
        "|---|" + "---:|" * (2 * len(epsilons)),
    ]
    for entry in entries(runs):
        cells = []
        for epsilon in epsilons:
            part = runs.filter(entry=entry, epsilon=epsilon)
            cells += [plus_minus(part["error"]), kilobytes(part)]
        lines.append(f"| {titled(entry)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + f"\n\n{yardsticks(runs)}\n\n{gaps(runs)}\n"


def gaps(runs: pl.DataFrame) -> str:
    """Differences seed by seed against the papers' methods at eight bytes per number."""
    lines = ["| error less that of, seed by seed | ε | pp-admm, float64 | ipp-admm, float64 |", "|---|---:|---:|---:|"]
    for entry in ("one-shot", "prox-rounds", "noisy-nesterov", "pp-admm-few"):
        for epsilon in sorted(runs["epsilon"].unique()):
            cells = [gap(runs.filter(epsilon=epsilon), entry, f"{other}, float64") for other in ("pp-admm", "ipp-admm")]
            lines.append(f"| {titled(entry)} | {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gap(runs: pl.DataFrame, entry: str, other: str) -> str:
    """How much more one entry errs than another, over the same seeds, and its share of the bytes."""
    both = runs.filter(entry=entry).join(runs.filter(entry=other), on="seed", suffix="_other")
    mean, half = spread(both["error"] - both["error_other"])
    share = both["wire_bytes"].sum() / both["wire_bytes_other"].sum()
    return f"{mean:+.4f} ± {half:.4f}, {share:.1%} of the bytes".replace("-", "−")


def yardsticks(runs: pl.DataFrame) -> str:
    """What errors are held against."""
    constant, optimum, best = (yardstick(runs, name) for name in ("constant", "optimum", "best_optimum"))
    return f"Yardsticks: constant answer {constant:.4f}, optimum without privacy {optimum:.4f}, at best {best:.4f}."


def yardstick(runs: pl.DataFrame, name: str) -> float:
    """That of the runs of PP-ADMM: an optimum depends on the loss and the regulariser."""
    return float(runs.filter(entry="pp-admm")[f"yardsticks_{name}"].to_numpy().mean())


def networks(runs: pl.DataFrame) -> str:
    """Error and costs per entry and network."""
    links = runs["network"].unique(maintain_order=True).to_list()
    lines = ["| method | network | error | kB | seconds | joules |", "|---|---|---:|---:|---:|---:|"]
    for entry in entries(runs):
        for link in links:
            part = runs.filter(entry=entry, network=link)
            seconds, joules = (float(part[name].to_numpy().mean()) for name in ("simulated", "joules"))
            lines.append(
                f"| {titled(entry)} | {link} | {plus_minus(part['error'])} | {kilobytes(part)} | {seconds:.3g} | "
                f"{joules:.3g} |"
            )
    return "\n".join(lines) + "\n"


def skew(runs: pl.DataFrame) -> str:
    """Error and bytes per entry."""
    lines = ["| method | error | kB |", "|---|---:|---:|"]
    for entry in entries(runs):
        part = runs.filter(entry=entry)
        lines.append(f"| {titled(entry)} | {plus_minus(part['error'])} | {kilobytes(part)} |")
    return "\n".join(lines) + f"\n\n{yardsticks(runs)}\n"


def draw(runs: pl.DataFrame, path: Path) -> None:
    """Error against bytes, one panel per ε."""
    style()
    epsilons = sorted(runs["epsilon"].unique())
    figure, axes = plt.subplots(1, len(epsilons), figsize=(11.0, 4.2), sharey=True, layout="constrained")
    for axis, epsilon in zip(axes, epsilons, strict=True):
        part = runs.filter(epsilon=epsilon)
        for entry in entries(part):
            own = part.filter(entry=entry)
            mean, half = spread(own["error"])
            base = next((name for name in COLOURS if entry.startswith(name)), "admm")
            mark = "D" if entry.endswith("float64") else MARKS.get(entry, "o")
            size = float(own["wire_bytes"].to_numpy().mean()) / 1e3
            axis.errorbar(size, mean, half, fmt=mark, color=COLOURS[base], capsize=2, label=titled(entry))
        for name, dash in (("constant", ":"), ("optimum", "--"), ("best_optimum", "-.")):
            told = name.replace("best_optimum", "best optimum")
            axis.axhline(yardstick(part, name), color="grey", linestyle=dash, linewidth=1, label=told)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_title(f"ε = {epsilon:g}")
        axis.set_xlabel("sent (kB)")
    axes[0].set_ylabel("test error")
    axes[-1].legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=140)
    plt.close(figure)


PARTS = {"adult": adult, "networks": networks, "skew": skew}


def told(page: str, stored: Path) -> str:
    """The page with every block as the stored runs have it."""
    for name, table in PARTS.items():
        path = stored / f"{name}.csv"
        text = table(pl.read_csv(path)) if path.is_file() else f"{MISSING}\n"
        page = filled(page, f"frontier-{name}", f"\n{text}\n")
    return page


def fill(stored: Path, page: Path) -> None:
    """Write tables and figure."""
    page.write_text(told(page.read_text(encoding="utf-8"), stored), encoding="utf-8")
    if (stored / "adult.csv").is_file():
        draw(pl.read_csv(stored / "adult.csv"), stored / "adult.png")
