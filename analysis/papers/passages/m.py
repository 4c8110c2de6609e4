"""M-ADMM."""

from __future__ import annotations

from typing import Any

from analysis.papers.drawing import where
from analysis.papers.passages.reading import each, link, table, value


def m_1a() -> str:
    at = {"algorithm__loss_weight": 1750.0, "round": 50}
    plain = value("m-figure-1", **at, dual_steps=None, algorithm__penalty_growth=1.0)
    return (
        f"{link('m-figure-1')}, C = 1750: {value('m-figure-1', **at, dual_steps='θ = 0.5'):.4f} at round 50, against "
        f"{plain:.4f} of ADMM; the growth of up to 20 % per round has stopped it by then"
    )


def m_1a_steps() -> str:
    at = {"algorithm__loss_weight": 1750.0, "round": 50}
    names = ("θ = 0.5", "θ(t) = 0.5·1.01^(t−1)", "a θ_i for each agent")
    told = ", ".join(f"{value('m-figure-1', **at, dual_steps=name):.4f}" for name in names)
    return f"same table, round 50: {told} with θ fixed, growing by 1 % per round, between 0.5 and 0.6 by agent"


def m_1b() -> str:
    at = {"algorithm__loss_weight": 1750.0, "round": 50, "dual_steps": None}
    told = each("m-figure-1", "algorithm__penalty_growth", (1.0, 1.01, 1.05, 1.1, 1.2), 4, **at)
    return f"same table, round 50: {told} at q1 = 1, 1.01, 1.05, 1.1, 1.2"


def _m2(figure: str, column: str = "mean", **at: Any) -> float:
    return value("m-figure-2", column, round=30, algorithm__loss_weight=1750.0, figure=figure, **at)


GROWING, FASTER = {"algorithm__penalty_growth": 1.05}, {"algorithm__penalty_growth": 1.1}
DVP_3 = {"algorithm__name": "dvp", "algorithm__noise_rate": 3.0}
DVP_2 = {"algorithm__name": "dvp", "algorithm__noise_rate": 2.0}


def m_2() -> str:
    def told(**at: Any) -> str:
        return f"{_m2('train_loss', **at):.3f} at {_m2('claimed_epsilon', **at):.1f}"

    return (
        f"{link('m-figure-2')}, C = 1750, ten seeds, loss at claimed ε: q1 = q2 = 1.05 {told(**GROWING)}, DVP (α = 3) "
        f"{told(**DVP_3)}; q1 = 1.1, q2 = 1.05 {told(**FASTER)}, DVP (α = 2) {told(**DVP_2)}"
    )


def m_2_std() -> str:
    found = [_m2("train_loss", "std", **at) for at in (GROWING, FASTER, DVP_3, DVP_2)]
    return "same table, standard deviation over seeds {:.3f} and {:.3f} against {:.3f} and {:.3f}".format(*found)


def _hundred(number: int, method: str, figure: str, column: str = "mean") -> float:
    return value(f"m-figure-{number}", column, round=30, figure=figure, algorithm__name=method)


def m_34() -> str:
    def told(number: int) -> str:
        return (
            f"{_hundred(number, 'm-admm', 'train_loss'):.3f} at claimed ε "
            f"{_hundred(number, 'm-admm', 'claimed_epsilon'):.0f} against DVP's "
            f"{_hundred(number, 'dvp', 'train_loss'):.3f} at {_hundred(number, 'dvp', 'claimed_epsilon'):.0f}"
        )

    return (
        f"{link('m-figure-3')}, {link('m-figure-4')}, ten seeds, C = 100: even {told(3)}; uneven {told(4)} (a zero "
        "model "
        "has 0.693)"
    )


def m_5() -> str:
    low, high = (_hundred(4, "m-admm", "claimed_epsilon", column) for column in ("min", "max"))
    return (
        f"claimed ε of M-ADMM {_hundred(3, 'm-admm', 'claimed_epsilon'):.0f} with even data, {low:.0f} to {high:.0f} "
        "with "
        "uneven (the smallest agent decides)"
    )


def m_secret() -> str:
    def at(noise: str, knows: str) -> str:
        return f"{value('secret-penalty', 'median', noise=noise, knows=knows):.2g}"

    told = "; ".join(
        f"{'no noise' if noise == 'none' else noise} "
        + ", ".join(at(noise, knows) for knows in ("η", "a guess, η = θ", "no η"))
        for noise in ("none", "ε = 100", "ε = 1")
    )
    return (
        f"{link('secret-penalty')}, Adult, distance of the attacker's row from the true one, in lengths of it (median "
        f"of five seeds), where it knows η_i(t), takes θ for it, or uses none: {told}"
    )


def m_own() -> str:
    found = table("m-own-penalties")

    def at(**chosen: Any) -> str:
        loss, spent = (where(found, figure=name, **chosen)["mean"].item() for name in ("train_loss", "claimed_epsilon"))
        return f"{loss:.3f} at {spent:.1f}"

    slow, fast = found["algorithm.agent_growth"].drop_nulls().unique(maintain_order=True)
    (rates,) = found["algorithm.agent_noise_rate"].drop_nulls().unique()
    shared = {"algorithm__name": "m-admm", "algorithm__agent_noise_rate": None}
    return (
        f"{link('m-own-penalties')}, C = 1750, ten seeds, loss at claimed ε: penalties that grow by 1 to 10 % "
        f"{at(**shared, algorithm__agent_growth=slow)}, by 5 to 10 % {at(**shared, algorithm__agent_growth=fast)}, the "
        f"latter with α_i(t) from 2.6 to 3.4 that grow by 3 to 7 % {at(algorithm__agent_noise_rate=rates)}, DVP "
        f"{at(algorithm__name='dvp')}"
    )
