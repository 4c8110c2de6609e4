"""DP-ADMM and DP-AccADMM."""

from __future__ import annotations

from itertools import pairwise

from analysis.papers.drawing import where
from analysis.papers.passages.reading import link, table, value

_ALL = {"a8a": "a8a", "a9a": "a9a", "ijcnn1": "ijcnn1", "bio_train": "bio/bio.npz"}
SETS = {name: source for name, source in _ALL.items() if source in table("dp-figure-2")["data.source"]}
"""What the table calls each data set of the paper that it has."""


def _gap(source: str, method: str, calibration: str, penalty: float, t: int = 100, column: str = "mean") -> float:
    at = {"data__source": SETS[source], "algorithm__name": method, "privacy__calibration": calibration}
    return value("dp-figure-1", column, **at, algorithm__penalty=penalty, round=t)


def dp_1() -> str:
    def told(penalty: float) -> str:
        return "; ".join(
            f"{source} {_gap(source, 'dp-admm', 'none', penalty):.2g} and "
            f"{_gap(source, 'dp-acc-admm', 'none', penalty):.2g}"
            for source in SETS
        )

    return (
        f"{link('dp-figure-1')}, no noise, gap after 100 rounds, plain and accelerated: at the paper's ρ = γ = 1 "
        f"{told(1.0)}; at ρ = 1e-3 {told(1e-3)}"
    )


def _ahead(source: str) -> int:
    """Until which round the accelerated method with noise is closer to the least objective than the plain one."""
    at = {"data__source": SETS[source], "privacy__calibration": "paper", "algorithm__penalty": 1e-3}
    fast, slow = (
        where(table("dp-figure-1"), algorithm__name=name, **at).sort("round")["mean"].to_list()
        for name in ("dp-acc-admm", "dp-admm")
    )
    return max(t for t, (a, b) in enumerate(zip(fast, slow, strict=True), 1) if a < b)


def dp_1_noise() -> str:
    moved = max(
        abs(_gap(s, "dp-acc-admm", "paper", 1.0) - _gap(s, "dp-acc-admm", "none", 1.0))
        / _gap(s, "dp-acc-admm", "none", 1.0)
        for s in SETS
    )
    far = [_gap(s, "dp-acc-admm", "none", 1.0) for s in SETS]
    ahead = ", ".join(f"{_ahead(source)} ({source})" for source in SETS)
    gaps = ", ".join(f"{_gap(source, 'dp-acc-admm', 'paper', 1e-3):.2g} ({source})" for source in SETS)
    return (
        f"at ρ = γ = 1 the noise of ε = 0.1 changes the gap of the accelerated method by at most {100 * moved:.0f} %, "
        "because "
        f"100 rounds get nowhere near the optimum (gap {min(far):.2g} to {max(far):.2g}). Where they do (ρ = 1e-3), "
        "the "
        f"accelerated method is ahead until round {ahead} and then moves away from the optimum: gap {gaps} at round 100"
    )


def dp_1_utility() -> str:
    told = ", ".join(
        f"{_gap(source, 'dp-acc-admm', 'paper', 1e-3):.2g} against {_gap(source, 'dp-admm', 'paper', 1e-3):.2g} "
        f"({source})"
        for source in SETS
    )
    return f"same table, ρ = 1e-3, round 100, ε = 0.1: {told}"


def dp_1_time() -> str:
    at = {"algorithm__name": "dp-admm", "privacy__calibration": "none", "algorithm__penalty": 1e-3}
    parts = []
    for source in SETS:
        start, end = (value("dp-figure-1", "seconds", data__source=SETS[source], round=t, **at) for t in (1, 100))
        sent = value("dp-figure-1", "wire_bytes", data__source=SETS[source], round=100, **at)
        parts.append(f"{source} {start:.1f} s, {end:.1f} s, {sent / 1e6:.0f} MB")
    return (
        f"same table, until the end of round 1, of round 100, and sent in all: {'; '.join(parts)}. A round takes both "
        "methods "
        f"{1000 * (end - start) / 99:.0f} ms; nearly all bytes are the rows of the leaf on their way to the hub"
    )


EPSILONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.5)
PENALTIES = (1.0, 1e-3)


