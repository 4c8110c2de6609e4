"""PP-ADMM and IPP-ADMM."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

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


def pp_1() -> str:
    shares = (0.5, 0.1, 0.01, 0.001, 0.0001)
    loss, error = {"figure": "train_loss"}, {"figure": "test_error"}
    field = "algorithm__output_share"
    return (
        f"{link('pp-figure-1')}, shares 0.5, 0.1, 0.01, 1e-3, 1e-4. η = 0.5: test error "
        f"{span('pp-figure-1', **PRINTED, **error)}. η = 0.01, paper's calibration: training loss "
        f"{each('pp-figure-1', field, shares, 3, **PAPER, **loss)}, test error "
        f"{span('pp-figure-1', 3, **PAPER, **error)}. Proven: loss "
        f"{each('pp-figure-1', field, shares, 4, **PROVEN, **loss)}"
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
        f"{each('pp-figure-2', field, values, 3, **PROVEN, figure='test_error')}"
    )


def pp_3() -> str:
    clips = (0.25, 0.5, 1.0, 2.0, 8.0)
    return (
        f"{link('pp-figure-3')}, C_loss = 0.25, 0.5, 1, 2, 8. With the test as printed all five values give the same "
        f"figures, digit for digit (loss {span('pp-figure-3', **PRINTED, figure='train_loss')}): its noise is many "
        "times "
        "C. η = 0.01 with the sensitivity that the test has, error: paper's calibration "
        f"{each('pp-figure-3', 'algorithm__clip', clips, 3, **PAPER, figure='test_error')} with "
        f"{each('pp-figure-3', 'algorithm__clip', clips, 0, **PAPER, figure='broadcasts')} broadcasts of 150; proven "
        f"{each('pp-figure-3', 'algorithm__clip', clips, 4, **PROVEN, figure='test_error')}"
    )


def pp_4() -> str:
    levels = (0.001, 0.01, 0.1, 1.0, 10.0)
    field = "algorithm__threshold"
    return (
        f"{link('pp-figure-4')}, α = 0.001, 0.01, 0.1, 1, 10. As printed α changes nothing, because the test is a "
        "coin: "
        f"{span('pp-figure-4', 0, **PRINTED, figure='broadcasts')} of 150 broadcasts at every α. η = 0.01, "
        f"paper's calibration: {each('pp-figure-4', field, levels, 0, **PAPER, figure='broadcasts')} broadcasts, error "
        f"{each('pp-figure-4', field, levels, 3, **PAPER, figure='test_error')}. Proven: "
        f"{each('pp-figure-4', field, levels, 0, **PROVEN, figure='broadcasts')} broadcasts, error "
        f"{each('pp-figure-4', field, levels, 3, **PROVEN, figure='test_error')}"
    )


METHODS_5 = {"pp-admm": "PP", "ipp-admm": "IPP", "dvp": "DVP", "m-admm": "M-ADMM", "r-admm": "R-ADMM"}


def _five(epsilon: float, calibration: str, methods: Sequence[str]) -> str:
    at = {"figure": "test_error", "algorithm__eta": 0.01, "privacy__epsilon": epsilon}
    found = {
        METHODS_5[name]: value("pp-figure-5", **at, algorithm__name=name, privacy__calibration=calibration)
        for name in methods
    }
    return ", ".join(f"{name} {error:.3f}" for name, error in found.items())


def pp_5() -> str:
    rivals, ours = ("dvp", "m-admm", "r-admm"), ("pp-admm", "ipp-admm")
    told = "; ".join(
        f"ε = {epsilon:g}: {_five(epsilon, 'proven', ours)} against {_five(epsilon, 'proven', rivals)}"
        for epsilon in (0.5, 1.0, 2.0, 10.0)
    )
    least = where(table("pp-figure-5"), figure="test_error", algorithm__eta=0.5)["mean"].min()
    return (
        f"{link('pp-figure-5')}. η = 0.5: nobody below {least:.4f}, the majority class. η = 0.01, ε = 1, paper's "
        f"calibration: {_five(1.0, 'paper', ours)}. Proven calibration, {told}"
    )


def pp_5_adult_41() -> str:
    """All rows in 41 columns; the methods' errors, and the yardsticks of the runs without noise."""

    def at(epsilon: float, calibration: str, methods: Sequence[str]) -> str:
        found = {
            METHODS_5[name]: value(
                "pp-adult-41",
                figure="test_error",
                algorithm__eta=0.01,
                privacy__epsilon=epsilon,
                algorithm__name=name,
                privacy__calibration=calibration,
            )
            for name in methods
        }
        return ", ".join(f"{name} {error:.3f}" for name, error in found.items())

    def plain(figure: str, eta: float = 0.01) -> str:
        where_it_is = {"algorithm__name": "admm", "algorithm__eta": eta, "privacy__epsilon": 1.0}
        return f"{value('pp-adult-41', figure=figure, **where_it_is):.3f}"

    rivals, ours = ("dvp", "m-admm", "r-admm"), ("pp-admm", "ipp-admm")
    told = "; ".join(
        f"ε = {epsilon:g}: {at(epsilon, 'proven', ours)} against {at(epsilon, 'proven', rivals)}"
        for epsilon in (0.5, 1.0, 2.0, 10.0)
    )
    least = where(table("pp-adult-41"), figure="test_error", algorithm__eta=0.5)["mean"].min()
    by_paper = "; ".join(f"ε = {epsilon:g}: {at(epsilon, 'paper', ours)}" for epsilon in (0.5, 1.0, 2.0, 10.0))
    return (
        f"{link('pp-adult-41')}, ten seeds. η = 0.5: nobody below {least:.4f}, no noise {plain('test_error', 0.5)}. "
        f"η = 0.01: no noise {plain('test_error')}, its optimum {plain('yardsticks_optimum')} (at best "
        f"{plain('yardsticks_best_optimum')}), constant answer {plain('yardsticks_constant')}; paper's calibration, "
        f"{by_paper}. Proven calibration, {told}"
    )


