"""What it costs to reach a test error: for every setting, from its rounds.

A run reaches a target in the first round whose test error is at most the target; its cost is that round's. A run that
never does is censored at what it had spent in the end: the true cost is more, nobody knows how much. The median cost is
Kaplan and Meier's (1958), which uses such runs for what they do say; it is empty when fewer than half get there. Its
interval is Brookmeyer and Crowley's (1982): the costs at which the 95 % band (log-log) of the curve holds a half. An
end that the band does not reach is empty: five seeds cannot bound a median at 95 % from above.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from simnet.errors import SimnetError
from simnet.record.amounts import told_bytes
from simnet.record.formats import caveats_html, table_html
from simnet.studies.aggregate import groups

if TYPE_CHECKING:
    from simnet.studies.results import StudyResult

COSTS = (
    *("t", "wire_bytes", "payload_bytes", "messages", "broadcasts", "proven_epsilon", "claimed_epsilon", "round"),
    *("airtime_sent", "joules", "declared_epsilon"),
)
BY = {"bytes": "wire_bytes", "seconds": "t", "rounds": "round", "joules": "joules", "epsilon": "proven_epsilon"}
"""The costs that people ask about, and their columns."""
_LEVEL = 0.95
_HALF = 0.5 + 1e-12


@dataclass(frozen=True)
class Median:
    """Kaplan and Meier's median with its interval; None for what the curve does not say."""

    value: float | None
    low: float | None
    high: float | None


def costs(rounds: pl.DataFrame, by: Sequence[str], target: float, cost: str) -> pl.DataFrame:
    """One row per setting: runs, how many reached the target, their share, the median, its interval, least and most.

    A cost that is nowhere finite, such as ε without noise, is never reached.
    """
    _refuse_strange(rounds, by, cost)
    each = first_hits(rounds, by, target, cost)
    rows: list[dict[str, Any]] = []
    for names, group in groups(each, by):
        spent, reached = group["cost"].to_numpy(), group["reached"].to_numpy()
        hits = spent[reached]
        # Runs end when their rounds do, and not at random: where most of them end before the target, those that had
        # spent a little less by then must not drop out and leave the few that get there to be the median.
        median = kaplan_meier(spent, reached) if 2 * len(hits) >= len(spent) else Median(None, None, None)
        rows.append(
            names
            | {"target": target, "cost": cost, "n": len(spent), "reached": len(hits), "share": len(hits) / len(spent)}
            | {"km_median": median.value, "km95_low": median.low, "km95_high": median.high}
            | {"least": float(hits.min()) if len(hits) else None, "most": float(hits.max()) if len(hits) else None}
        )
    named: dict[str, Any] = {name: rounds.schema[name] for name in by}
    counts: dict[str, Any] = {"target": pl.Float64, "cost": pl.String, "n": pl.Int64, "reached": pl.Int64}
    figures = dict.fromkeys(("share", "km_median", "km95_low", "km95_high", "least", "most"), pl.Float64)
    return pl.DataFrame(rows, schema=named | counts | figures, orient="row")


def _refuse_strange(rounds: pl.DataFrame, by: Sequence[str], cost: str) -> None:
    """SimnetError unless there are such columns, and numbers in those that are compared."""
    for name in (*by, cost, "test_error"):
        if name not in rounds.columns:
            raise SimnetError(f"{name}: the rounds have no such column, choose a cost from {', '.join(COSTS)}")
        if name not in by and not (rounds.schema[name].is_numeric() or rounds.schema[name] == pl.Null):
            raise SimnetError(f"{name}: the rounds hold no numbers there")


def first_hits(rounds: pl.DataFrame, by: Sequence[str], target: float, cost: str) -> pl.DataFrame:
    """One row per run: what it had spent when it reached the target, or in the end."""
    spent = pl.col(cost).cast(pl.Float64)
    hit = pl.col("test_error") <= target
    table = rounds.sort("run", "round").group_by("run", maintain_order=True)
    each = table.agg(
        *(pl.col(name).first() for name in by),
        reached=hit.any() & spent.filter(hit).first().is_not_null(),
        cost=pl.when(hit.any()).then(spent.filter(hit).first()).otherwise(spent.last()),
    )
    return each.with_columns(pl.col("cost").fill_null(float("inf")))


def lows(rounds: pl.DataFrame) -> pl.DataFrame:
    """What `costs` looks at: the rounds that can be the first to reach some target, and the last one of each run."""
    table = rounds.sort("run", "round")
    error = pl.col("test_error")
    before = error.cum_min().shift(1).over("run")
    last = pl.col("round") == pl.col("round").max().over("run")
    return table.filter(before.is_null() | (error < before) | last)


