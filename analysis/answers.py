"""The answers to the shipped studies' questions, two sentences each, with numbers from the stored tables."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import polars as pl

from analysis.controls import stopped
from analysis.radio import COSTS, METHODS, TARGET, Reached
from simnet.studies.aggregate import means
from simnet.studies.results import StudyResult

PACING_TARGET = 0.2


class Figures:
    """Looks up means: `figures("test_error", method="admm", loss=0.1)` over all runs with these settings."""

    def __init__(self, found: StudyResult) -> None:
        self._runs = found.runs

    def spread(self, figure: str, settings: dict[str, Any]) -> tuple[float, float]:
        """The mean, and half of its 95 % interval."""
        runs = self._runs.filter(*(pl.col(_FIELDS[name]) == value for name, value in settings.items()))
        row = means(runs, [], [figure]).row(0, named=True)
        return row["mean"], row["mean"] - row["t95_low"]

    def change(self, settings: dict[str, Any], before: dict[str, Any], figure: str = "test_error") -> str:
        """What the one has more than the other, seed by seed."""
        after, other = (
            self._runs.filter(*(pl.col(_FIELDS[name]) == value for name, value in each.items())).select("seed", figure)
            for each in (settings, before)
        )
        gaps = after.join(other, on="seed", suffix="_before").select(pl.col(figure) - pl.col(f"{figure}_before"))
        return _signed(gaps, figure)

    def beside(self, figure: str, settings: dict[str, Any]) -> str:
        """What another output changes in the error of the same runs."""
        runs = self._runs.filter(*(pl.col(_FIELDS[name]) == value for name, value in settings.items()))
        return _signed(runs.select(pl.col(figure) - pl.col("test_error")), figure)

    def __call__(self, figure: str, **settings: Any) -> float:
        return self.spread(figure, settings)[0]

    def error(self, figure: str = "test_error", **settings: Any) -> str:
        mean, half = self.spread(figure, settings)
        return f"{mean:.3f} ± {half:.3f}"

    def sent(self, **settings: Any) -> str:
        return f"{self('wire_bytes', **settings) / 1e6:.3g} MB"


def _signed(gaps: pl.DataFrame, figure: str) -> str:
    """The mean of differences, and half of its 95 % interval."""
    row = means(gaps, [], [figure]).row(0, named=True)
    return f"{row['mean']:+.4f} ± {row['mean'] - row['t95_low']:.4f}".replace("-", "−")


_FIELDS = {
    "method": "algorithm.name",
    "duals": "algorithm.duals",
    "threshold": "algorithm.threshold",
    "releases": "algorithm.max_releases",
    "clip": "algorithm.clip",
    "hub": "algorithm.hub",
    "epsilon": "privacy.epsilon",
    "loss": "network.link.loss",
    "codec": "network.codec",
    "transport": "network.transport.kind",
    "pacing": "network.pacing.kind",
    "latency": "network.link.latency",
    "sigma": "compute.time.sigma",
    "kind": "topology.kind",
    "agents": "topology.agents",
    "train": "data.train",
    "eta": "algorithm.eta",
    "rounds": "rounds",
}
OUTPUT_NAMES = {
    "test_error_tail": "tail",
    "test_error_neighbours": "neighbours",
    "test_error_tail_neighbours": "tail+neighbours",
}
"""Columns of the study of outputs, and what a scenario calls them."""


def methods(found: StudyResult) -> str:
    get = Figures(found)
    pp, ipp, central = ({"method": name, "epsilon": 1.0} for name in ("pp-admm", "ipp-admm", "dp-admm"))
    ratio, far = (get("wire_bytes", **each) / get("wire_bytes", **pp) for each in (ipp, central))
    older = ("dvp", "pvp", "m-admm", "r-admm")
    best = min(older, key=lambda name: get("test_error", method=name, epsilon=1.0))
    return (
        f"Among those that leave rows where they are, PP-ADMM has the lowest error at ε = 1 ({get.error(**pp)} for "
        f"{get.sent(**pp)}; without noise {get.error(method='admm', epsilon=1.0)}) and IPP-ADMM the fewest bytes "
        f"({get.change(ipp, pp)} in error for {100 * ratio:.0f} % of them; against PP-ADMM stopped at the same bytes "
        f"{against_control(found, 1.0, method='ipp-admm')}), and the next is {best} with "
        f"{get.error(method=best, epsilon=1.0)}. Moving the rows to a trusted hub costs {far:.0f} times the bytes and "
        f"changes PP-ADMM's error by {get.change(central, pp)}."
    )


def against_control(found: StudyResult, epsilon: float, **settings: Any) -> str:
    """What a method with a test has more in error than PP-ADMM that stopped at the same bytes, seed by seed."""

    def chosen(rows: pl.DataFrame, **at: Any) -> pl.DataFrame:
        return rows.filter(*(pl.col(_FIELDS[name]) == value for name, value in {"epsilon": epsilon, **at}.items()))

    runs = chosen(found.runs, **settings).select("run", "seed", "wire_bytes", "test_error")
    rows = stopped(runs, chosen(found.rounds, method="pp-admm"), ["seed"])
    return _signed(rows.select(gap=pl.col("tested_test_error") - pl.col("test_error")), "gap")


def skips(found: StudyResult) -> str:
    get = Figures(found)
    free = {"clip": 2.0, "threshold": 0.0}
    high = {"clip": 2.0, "threshold": 0.1, "releases": 30}
    few, some, many = ({"epsilon": 1.0, "releases": most, **free} for most in (5, 15, 30))
    return (
        f"At ε = 1 the most releases c decide: c = 15 ends at {get.error(**some)} for {get.sent(**some)}, c = 5 saves "
        f"{100 * (1 - get('wire_bytes', **few) / get('wire_bytes', **some)):.0f} % of the bytes for "
        f"{get.change(few, some)} in error, and c = 30 changes it by {get.change(many, some)}. "
        f"The threshold hardly chooses there, because the noise of the test drowns "
        f"what it measures ({get('broadcasts', **many):.0f} and "
        f"{get('broadcasts', epsilon=1.0, **high):.0f} of 150 rounds are sent for α = 0 and 0.1 with c = 30); at "
        f"ε = 100 it does ({get('broadcasts', epsilon=100.0, releases=30, **free):.0f} and "
        f"{get('broadcasts', epsilon=100.0, **high):.0f}). Against PP-ADMM stopped at the same bytes IPP-ADMM with "
        f"c = 15 and α = 0 has {against_control(found, 1.0, releases=15, **free)} in error at ε = 1, "
        f"{against_control(found, 10.0, releases=15, **free)} at 10 and "
        f"{against_control(found, 100.0, releases=15, **free)} at 100; c = 5 and α = 0.1 has "
        f"{against_control(found, 1.0, **high | {'releases': 5})} at ε = 1 and, where its test can tell, "
        f"{against_control(found, 100.0, **high | {'releases': 5})} at 100."
    )


def duals(found: StudyResult) -> str:
    get = Figures(found)
    node, healing, edge = ({"duals": kind, "pacing": "deadline", "loss": 0.3} for kind in ("node", "healing", "edge"))
    sound = {"duals": "node", "pacing": "deadline", "loss": 0.0}
    waiting = {"duals": "node", "pacing": "barrier", "loss": 0.3}
    return (
        f"Against {get.error(**sound)} without loss, a loss of 30 % costs the papers' node duals "
        f"{get.change(node, sound)}, healing duals {get.change(healing, sound)} and edge duals "
        f"{get.change(edge, sound)} in error, and a barrier instead of a deadline changes that of node duals by "
        f"{get.change(waiting, node)}. Edge duals send no byte more than node duals, healing duals "
        f"{get('wire_bytes', duals='healing') / get('wire_bytes', duals='node'):.2f} times as many."
    )


def pacing(found: StudyResult) -> str:
    by = ["algorithm.duals", *(_FIELDS[name] for name in ("pacing", "latency", "sigma"))]
    times = found.reaching(PACING_TARGET, "t", by=by)

    def seconds(kind: str, sigma: float) -> str:
        """Barrier, quorum, deadline and free agents, on links of 20 ms."""
        told = []
        for pace in ("barrier", "quorum", "deadline", "free"):
            wanted = zip(by, (kind, pace, "20 ms", sigma), strict=True)
            row = times.filter(*(pl.col(name) == value for name, value in wanted)).row(0, named=True)
            never = f"never ({row['reached']} of {row['n']} runs)"
            told.append(never if row["km_median"] is None else f"{row['km_median']:.2g} s")
        return f"{', '.join(told[:-1])} and {told[-1]}"

    return (
        f"On 20 ms links with edge duals the median time to an error of {PACING_TARGET:g} is, for a barrier, a quorum, "
        f"a deadline of 200 ms and free agents, {seconds('edge', 0.0)} when work is even, and {seconds('edge', 2.0)} "
        f"with late agents (σ = 2). With the papers' node duals and late agents it is {seconds('node', 2.0)}: who goes "
        f"on with old values does not get there."
    )


def codecs(found: StudyResult) -> str:
    get = Figures(found)
    full, byte, few = ({"method": "pp-admm", "codec": codec} for codec in ("float64", "int8", "top-k"))
    share, fewer = (100 * get("wire_bytes", **each) / get("wire_bytes", **full) for each in (byte, few))
    return (
        f"One byte per number is enough: with int8 PP-ADMM ends at {get.error(**byte)}, {get.change(byte, full)} "
        f"against float64, for {share:.0f} % of the bytes. Sending the tenth of the entries that changed "
        f"most takes {fewer:.0f} % and costs {get.change(few, full)} "
        f"({get.change(few | {'method': 'admm'}, full | {'method': 'admm'})} without noise)."
    )


def topologies(found: StudyResult) -> str:
    get = Figures(found)
    five, ring, whole, star = (
        {"kind": kind, "agents": agents} for kind, agents in (("ring", 5), ("ring", 20), ("complete", 20), ("star", 20))
    )
    return (
        f"More agents over the same rows cost both ways: a ring of 5 ends at {get.error(**five)} for "
        f"{get.sent(**five)}, one of 20 at {get.error(**ring)} for {get.sent(**ring)}. "
        f"Denser is not better within 30 rounds of one η, since each neighbour adds 2η to the penalty that "
        f"holds a model back: twenty agents end at "
        f"{get.error(**whole)} on a complete graph for {get.sent(**whole)}, and at {get.error(**star)} on a star."
    )


def transports(found: StudyResult) -> str:
    get = Figures(found)

    def changes(loss: float) -> str:
        edge, node = (
            get.change(
                {"transport": "reliable", "duals": duals, "loss": loss},
                {"transport": "datagram", "duals": duals, "loss": loss},
            )
            for duals in ("edge", "node")
        )
        return f"the error of edge duals by {edge} and that of node duals by {node}"

    once = {"transport": "datagram", "duals": "edge", "loss": 0.4}
    return (
        f"Not in rounds of 200 ms: a stream hands over in order and after most losses waits for its timer, so what it "
        f"brings is late. Against datagrams it changes {changes(0.05)} at 5 % loss, and {changes(0.4)} at 40 %, where "
        f"edge duals over datagrams end at {get.error(**once)}."
    )


def hub(found: StudyResult) -> str:
    get = Figures(found)
    few, many = ({"train": rows} for rows in (10_000, 35_000))
    trusted, other = ({"method": "dp-admm", "hub": kind} for kind in ("trusted", "untrusted"))
    peers = {"method": "pp-admm"}
    return (
        f"Not in bytes: uploading 35,000 rows costs {get.sent(**trusted, **many)} and 10,000 rows "
        f"{get.sent(**trusted, **few)}, where 30 rounds of models among peers, or of noisy gradients to an "
        f"untrusted hub, cost {get.sent(**peers, **many)} whatever the rows. In error PP-ADMM among peers ends at "
        f"{get.error(**peers, **many)} with 35,000 rows and {get.error(**peers, **few)} with 10,000, against which a "
        f"trusted hub has {get.change(trusted | many, peers | many)} and {get.change(trusted | few, peers | few)}, an "
        f"untrusted one {get.change(other | many, peers | many)} and {get.change(other | few, peers | few)}."
    )


def radio(found: StudyResult) -> str:
    reached = Reached(found)
    links, cell = "links, unicast", "cell, broadcast"
    pp, ipp = "pp-admm", "ipp-admm"

    def order(network: str) -> str:
        """The methods by their seconds, and who does not get there."""
        rows = [reached.row("t", network, method) for method in METHODS]
        ranked = sorted((row for row in rows if row["km_median"] is not None), key=lambda row: row["km_median"])
        told = [f"{row['algorithm.name']} ({row['km_median']:.2f} s)" for row in ranked]
        told += [
            f"{row['algorithm.name']} (never, {row['reached']} of {row['n']} runs)" for row in rows if row not in ranked
        ]
        return ", ".join(told)

    def seeds(cost: str, one: str, other: str) -> str:
        return " and ".join(f"{reached.sooner(cost, place, one, other)}" for place in (links, cell))

    def ratio(cost: str) -> str:
        spent = [
            [reached.row(cost, place, method)["km_median"] or nan for place in (links, cell)] for method in (ipp, pp)
        ]
        return (
            " and ".join(f"{mine / theirs:.2f}" for mine, theirs in zip(*spent, strict=True))
            + f" times the {COSTS[cost]}"
        )

    runs = reached.row("t", links, pp)["n"]
    turned = {cost: reached.turned(cost, links, cell) for cost in COSTS}
    passes = [
        f"in {COSTS[cost]} {one} passes {other} (cheaper in {seeds(cost, one, other)} of {runs} seeds)"
        for cost, pairs in turned.items()
        for one, other in pairs
    ]
    return (
        f"{'Yes' if passes else 'No clear pair does'}. The median time to an error of {TARGET:g} is {order(links)} on "
        f"independent links and {order(cell)} in a cell with one frame for all neighbours. From these links to that "
        f"cell {'; '.join(passes) or 'no method passes another in four of five seeds'}. IPP-ADMM, which skips "
        f"rounds, takes {', '.join(ratio(cost) for cost in COSTS)} that PP-ADMM takes, and fewer seconds in "
        f"{seeds('t', ipp, pp)} of {runs} seeds."
    )


def outputs(found: StudyResult) -> str:
    get = Figures(found)
    tail, near, both = OUTPUT_NAMES
    firm, small, few = (
        {"eta": eta, "rounds": rounds, "loss": 0.0} for eta, rounds in ((0.01, 30), (0.001, 30), (0.0005, 3))
    )
    slow, quick = small | {"loss": 0.2}, few | {"loss": 0.2}
    return (
        f"With η = 0.001 and 30 rounds the last models end at {get.error(**small)}, and averages change that by "
        f"{get.beside(near, small)} (the neighbours), {get.beside(tail, small)} (the last ten of the agent's own) and "
        f"{get.beside(both, small)} (both), for the same messages and the same ε. With the η = 0.01 of the other "
        f"studies models hardly move any more, and there is nothing to average away ({get.beside(both, firm)}). "
        f"Three rounds and the neighbours reach {get.error(near, **few)} for a tenth of the bytes "
        f"({get.sent(**few)}). Averages mend noise and not drift: at 20 % loss thirty rounds with node duals end at "
        f"{get.error(both, **slow)} with both, three rounds at {get.error(near, **quick)} with the neighbours."
    )


ANSWERS: dict[str, Callable[[StudyResult], str]] = {
    "methods": methods,
    "skips": skips,
    "duals": duals,
    "pacing": pacing,
    "codecs": codecs,
    "topologies": topologies,
    "transports": transports,
    "hub": hub,
    "radio": radio,
    "outputs": outputs,
}
