"""PP-ADMM and IPP-ADMM."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import polars as pl

from analysis.controls import STOPPED
from analysis.papers.drawing import where
from analysis.papers.passages.reading import each, link, span, table, value

PAPER, PROVEN = (
    {"algorithm__eta": 0.01, "privacy__calibration": "paper"},
    {
        "algorithm__eta": 0.01,
        "privacy__calibration": "proven",
    },
)
PRINTED = {"algorithm__eta": 0.5}
IPP = {"algorithm__name": "ipp-admm"}


def _against(name: str, **at: Any) -> str:
    """What the test errors of a setting are held against."""
    constant, optimum, best = (
        f"{value(name, figure=f'yardsticks_{known}', **at):.3f}" for known in ("constant", "optimum", "best_optimum")
    )
    return f"constant answer {constant}, optimum {optimum}, at best {best}"


def _forced(name: str, **at: Any) -> str:
    """The optimum of what the paper's calibration lets agents minimise: line 3 asks for a large regulariser."""
    return f"{value(name, figure='yardsticks_optimum', **at):.3f} with the λ̂ of the paper's calibration"


def _stopped(name: str, field: str, values: Sequence[float], digits: int = 3, **at: Any) -> str:
    """The errors of the control at the bytes of IPP-ADMM; none where that sent less than one round of it."""
    found = [where(table(name), figure="test_error", algorithm__name=STOPPED, **{field: each}, **at) for each in values]
    return ", ".join("–" if rows.is_empty() else f"{rows['mean'].item():.{digits}f}" for rows in found)


def pp_1() -> str:
    shares = (0.5, 0.1, 0.01, 0.001, 0.0001)
    loss, error = {"figure": "train_loss"}, {"figure": "test_error"}
    field = "algorithm__output_share"
    return (
        f"{link('pp-figure-1')}, shares 0.5, 0.1, 0.01, 1e-3, 1e-4. η = 0.5: test error "
        f"{span('pp-figure-1', **PRINTED, **error)}. η = 0.01, paper's calibration: training loss "
        f"{each('pp-figure-1', field, shares, 3, **PAPER, **loss)}, test error "
        f"{span('pp-figure-1', 3, **PAPER, **error)}. Proven: loss "
        f"{each('pp-figure-1', field, shares, 4, **PROVEN, **loss)}, error "
        f"{span('pp-figure-1', 3, **PROVEN, **error)} ({_against('pp-figure-1', **PROVEN, **{field: 0.001})}; the "
        f"optimum is {_forced('pp-figure-1', **PAPER, **{field: 0.001})})"
    )


def pp_2() -> str:
    steps = (1e-2, 1e-3, 10**-3.5, 1e-4, 1e-5, 1e-6)
    kept = table("pp-figure-2")["algorithm.tolerance"].unique().to_list()
    values = [min(kept, key=lambda found: abs(found - step)) for step in steps]
    field = "algorithm__tolerance"
    return (
        f"{link('pp-figure-2')}, β = 1e-2, 1e-3, 10^-3.5, 1e-4, 1e-5, 1e-6. η = 0.5: loss "
        f"{each('pp-figure-2', field, values, 4, **PRINTED, figure='train_loss')}. η = 0.01, paper's calibration: "
        "error "
        f"{each('pp-figure-2', field, values, 3, **PAPER, figure='test_error')}. Proven: error "
        f"{each('pp-figure-2', field, values, 3, **PROVEN, figure='test_error')} "
        f"({_against('pp-figure-2', **PROVEN, **{field: values[2]})}; the optimum is "
        f"{_forced('pp-figure-2', **PAPER, **{field: values[2]})})"
    )


def pp_3() -> str:
    name, field, clips = "pp-figure-3", "algorithm__clip", (0.25, 0.5, 1.0, 2.0, 8.0)
    by_paper, proven = PAPER | IPP, PROVEN | IPP
    return (
        f"{link(name)}, C_loss = 0.25, 0.5, 1, 2, 8. With the test as printed all five values give the same "
        f"figures, digit for digit (loss {span(name, **PRINTED, **IPP, figure='train_loss')}): its noise is many "
        "times C. η = 0.01 with the sensitivity that the test has, error: paper's calibration "
        f"{each(name, field, clips, 3, **by_paper, figure='test_error')} with "
        f"{each(name, field, clips, 0, **by_paper, figure='broadcasts')} broadcasts of 150, PP-ADMM at the same bytes "
        f"{_stopped(name, field, clips, **PAPER)}; proven "
        f"{each(name, field, clips, 4, **proven, figure='test_error')}, PP-ADMM at the same bytes "
        f"{_stopped(name, field, clips, 4, **PROVEN)} ({_against(name, **proven, **{field: 2.0})}; the optimum is "
        f"{_forced(name, **by_paper, **{field: 2.0})})"
    )