def kaplan_meier(spent: npt.NDArray[np.float64], reached: npt.NDArray[np.bool_]) -> Median:
    """The least cost by which half have reached the target, with its interval."""
    from scipy.stats import CensoredData, ecdf

    if not reached.any():
        return Median(None, None, None)
    known = np.minimum(spent, np.finfo(np.float64).max)
    curve = ecdf(CensoredData(uncensored=known[reached], right=known[~reached])).sf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the band has no width where nobody is left: no end there
        band: Any = curve.confidence_interval(_LEVEL, method="log-log")
    low, high = (_first_half(curve.quantiles, end.probabilities) for end in (band.low, band.high))
    return Median(_first_half(curve.quantiles, curve.probabilities), low, high)


def _first_half(costs: npt.NDArray[np.float64], alive: npt.NDArray[np.float64]) -> float | None:
    """Where a curve falls to a half; what is not a number is not known to."""
    below = np.flatnonzero(alive <= _HALF)
    return float(costs[below[0]]) if len(below) else None


@dataclass(frozen=True, repr=False)
class Reach:
    """What every setting of a study costs until the test error is at most a target."""

    target: float
    by: str
    """the cost that settings are ranked by, a name of `BY`"""
    fields: list[str]
    settings: list[dict[str, Any]]
    """cheapest first: `values`, `n`, `proven`, `least_error` and a row of `costs` for each cost that the study knows"""
    epsilon: float | None = None
    """the proven ε of all settings that have one, where that is the same"""
    naming: tuple[int, ...] | None = None
    """the places of the fields by which settings are named; all that differ if None"""
    caveats: tuple[str, ...] = ()
    """what the proven ε of some setting does not cover"""

    @property
    def known(self) -> list[str]:
        """The costs that the study knows, by their names in `BY`."""
        return [name for name in BY if self.settings and name in self.settings[0]]

    def ranked(self, by: str) -> Reach:
        """The same, the cheapest in another cost first."""

        def rank(setting: Mapping[str, Any]) -> tuple[bool, float]:
            median = setting[by]["km_median"]
            return median is None, -setting[by]["share"] if median is None else median

        return replace(self, by=by, settings=sorted(self.settings, key=rank))

    def answer(self) -> str:
        """Which setting gets there at the least cost, by how much less than the next, and in which seeds.

        Where some settings have a proven ε the sentence is about these. What it would cost without one is a second.
        """
        proven = [each for each in self.settings if each["proven"]]
        found = self._among(proven or self.settings)._answer()
        free = [each for each in self.settings if not each["proven"] and each[self.by]["km_median"] is not None]
        if not proven or not free:
            return found
        return f"{found} Without a proven ε it is {self._among(free)._spent(free[0])}."

    def _among(self, settings: Sequence[Mapping[str, Any]]) -> Reach:
        """The same of some settings, which are named by their method and by what differs among them."""
        few, every = replace(self, settings=[dict(each) for each in settings]), self._moving()
        method = [k for k in every if self.fields[k] == "algorithm.name"]
        return replace(few, naming=tuple(sorted({*few._moving(), *method})) or every)

    def _moving(self) -> tuple[int, ...]:
        """The places of the fields that differ."""
        return tuple(k for k in range(len(self.fields)) if len({str(each["values"][k]) for each in self.settings}) > 1)

    def _answer(self) -> str:
        settings = self.settings
        goal, cost = f"a test error of {self.target:g}", self.by
        if self.epsilon is not None and settings and settings[0]["proven"]:
            goal += f" at a proven ε of {'' if cost == 'epsilon' else 'at most '}{self.epsilon:g}"
        there = [each for each in settings if each[cost]["km_median"] is not None]
        if not there:
            most = max(settings, key=lambda each: each[cost]["share"], default=None)
            if most is None or not most[cost]["reached"]:
                known = " at an ε that is known" if cost == "epsilon" else ""
                return f"No run reaches {goal}{known}{self._nearest()}."
            return f"No setting reaches {goal} in half of its seeds; {self.named(most)} does most often: {seeds(most)}."
        best = there[0]
        if len(settings) == 1:
            return f"The cost of {goal} is {self._spent(best)}."
        told = f"The least cost of {goal} is {self._spent(best)}"
        if len(there) == 1:
            return f"{told}; no other setting reaches it in half of its seeds."
        pair = best[cost], there[1][cost]
        told = f"{told}: {self._against(*pair)} with {self.named(there[1])}, the next{self._caution(*pair)}."
        surest = next((each for each in there if each[cost]["reached"] == each["n"]), best)
        return told if surest is best else f"{told} For all seeds it is {self._spent(surest)}."

    def _nearest(self) -> str:
        """Which setting came nearest, where none got there."""
        best = min(self.settings, key=lambda each: each["least_error"], default=None)
        if best is None or not self.target < best["least_error"] < np.inf:
            return ""
        return f"; the least is {best['least_error']:.4g}, with {self.named(best)}"

    def _spent(self, setting: Mapping[str, Any]) -> str:
        """A cost with its setting; who asks for bytes wants to know the seconds too, and the other way round."""
        beside = {"bytes": "seconds", "seconds": "bytes"}
        other = beside.get(self.by, "")
        known = other in setting and setting[other]["km_median"] is not None
        asked = [self.by, *([other] if known else [])]
        told = " and ".join(amount(cost, setting[cost]["km_median"]) for cost in asked)
        return f"{told}, with {self.named(setting)} (median{'s'[: len(asked) - 1]}; {seeds(setting)} reach it)"

    @staticmethod
    def _against(best: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        less = _less(best, other)
        return "as much as" if less < 5e-4 else f"{100 * less:.2g} % less than"

    @staticmethod
    def _caution(best: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        apart = best["km95_high"] is not None and other["km95_low"] is not None
        overlap = not apart or other["km95_low"] <= best["km95_high"]
        return ", but their 95 % intervals overlap" if overlap and _less(best, other) >= 5e-4 else ""

    def __repr__(self) -> str:
        return f"Reach({self.answer()})"

    def _repr_html_(self) -> str:
        rows = [
            dict(zip(self.fields, each["values"], strict=True))
            | {"reached": seeds(each)}
            | {cost: each[cost]["km_median"] for cost in self.known}
            for each in self.settings
        ]
        return table_html(self.answer(), rows) + caveats_html(self.caveats)

    def named(self, setting: Mapping[str, Any]) -> str:
        """A setting in words, without the fields that are the same everywhere."""
        from simnet.studies.results import labels

        names, naming = labels(self.fields), self._moving() if self.naming is None else self.naming
        told = [
            str(value) if self.fields[k] == "algorithm.name" else f"{names[k]} {_shown(value)}"
            for k in naming
            for value in [setting["values"][k]]
            if value is not None
        ]
        return ", ".join(told) or "the one setting"


def reach(study: StudyResult, target: float, by: str = "bytes") -> Reach:
    """What each setting of a study costs until its test error is at most `target`; the cheapest first."""
    if by not in BY:
        raise SimnetError(f"by = {by!r}: choose one of {', '.join(BY)}")
    if not isinstance(target, Real) or not np.isfinite(target):
        raise SimnetError(f"target = {target!r}: a test error is a finite number")
    _refuse_strange(study.rounds, study.fields, "round")
    return replace(at_target(lows(study.rounds), study.fields, target, by), caveats=tuple(study.caveats))


def at_target(rounds: pl.DataFrame, fields: Sequence[str], target: float, by: str) -> Reach:
    """The same from the rounds."""
    known = [name for name, column in BY.items() if column in rounds.columns]
    if by not in known:
        raise SimnetError(f"by = {by}: the study does not know it, choose one of {', '.join(known)}")
    tables = {name: costs(rounds, fields, target, BY[name]).to_dicts() for name in known}
    spent, least = _proven(rounds, fields), _least_errors(rounds, fields)
    settings = [
        {"values": tuple(row[field] for field in fields), "n": row["n"]}
        | {"proven": tuple(row[field] for field in fields) in spent}
        | {"least_error": least[tuple(row[field] for field in fields)]}
        | {name: {key: value for key, value in rows[k].items() if key not in fields} for name, rows in tables.items()}
        for k, row in enumerate(tables[by])
    ]
    ends = {float(f"{value:.3g}") for value in spent.values()}
    return Reach(target, by, list(fields), settings, ends.pop() if len(ends) == 1 else None).ranked(by)


def _least_errors(rounds: pl.DataFrame, fields: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """The least test error of each setting in any round; infinite where there is none."""
    error = pl.col("test_error").cast(pl.Float64)
    found = {
        tuple(names.values()): group.filter(error.is_finite()).select(error.min()).item()
        for names, group in groups(rounds, fields)
    }
    return {names: float("inf") if value is None else value for names, value in found.items()}


def _proven(rounds: pl.DataFrame, fields: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """The largest proven ε of each setting that has one."""
    if "proven_epsilon" not in rounds.columns:
        return {}
    found = {
        tuple(names.values()): group["proven_epsilon"].cast(pl.Float64).max() for names, group in groups(rounds, fields)
    }
    return {names: value for names, value in found.items() if isinstance(value, float) and np.isfinite(value)}


def seeds(setting: Mapping[str, Any]) -> str:
    """In how many seeds a setting gets there."""
    return f"{setting['rounds']['reached']} of {setting['n']} seeds"


def amount(cost: str, value: float | None) -> str:
    """A cost with its unit.

    >>> amount("bytes", 126_400), amount("seconds", 0.24), amount("rounds", 7.0), amount("epsilon", 1.0)
    ('126.4 kB', '0.24 s', '7 rounds', 'ε = 1')
    """
    if value is None:
        return "–"
    if cost == "bytes":
        return told_bytes(value)
    unit = {"seconds": " s", "rounds": " rounds", "joules": " J", "epsilon": ""}[cost]
    return f"{'ε = ' if cost == 'epsilon' else ''}{value:.4g}{unit}"


def _less(best: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """By which share the one median is below the other."""
    return 1.0 - float(best["km_median"] / other["km_median"]) if other["km_median"] else 0.0


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)
