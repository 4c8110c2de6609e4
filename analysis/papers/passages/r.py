"""R-ADMM."""

from __future__ import annotations

from typing import Any

from analysis.papers.drawing import where
from analysis.papers.passages.reading import half, link, table, value


def r_1() -> str:
    def at(agents: int, t: int, **more: Any) -> float:
        at = {"topology__agents": agents, "algorithm__loss_weight": 1750.0, "figure": "train_loss"}
        return value("r-figure-1", round=t, **at, **more)

    parts = [
        f"{agents} agents: {at(agents, 29, algorithm__name='r-admm', algorithm__gamma=0.0):.4f} at round 29 against "
        f"ADMM's {at(agents, 29, algorithm__name='dvp'):.4f}, and "
        f"{at(agents, 30, algorithm__name='r-admm', algorithm__gamma=0.0):.4f} at round 30"
        for agents in (5, 20)
    ]
    return f"{link('r-figure-1')}, C = 1750, γ = 0, five seeds. " + "; ".join(parts)


def r_1_gamma() -> str:
    at = {"topology__agents": 5, "algorithm__name": "r-admm", "algorithm__loss_weight": 1750.0, "figure": "train_loss"}
    gammas = (0.0, 1.0, 5.0)
    late = [value("r-figure-1", round=30, algorithm__gamma=gamma, **at) for gamma in gammas]
    early = [value("r-figure-1", round=29, algorithm__gamma=gamma, **at) for gamma in gammas]
    moved = ", ".join(f"{b - a:+.4f}".replace("-", "−") for a, b in zip(early, late, strict=True))
    return (
        f"same table, C = 1750, 5 agents, γ = 0, 1, 5. Round 29: {', '.join(f'{loss:.4f}' for loss in early)}; change "
        "to "
        f"round 30: {moved}"
    )


def _r2(method: str, epsilon: float, column: str = "mean") -> float:
    at = {"algorithm__loss_weight": 1750.0, "privacy__epsilon": epsilon, "round": 30, "figure": "train_loss"}
    return value("r-figure-2", column, algorithm__name=method, **at)


def r_2() -> str:
    parts = []
    for epsilon in (24.0, 12.0):
        at = {"algorithm__loss_weight": 1750.0, "privacy__epsilon": epsilon, "round": 30, "figure": "train_loss"}
        told = ", ".join(
            f"{short} {_r2(name, epsilon):.4f} ± {half('r-figure-2', algorithm__name=name, **at):.4f}"
            for name, short in (("r-admm", "R"), ("m-admm", "M"), ("dvp", "DVP"))
        )
        parts.append(f"ε = {epsilon:g}: {told}")
    tiny = where(table("r-figure-2"), algorithm__loss_weight=1.0, round=30, figure="train_loss")["mean"].min()
    return (
        f"{link('r-figure-2')}, ten seeds, final loss at C = 1750. {'; '.join(parts)}. C = 1: nobody below {tiny:.2f} "
        "(a "
        "zero model has 0.693)"
    )


def r_2_smaller() -> str:
    gaps = {
        (other, epsilon): _r2(other, epsilon) - _r2("r-admm", epsilon)
        for other in ("dvp", "m-admm")
        for epsilon in (12.0, 24.0)
    }
    return (
        f"same table, lead of R-ADMM at ε = 12 and 24: over DVP {gaps['dvp', 12.0]:.4f} and {gaps['dvp', 24.0]:.4f}, "
        "over "
        f"M-ADMM {gaps['m-admm', 12.0]:.4f} and {gaps['m-admm', 24.0]:.4f}"
    )


def r_2_range() -> str:
    def ranges(epsilon: float) -> str:
        return ", ".join(
            f"{_r2(name, epsilon, 'max') - _r2(name, epsilon, 'min'):.4f}" for name in ("r-admm", "m-admm", "dvp")
        )

    return f"same table, range over ten seeds of R, M, DVP: {ranges(24.0)} at ε = 24; {ranges(12.0)} at ε = 12"


def r_3() -> str:
    told = ", ".join(
        f"{value('r-figure-3', round=30, algorithm__penalty_growth=growth):.4f} ± "
        f"{half('r-figure-3', round=30, algorithm__penalty_growth=growth):.4f}"
        for growth in (1.0, 1.01, 1.05)
    )
    return f"{link('r-figure-3')}, ten seeds, growth of 0, 1, 5 % per round: {told}"


def r_work() -> str:
    def silent(method: str, **more: Any) -> float:
        at = {"topology__agents": 5, "algorithm__loss_weight": 1750.0, "figure": "gradients", "round": 50}
        return value("r-figure-1", algorithm__name=method, **at, **more)

    def noisy(method: str, epsilon: float) -> float:
        at = {"algorithm__loss_weight": 1750.0, "privacy__epsilon": epsilon, "figure": "gradients", "round": 30}
        return value("r-figure-2", algorithm__name=method, **at)

    recycled, plain = silent("r-admm", algorithm__gamma=0.0), silent("dvp")
    told = "; ".join(
        f"ε = {epsilon:g} R {noisy('r-admm', epsilon):.0f}, M {noisy('m-admm', epsilon):.0f}, "
        f"DVP {noisy('dvp', epsilon):.0f}"
        for epsilon in (24.0, 12.0)
    )
    return (
        f"full gradients of all agents, mean over seeds. Without privacy, 50 rounds ({link('r-figure-1')}, C = 1750): "
        f"R-ADMM {recycled:.0f}, ADMM {plain:.0f}, {100 * recycled / plain:.0f} %. 30 rounds at equal claimed ε "
        f"({link('r-figure-2')}, C = 1750): {told}"
    )
