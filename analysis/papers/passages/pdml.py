"""PDML."""

from __future__ import annotations

import polars as pl

from analysis.papers.drawing import where
from analysis.papers.passages.reading import FIGURES, link, table, value


def pdml_table() -> str:
    return "\n\n" + (FIGURES / "pdml-table-1.md").read_text(encoding="utf-8") + "\n"


RAW, SHORT = "as they are", "norm <= 1"


def _column(setting: str, rows: str = RAW) -> float:
    return float(where(table("pdml-table-1"), setting=setting, rows=rows)["ours"].mean())


def pdml_t1_near() -> str:
    found = table("pdml-table-1")
    tasks = found.filter(~pl.col("data").is_in(["banana", "splice"]))

    def off(rows: str, worst: bool) -> str:
        rows_of = where(tasks, rows=rows).filter(pl.col("setting").str.ends_with("R=9") == worst)
        return f"{float((rows_of['ours'] - rows_of['paper']).abs().mean()):.1f}"

    def at(rows: str) -> str:
        said = where(found, rows=rows, setting="ε=0.4 R=9")
        return ", ".join(f"{name} {said.filter(data=name)['ours'].item():.1f}" for name in ("twonorm", "waveform"))

    return (
        "mean distance from the paper's numbers over five sets (without Banana and Splice), in points: rows as they "
        f"are {off(RAW, False)} and, at R = 9, {off(RAW, True)}; rows of norm at most 1 {off(SHORT, False)} and "
        f"{off(SHORT, True)}. At ε = 0.4, R = 9: {at(RAW)}; with short rows {at(SHORT)} (paper: 92.3, 80.5)"
    )


def pdml_t1() -> str:
    told = "; ".join(
        f"R = {r}: {_column(f'ε=1 R={r}'):.1f} at ε = 1, {_column(f'ε=0.4 R={r}'):.1f} at 0.4" for r in (0, 1, 9)
    )
    return f"{link('pdml-table-1')}. Means over the seven sets: no privacy {_column('no privacy'):.1f}; {told}"


def pdml_t1_worst() -> str:
    worst = where(table("pdml-table-1"), setting="ε=0.4 R=9", rows=RAW)
    plain = where(table("pdml-table-1"), setting="no privacy", rows=RAW)

    def pair(data: str) -> str:
        (a,), (b,) = worst.filter(data=data)["ours"], plain.filter(data=data)["ours"]
        return f"{a:.1f} against {b:.1f} without privacy (paper: {worst.filter(data=data)['paper'].item():.1f})"

    return (
        f"{worst['ours'].min():.0f} to {worst['ours'].max():.0f} %, on Twonorm {pair('twonorm')}, on Ringnorm "
        f"{pair('ringnorm')}"
    )


def pdml_t1_tasks() -> str:
    rows = where(table("pdml-table-1"), setting="no privacy", rows=RAW)
    told = {name: rows.filter(data=name) for name in ("banana", "splice")}
    return "; ".join(
        f"{name.title()} {row['ours'].item():.1f} % (paper: {row['paper'].item():.1f})" for name, row in told.items()
    )


def _servers(figure: str, t: int, bound: float) -> float:
    return value("pdml-figure-3", figure=figure, round=t, algorithm__name="pdml", algorithm__objective_bound=bound)


def pdml_3a() -> str:
    def told(bound: float) -> str:
        return ", ".join(f"{_servers('distance', t, bound):.2g}" for t in (1, 50, 100))

    return (
        f"{link('pdml-figure-3')}: largest distance of two w_i at rounds 1, 50, 100: {told(1.0)} with both phases; "
        f"{told(0.0)} with phase 1 alone"
    )


def _settled(bound: float) -> int:
    """The first round from which on the risk stays within 1 % of its last value."""
    rows = where(table("pdml-figure-3"), figure="risk", algorithm__name="pdml", algorithm__objective_bound=bound)
    rows = rows.sort("round")
    last = rows["mean"][-1]
    far = rows.filter((pl.col("mean") - last).abs() > 0.01 * last)["round"]
    return int(far.max() or 0) + 1


def pdml_3b() -> str:
    plain = value("pdml-figure-3", figure="risk", round=100, algorithm__name="admm")
    return (
        f"final risk {plain:.4f} without privacy, {_servers('risk', 100, 0.0):.4f} with phase 1, "
        f"{_servers('risk', 100, 1.0):.4f} with both; within 1 % of it from round {_settled(0.0)} and from round "
        f"{_settled(1.0)} on"
    )


def pdml_averages() -> str:
    def told(figure: str, bound: float) -> str:
        return ", ".join(f"{_servers(figure, t, bound):.4f}" for t in (10, 30, 100))

    return (
        f"same table, risk at rounds 10, 30, 100, both phases: averages {told('risk of averages', 1.0)}, classifiers "
        f"{told('risk', 1.0)}; phase 1 alone: averages {told('risk of averages', 0.0)}, classifiers {told('risk', 0.0)}"
    )


def _four(varied: str, value_: float, t: int = 100) -> float:
    return value("pdml-figure-4", varied=varied, value=value_, round=t)


def pdml_4a() -> str:
    told = ", ".join(f"{_four('R', bound):.3f}" for bound in (0.0, 1.0, 9.0))
    return f"{link('pdml-figure-4')}: {told} at R = 0, 1, 9"


def pdml_4b() -> str:
    decays = (0.6, 0.9, 0.95)
    early, late = (", ".join(f"{_four('ρ', decay, t):.3f}" for decay in decays) for t in (20, 100))
    return f"same table, ρ = 0.6, 0.9, 0.95: {early} at round 20, {late} at round 100"


def pdml_4c() -> str:
    epsilons = (0.2, 0.4, 0.6, 1.0)
    alone, both = (", ".join(f"{_four(f'ε, R = {r}', e):.3f}" for e in epsilons) for r in ("0.0", "1.0"))
    return f"same table, ε = 0.2, 0.4, 0.6, 1: phase 1 {alone}; both {both}"


def pdml_tuned() -> str:
    found = table("tuning-pdml-table")
    best, others = found.filter("chosen").to_dicts()[0], found.filter(~pl.col("chosen"))["train_loss"]
    return (
        f"{link('tuning-pdml-table')}, {found.height} settings, three seeds: penalty {best['algorithm.eta']:g} and "
        f"a/n = {best['algorithm.regulariser']:g}, with a training loss of {best['train_loss']:.4f}; the others have "
        f"{others.min():.4f} to {others.max():.4f}"
    )


def pdml_t1_constant() -> str:
    """Where a constant answer is better, ours and the paper's."""
    found = where(table("pdml-table-1"), rows=RAW)
    constant = dict(where(found, setting="best constant").select("data", "ours").iter_rows())
    private = found.filter(pl.col("setting").str.starts_with("ε"))
    told = []
    for column in ("ours", "paper"):
        below = [(row["data"], row["setting"]) for row in private.to_dicts() if row[column] < constant[row["data"]]]
        sets = [name for name in constant if any(data == name for data, _ in below)]
        counts = ", ".join(f"{name} {sum(data == name for data, _ in below)}" for name in sets)
        told.append(f"{column if column == 'ours' else 'the paper’s'} {len(below)} ({counts})")
    return f"of {private.height} private cells, below the best constant answer: {'; '.join(told)}"