def _two(source: str, method: str, epsilon: float | None, figure: str, penalty: float) -> float:
    """At an ε, or without noise."""
    at = {"data__source": SETS[source], "algorithm__name": method, "privacy__epsilon": epsilon}
    return value("dp-figure-2", figure=figure, algorithm__penalty=penalty, **at)


def _pairs(epsilon: float, figure: str, digits: str, penalty: float) -> str:
    return "; ".join(
        f"{source} {_two(source, 'dp-admm', epsilon, figure, penalty):{digits}} and "
        f"{_two(source, 'dp-acc-admm', epsilon, figure, penalty):{digits}}"
        for source in SETS
    )


def dp_2_small() -> str:
    return (
        f"{link('dp-figure-2')}, test error, plain and accelerated, ε = 0.005: at the paper's ρ = γ = 1 "
        f"{_pairs(0.005, 'test_error', '.3f', 1.0)}; at ρ = 1e-3 {_pairs(0.005, 'test_error', '.3f', 1e-3)}. Objective "
        f"at ρ = γ = 1 "
        f"{_pairs(0.005, 'objective', '.3g', 1.0)}; at ρ = 1e-3 {_pairs(0.005, 'objective', '.3g', 1e-3)}"
    )


def _threshold(source: str, figure: str, penalty: float) -> str:
    """The least ε of the table from which on the accelerated method is ahead."""
    ahead = [
        _two(source, "dp-acc-admm", epsilon, figure, penalty) < _two(source, "dp-admm", epsilon, figure, penalty)
        for epsilon in EPSILONS
    ]
    behind = max((place for place, fast in enumerate(ahead) if not fast), default=-1)
    return f"{EPSILONS[behind + 1]:g}" if behind + 1 < len(EPSILONS) else "none"


def dp_2_large() -> str:
    def told(figure: str, penalty: float) -> str:
        return ", ".join(f"{source} {_threshold(source, figure, penalty)}" for source in SETS)

    tried = ", ".join(f"{each:g}" for each in EPSILONS)
    return (
        f"same table, the least ε of {tried} from which on acceleration is ahead: at ρ = γ = 1 in test error "
        f"{told('test_error', 1.0)}, in objective {told('objective', 1.0)}; at ρ = 1e-3 {told('test_error', 1e-3)} and "
        f"{told('objective', 1e-3)}. Test error at ε = 0.1, plain and accelerated: ρ = γ = 1 "
        f"{_pairs(0.1, 'test_error', '.4f', 1.0)}; ρ = 1e-3 {_pairs(0.1, 'test_error', '.4f', 1e-3)}"
    )


def dp_2_more() -> str:
    falls = []
    for penalty in PENALTIES:
        for figure in ("objective", "test_error"):
            for source in SETS:
                for method in ("dp-admm", "dp-acc-admm"):
                    line = [_two(source, method, epsilon, figure, penalty) for epsilon in EPSILONS]
                    falls.append(all(b <= a + 1e-3 for a, b in pairwise(line)))
    told = "curves of objective and test error fall with ε at every step, or rise by less than 0.001"
    return f"{sum(falls)} of {len(falls)} {told}"


def dp_2_approach() -> str:
    def told(penalty: float, epsilon: float) -> str:
        parts = []
        for source in SETS:
            pairs = [
                f"{_two(source, method, epsilon, 'test_error', penalty):.4f} "
                f"({_two(source, method, None, 'test_error', penalty):.4f})"
                for method in ("dp-admm", "dp-acc-admm")
            ]
            parts.append(f"{source} {' and '.join(pairs)}")
        return "; ".join(parts)

    known = []
    for source in SETS:
        at = {"data__source": SETS[source], "algorithm__name": "dp-admm", "algorithm__penalty": 1.0}
        constant, best = (
            value("dp-figure-2", figure=f"yardsticks_{name}", **at) for name in ("constant", "best_optimum")
        )
        known.append(f"{source} {constant:.4f} and {best:.4f}")
    return (
        f"same table, test error of plain and accelerated (without noise): ρ = γ = 1, ε = 0.1 {told(1.0, 0.1)}; "
        f"ρ = 1e-3, ε = 0.5 {told(1e-3, 0.5)}. Best constant answer, and optimum at best: {'; '.join(known)}"
    )
