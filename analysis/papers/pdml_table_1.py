"""PDML, Table I: accuracy on seven data sets, ours beside the paper's.

    python -m analysis.papers.pdml_table_1

Beside picture and CSV, pdml-table-1.md holds the table in Markdown.
"""

from __future__ import annotations

import polars as pl

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, finals, main, panels, where
from simnet.studies.results import StudyResult

RAW, SHORT = "as they are", "norm <= 1"
SETTINGS = ("no privacy", "ε=0.4 R=0", "ε=1 R=0", "ε=0.4 R=1", "ε=0.4 R=9", "ε=1 R=1", "ε=1 R=9")
HELD_AGAINST = {"best constant": "yardsticks_constant", "optimum": "yardsticks_optimum"}
"""What all rows in one place, without privacy, give with the same a/n; the paper has neither."""
PAPER = {
    "german": (75.00, 71.00, 74.00, 69.67, 64.00, 74.33, 67.67),
    "image": (75.56, 70.13, 72.84, 69.33, 63.10, 70.45, 65.50),
    "ringnorm": (77.38, 73.44, 76.82, 73.74, 66.18, 75.77, 70.23),
    "banana": (58.22, 54.33, 56.06, 54.28, 43.11, 55.89, 54.44),
    "splice": (56.60, 46.84, 56.60, 54.94, 46.39, 55.83, 52.50),
    "twonorm": (97.90, 96.59, 97.38, 96.51, 92.28, 97.41, 94.77),
    "waveform": (88.93, 84.60, 87.93, 84.07, 80.47, 87.67, 81.73),
}


def setting(row: dict[str, float | None]) -> str:
    """The column of the paper's table that a run belongs to."""
    if row["algorithm.label_epsilon"] is None:
        return SETTINGS[0]
    return f"ε={row['algorithm.label_epsilon']:g} R={row['algorithm.objective_bound']:g}"


def table(study: StudyResult) -> pl.DataFrame:
    """A row a data set, scaling and setting: accuracy in %, with its range over seeds, and the paper's."""
    rows = []
    known = [where(finals(study, figure), algorithm__name="admm") for figure in HELD_AGAINST.values()]
    for row in pl.concat([finals(study, "test_error"), *known]).to_dicts():
        name = next((name for name, figure in HELD_AGAINST.items() if figure == row["figure"]), None) or setting(row)
        rows.append(
            {
                "data": row["data.source"],
                "rows": RAW if row["data.scale"] == "none" else SHORT,
                "setting": name,
                "n": row["n"],
                "ours": 100 * (1 - row["mean"]),
                "least": 100 * (1 - row["max"]),
                "most": 100 * (1 - row["min"]),
                "paper": None if name in HELD_AGAINST else PAPER[row["data.source"]][SETTINGS.index(name)],
            }
        )
    return pl.DataFrame(rows)


def markdown(found: pl.DataFrame) -> str:
    """Ours / the paper's, in %, with rows as they are."""
    found = found.filter(rows=RAW)
    heads = ("data", *SETTINGS, *HELD_AGAINST)
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for data in found["data"].unique(maintain_order=True):
        cells = {row["setting"]: row for row in found.filter(data=data).to_dicts()}
        told = [f"{cells[name]['ours']:.1f} / {cells[name]['paper']:.1f}" for name in SETTINGS]
        told += [f"{cells[name]['ours']:.1f}" for name in HELD_AGAINST]
        lines.append(f"| {data} | " + " | ".join(told) + " |")
    return "\n".join(lines) + "\n"


def draw(study: StudyResult) -> Drawing:
    """A panel a data set: bars are ours, with the range; dashes with rows of norm <= 1; crosses are the paper's."""
    found = table(study)
    names = found["data"].unique(maintain_order=True).to_list()
    figure, axes = panels(2, 4, width=2.8, height=2.4, sharey=True)
    for place, data in zip(axes.flat, names, strict=False):
        rows, short = (found.filter(pl.col("setting").is_in(SETTINGS), data=data, rows=kind) for kind in (RAW, SHORT))
        reach = [rows["ours"] - rows["least"], rows["most"] - rows["ours"]]
        places = range(rows.height)
        place.bar(places, rows["ours"], yerr=reach, color=COLOURS["pdml"], alpha=0.7, capsize=2, label="ours")
        place.plot(places, short["ours"], "_", color="#333333", markersize=10, label="ours, rows <= 1")
        place.plot(places, rows["paper"], "kx", label="paper")
        for name, dashes in zip(HELD_AGAINST, (":", "--"), strict=True):
            height = found.filter(data=data, rows=RAW, setting=name)["ours"].item()
            place.axhline(height, color="#888888", linestyle=dashes, linewidth=1.2, label=name)
        place.set_title(data, fontsize=10)
        place.set_xticks(places, rows["setting"].to_list(), rotation=70, fontsize=7)
        place.set_ylim(30, 100)
    for place in axes[:, 0]:
        place.set_ylabel("accuracy (%)")
    for place in list(axes.flat)[len(names) :]:
        place.set_axis_off()
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", frameon=False)
    return figure, found


if __name__ == "__main__":
    main("pdml-table-1", draw, __doc__, markdown=markdown)