def pp_5_saves() -> str:
    rows = where(table("pp-figure-5"), figure="test_error", algorithm__eta=0.01)
    told = []
    for calibration in ("paper", "proven"):
        gaps = []
        for epsilon in (0.5, 1.0, 1.5, 2.0, 10.0):
            at = {"privacy__calibration": calibration, "privacy__epsilon": epsilon}
            pair = [where(rows, algorithm__name=name, **at)["mean"].item() for name in ("ipp-admm", "pp-admm")]
            gaps.append(pair[0] - pair[1])
        named = "paper's calibration" if calibration == "paper" else calibration
        told.append(f"{named} " + ", ".join(f"{gap:+.3f}" for gap in gaps).replace("-", "−"))
    return f"same table, η = 0.01, error of IPP-ADMM less that of PP-ADMM at ε = 0.5, 1, 1.5, 2, 10: {'; '.join(told)}"


def pp_6() -> str:
    parts = []
    for name, calibration in (
        *((name, "proven") for name in ("dvp", "r-admm", "m-admm", "pp-admm", "ipp-admm")),
        ("pp-admm", "paper"),
        ("ipp-admm", "paper"),
    ):
        at = {"algorithm__name": name, "privacy__calibration": calibration, "algorithm__eta": 0.01, "round": 30}
        told = each("pp-figure-6", "privacy__epsilon", (10.0, 2.0, 1.0), 3, **at)
        parts.append(f"{METHODS_5[name]}{' with the paper’s calibration' if calibration == 'paper' else ''} {told}")
    return f"{link('pp-figure-6')}. η = 0.01, final loss at ε = 10, 2, 1: " + "; ".join(parts)


def pp_7() -> str:
    parts = []
    for source in ("twonorm", "waveform"):
        at = {"data__source": source, "privacy__epsilon": 0.5}
        found = {
            short: value("pp-figure-7-instead", **at, algorithm__name=name)
            for name, short in {"admm": "no privacy", **METHODS_5}.items()
        }
        order = sorted(found.items(), key=lambda pair: pair[1])
        parts.append(f"{source}: " + ", ".join(f"{name} {error:.3f}" for name, error in order))
    high = where(table("pp-figure-7-instead"), privacy__epsilon=10.0)
    apart = (high.group_by("data.source").agg(d=pl.col("mean").max() - pl.col("mean").min()))["d"].max()
    return (
        f"{link('pp-figure-7-instead')}: 45,000 generated rows of Twonorm and Waveform, proven calibration, five "
        "seeds. "
        f"ε = 0.5: {'; '.join(parts)}. At ε = 10 all are within {100 * float(apart):.1f} points of each other"
    )


def pp_printed() -> str:
    name, epsilons = "pp-as-printed", (0.5, 1.0, 1.5, 2.0, 10.0)
    told = [
        f"η = {eta:g}: error {each(name, 'privacy__epsilon', epsilons, 3, figure='test_error', algorithm__eta=eta)}, "
        f"{span(name, 0, figure='broadcasts', algorithm__eta=eta)} of 150 broadcasts"
        for eta in (0.5, 0.01)
    ]
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
