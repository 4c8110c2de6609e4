"""All methods side by side, and how their settings were chosen."""

from __future__ import annotations

from analysis.papers.passages.reading import FIGURES, table, value


def ordering() -> str:
    return "\n\n" + (FIGURES / "ordering.md").read_text(encoding="utf-8") + "\n"


def _over(method: str, reference: str) -> str:
    at = {"method": method}
    return (
        f"{value('ordering', f'over_{reference}', **at):+.4f} ± {value('ordering', f'over_{reference}_half', **at):.4f}"
    )


def ordering_pairs() -> str:
    return (
        f"Paired differences in test error, seed by seed: pp-admm over admm {_over('pp-admm', 'admm')}, ipp-admm over "
        "pp-admm "
        f"{_over('ipp-admm', 'pp-admm')}, m-admm over r-admm {_over('m-admm', 'r-admm')}, dvp over m-admm "
        f"{_over('dvp', 'm-admm')}, pvp over dvp {_over('pvp', 'dvp')}, r-admm over ipp-admm "
        f"{_over('r-admm', 'ipp-admm')}"
    )


def tuning() -> str:
    lines = [
        "",
        "",
        "| method | settings tried | chosen | training loss (range of three seeds) |",
        "| --- | --- | --- | --- |",
    ]
    found = table("tuning")
    for row in found.filter("chosen").to_dicts():
        count = found.filter(method=row["method"]).height
        spread = f"{row['train_loss']:.4f} ({row['least']:.4f} to {row['most']:.4f})"
        lines.append(f"| {row['method']} | {count} | {row['setting']} | {spread} |")
    return "\n".join(lines) + "\n\n"
