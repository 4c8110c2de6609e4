"""Yardsticks on a terminal: what stands beside a test error, so that nobody takes a bad one for a good one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simnet.privacy.budget import Facts

_SHORT = {
    "constant": "constant answer",
    "optimum": "optimum without privacy",
    "best_optimum": "at best",
}


def rows(found: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """Rows of a run's table; none for a record without yardsticks."""
    if found is None:
        return []
    told = []
    if found["constant"] is not None:
        told.append(("· constant", f"{found['constant']:.4f}", "the best answer that is the same for all rows"))
    if found["optimum"] is not None:
        told.append(("· optimum", f"{found['optimum']:.4f}", "all rows in one place, no privacy" + _at_best(found)))
    elif found["best_optimum"] is not None:
        told.append(("· optimum", "–", f"{found['absent']}{_at_best(found)}"))
    elif found["absent"]:
        told.append(("· optimum", "–", found["absent"]))
    return told


def _at_best(found: Mapping[str, Any]) -> str:
    """What another regulariser would give."""
    if found["best_optimum"] is None or found["best_regulariser"] == found["regulariser"]:
        return ""
    return f"; at best {found['best_optimum']:.4f}, λ = {found['best_regulariser']:g}"


def line(several: Sequence[Mapping[str, float | None]]) -> str:
    """One line for a table of several runs, as a range where they differ; empty without yardsticks."""
    told = []
    for name, words in _SHORT.items():
        values = [each[name] for each in several if each.get(name) is not None]
        if values:
            low, high = f"{min(values):.4f}", f"{max(values):.4f}"  # type: ignore[type-var]
            told.append(f"{words} {low if low == high else f'{low} to {high}'}")
    return "; ".join(told)


def facts(found: Mapping[str, Any]) -> dict[str, Facts]:
    """The topic of `simnet explain`."""
    told: Facts = {}
    if found["constant"] is not None:
        told["constant answer"] = f"{found['constant']:.4f}: the best answer that is the same for all rows"
    if found["optimum"] is not None:
        told["optimum without privacy"] = (
            f"{found['optimum']:.4f}: the minimiser of Σ f_i with the run's λ = {found['regulariser']:g}, where plain "
            "ADMM ends"
        )
    if found["best_optimum"] is not None:
        told["the same, at best"] = (
            f"{found['best_optimum']:.4f} with λ = {found['best_regulariser']:g}, chosen by the test rows: a bound"
        )
    if found["absent"]:
        told["what is missing"] = found["absent"]
    return {"yardsticks of the test error (from all rows, without noise: not to be published)": told}
