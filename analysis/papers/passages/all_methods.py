"""All methods side by side, and how their settings were chosen."""

from __future__ import annotations

from math import prod

from analysis.controls import STOPPED
from analysis.papers import sweep
from analysis.papers.passages.reading import FIGURES, link, table, value
from simnet.studies.spec import Study


def runs() -> str:
    """How many runs all studies have, from their files: those of data sets that are not here count as well."""
    counts = {}
    for name in sweep.names():
        study = Study.load(sweep.STUDIES / f"{name}.toml")
        counts[name] = prod(len(axis) for axis in study.axes) * len(study.seeds)
    of_ipums = counts.pop("pp-figure-7")
    return f"{sum(counts.values()):,} runs, and {of_ipums:,} more with the files of IPUMS"


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


def ordering_control() -> str:
    error, epsilon = (value("ordering", f"mean_{name}", method=STOPPED) for name in ("test_error", "proven_epsilon"))
    return (
        f"PP-ADMM that stops when it has sent as many bytes as IPP-ADMM errs {error:.4f} at a proven ε of "
        f"{epsilon:.2f}; seed by seed IPP-ADMM has {_over('ipp-admm', STOPPED)} over that"
    )


def ordering_yardsticks() -> str:
    def plain(name: str) -> str:
        return f"{value('ordering', f'mean_{name}', method='admm'):.4f}"

    return (
        f"30 rounds of ADMM without noise end at {plain('test_error')} and have not converged: the optimum that ADMM "
        f"goes to with this λ̂/N = 1e-4 errs {plain('yardsticks_optimum')}. The best regulariser of a grid from 1e-2 to "
        f"1e-6 gives {plain('yardsticks_best_optimum')}; it is chosen by the test rows, so that is a bound. The best "
        f"constant answer errs {plain('yardsticks_constant')}"
    )


def random_start() -> str:
    def told(eta: float, weight: float) -> str:
        found = [
            [value("random-start", name, eta=eta, C=weight, spread=spread) for name in ("train_loss", "test_error")]
            for spread in (0.0, 0.1, 1.0)
        ]
        losses, errors = (", ".join(f"{each[k]:.4f}" for each in found) for k in (0, 1))
        return f"η = {eta:g}, C = {weight:g}: loss {losses}, error {errors}"

    settings = "; ".join(told(*setting) for setting in ((0.5, 1.0), (0.01, 1.0), (0.5, 1750.0)))
    return (
        f"{link('random-start')}: plain ADMM on Adult after 30 rounds, five seeds, entries of the start 0, N(0, 0.1²), "
        f"N(0, 1). {settings}"
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


def ordering_gaussian() -> str:
    """The methods with gamma-type noise once more, with Gaussian noise."""
    at = {"figure": "test_error", "privacy__epsilon": 1.0, "algorithm__noise": "gaussian"}
    told = ", ".join(
        f"{method} {value('pp-gaussian-baselines', **at, algorithm__name=method):.4f}"
        for method in ("dvp", "m-admm", "r-admm")
    )
    ours = value("ordering", "mean_test_error", method="pp-admm")
    return (
        f"With Gaussian noise of the same proven ε, and the settings chosen under gamma-type noise "
        f"({link('pp-gaussian-baselines')}): {told}, beside pp-admm's {ours:.4f}"
    )