def pp_4() -> str:
    name, field, levels = "pp-figure-4", "algorithm__threshold", (0.001, 0.01, 0.1, 1.0, 10.0)
    by_paper, proven = PAPER | IPP, PROVEN | IPP
    return (
        f"{link(name)}, α = 0.001, 0.01, 0.1, 1, 10. As printed α changes nothing, because the test is a coin: "
        f"{span(name, 0, **PRINTED, **IPP, figure='broadcasts')} of 150 broadcasts at every α. η = 0.01, "
        f"paper's calibration: {each(name, field, levels, 0, **by_paper, figure='broadcasts')} broadcasts, error "
        f"{each(name, field, levels, 3, **by_paper, figure='test_error')}, PP-ADMM at the same bytes "
        f"{_stopped(name, field, levels, **PAPER)}. Proven: "
        f"{each(name, field, levels, 0, **proven, figure='broadcasts')} broadcasts, error "
        f"{each(name, field, levels, 3, **proven, figure='test_error')}, PP-ADMM at the same bytes "
        f"{_stopped(name, field, levels, **PROVEN)} ({_against(name, **proven, **{field: 0.001})}; the optimum is "
        f"{_forced(name, **by_paper, **{field: 0.001})})"
    )


METHODS_5 = {
    "pp-admm": "PP",
    "ipp-admm": "IPP",
    STOPPED: "PP at IPP's bytes",
    "dvp": "DVP",
    "m-admm": "M-ADMM",
    "r-admm": "R-ADMM",
}
OURS, RIVALS = ("pp-admm", "ipp-admm", STOPPED), ("dvp", "m-admm", "r-admm")


def _five(name: str, epsilon: float, calibration: str, methods: Sequence[str]) -> str:
    at = {"algorithm__eta": 0.01, "privacy__epsilon": epsilon, "privacy__calibration": calibration}
    found = {METHODS_5[method]: value(name, figure="test_error", **at, algorithm__name=method) for method in methods}
    return ", ".join(f"{method} {error:.3f}" for method, error in found.items())


def _figure_5(name: str, epsilons: Sequence[float], seeds: str) -> str:
    """Both calibrations at some ε, and what the errors are held against."""
    least = where(table(name), figure="test_error", algorithm__eta=0.5)["mean"].min()
    plain = {"algorithm__name": "admm", "privacy__epsilon": 1.0}
    nothing = [value(name, figure="test_error", **plain, algorithm__eta=eta) for eta in (0.5, 0.01)]
    by_paper = "; ".join(f"ε = {epsilon:g}: {_five(name, epsilon, 'paper', OURS)}" for epsilon in epsilons)
    proven = "; ".join(
        f"ε = {epsilon:g}: {_five(name, epsilon, 'proven', OURS)} against {_five(name, epsilon, 'proven', RIVALS)}"
        for epsilon in epsilons
    )
    of_paper = {"algorithm__name": "pp-admm", "privacy__calibration": "paper", "algorithm__eta": 0.01}
    forced = each(name, "privacy__epsilon", epsilons, 3, **of_paper, figure="yardsticks_optimum")
    told = ", ".join(f"{epsilon:g}" for epsilon in epsilons)
    return (
        f"{link(name)}, {seeds} seeds ({_against(name, **plain, algorithm__eta=0.01)}). η = 0.5: nobody below "
        f"{least:.4f}, no noise {nothing[0]:.3f}. η = 0.01: no noise {nothing[1]:.3f}. Paper's calibration, "
        f"{by_paper}; the optimum with its λ̂ errs {forced} at ε = {told}. Proven calibration, {proven}"
    )


def pp_5() -> str:
    return _figure_5("pp-figure-5", (0.5, 1.0, 2.0, 10.0), "five")


def pp_5_adult_41() -> str:
    """All rows in 41 columns."""
    return _figure_5("pp-adult-41", (0.5, 1.0, 2.0, 10.0), "ten")


def pp_5_saves() -> str:
    rows = where(table("pp-figure-5"), figure="test_error", algorithm__eta=0.01)
    told = []
    epsilons = (0.5, 1.0, 1.5, 2.0, 10.0)
    for other, calibration in product(("pp-admm", STOPPED), ("paper", "proven")):
        gaps = []
        for epsilon in epsilons:
            at = {"privacy__calibration": calibration, "privacy__epsilon": epsilon}
            pair = [where(rows, algorithm__name=name, **at)["mean"].item() for name in ("ipp-admm", other)]
            gaps.append(pair[0] - pair[1])
        named = "paper's calibration" if calibration == "paper" else calibration
        start = f"less that of {METHODS_5[other]}: " if calibration == "paper" else ""
        told.append(f"{start}{named} " + ", ".join(f"{gap:+.3f}" for gap in gaps).replace("-", "−"))
    return f"same table, η = 0.01, error of IPP at ε = 0.5, 1, 1.5, 2, 10 {'; '.join(told)}"


def pp_6() -> str:
    proven = ("dvp", "r-admm", "m-admm")
    by_eta = []
    for eta, shown in (
        (0.5, [*((name, "proven") for name in proven), ("pp-admm", "paper"), ("ipp-admm", "paper")]),
        (
            0.01,
            [*((n, "proven") for n in (*proven, "pp-admm", "ipp-admm")), ("pp-admm", "paper"), ("ipp-admm", "paper")],
        ),
    ):
        parts = []
        for name, calibration in shown:
            at = {"algorithm__name": name, "privacy__calibration": calibration, "algorithm__eta": eta, "round": 30}
            told = each("pp-figure-6", "privacy__epsilon", (10.0, 2.0, 1.0), 3, **at)
            parts.append(f"{METHODS_5[name]}{' with the paper’s calibration' if calibration == 'paper' else ''} {told}")
        plain = value("pp-figure-6", algorithm__name="admm", algorithm__eta=eta, round=30, privacy__epsilon=1.0)
        by_eta.append(f"η = {eta:g} (no noise {plain:.3f}): {'; '.join(parts)}")
    return f"{link('pp-figure-6')}, final loss at ε = 10, 2, 1. {'. '.join(by_eta)}"


def pp_7() -> str:
    parts = []
    for source in ("twonorm", "waveform"):
        at = {"data__source": source, "privacy__epsilon": 0.5}
        found = {
            short: value("pp-figure-7-instead", **at, figure="test_error", algorithm__name=name)
            for name, short in {"admm": "no privacy", **METHODS_5}.items()
        }
        order = sorted(found.items(), key=lambda pair: pair[1])
        told = ", ".join(f"{name} {error:.3f}" for name, error in order)
        parts.append(f"{source} ({_against('pp-figure-7-instead', **at, algorithm__name='admm')}): {told}")
    high = where(table("pp-figure-7-instead"), privacy__epsilon=10.0, figure="test_error")
    high = high.filter(pl.col("algorithm.name") != STOPPED)
    apart = (high.group_by("data.source").agg(d=pl.col("mean").max() - pl.col("mean").min()))["d"].max()
    return (
        f"{link('pp-figure-7-instead')}: 45,000 generated rows of Twonorm and Waveform, proven calibration, five "
        "seeds. "
        f"ε = 0.5: {'; '.join(parts)}. At ε = 10 all are within {100 * float(apart):.1f} points of each other"
    )


def pp_printed() -> str:
    name, field, epsilons = "pp-as-printed", "privacy__epsilon", (0.5, 1.0, 1.5, 2.0, 10.0)
    told = []
    for eta in (0.5, 0.01):
        at = {"algorithm__eta": eta} | IPP
        told.append(
            f"η = {eta:g}: error {each(name, field, epsilons, 3, figure='test_error', **at)}, "
            f"{span(name, 0, figure='broadcasts', **at)} of 150 broadcasts, PP-ADMM at the same bytes "
            f"{_stopped(name, field, epsilons, algorithm__eta=eta)}"
        )
    return f"{link(name)}, five seeds, ε = 0.5, 1, 1.5, 2, 10. {'; '.join(told)}"


def pp_gaussian() -> str:
    parts = []
    for epsilon in (0.5, 1.0, 10.0):
        pairs = []
        for method in ("dvp", "m-admm", "r-admm"):
            at = {"figure": "test_error", "privacy__epsilon": epsilon, "algorithm__name": method}
            gamma, gaussian = (
                value("pp-gaussian-baselines", **at, algorithm__noise=noise) for noise in ("gamma", "gaussian")
            )
            pairs.append(f"{METHODS_5[method]} {gamma:.3f} and {gaussian:.3f}")
        parts.append(f"ε = {epsilon:g}: {', '.join(pairs)}")
    known = [
        value("pp-gaussian-baselines", figure=f"yardsticks_{name}", **at, algorithm__noise="gamma")
        for name in ("constant", "optimum")
        for at in ({"privacy__epsilon": 1.0, "algorithm__name": "dvp"},)
    ]
    return (
        f"{link('pp-gaussian-baselines')}, ten seeds, proven ε, error with gamma-type and with Gaussian noise. "
        f"{'; '.join(parts)} (constant answer {known[0]:.3f}, optimum {known[1]:.3f})"
    )
