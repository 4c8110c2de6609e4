"""The answers to the shipped studies' questions, two sentences each, with numbers from the stored tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from simnet.study.aggregate import means
from simnet.study.results import StudyResult

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

    def __call__(self, figure: str, **settings: Any) -> float:
        return self.spread(figure, settings)[0]

    def error(self, **settings: Any) -> str:
        mean, half = self.spread("test_error", settings)
        return f"{mean:.3f} ± {half:.3f}"

    def sent(self, **settings: Any) -> str:
        return f"{self('wire_bytes', **settings) / 1e6:.3g} MB"


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
}


def methods(found: StudyResult) -> str:
    get = Figures(found)
    ratio = get("wire_bytes", method="ipp-admm", epsilon=1.0) / get("wire_bytes", method="pp-admm", epsilon=1.0)
    older = ("dvp", "pvp", "m-admm", "r-admm")
    best = min(older, key=lambda name: get("test_error", method=name, epsilon=1.0))
    return (
        f"At ε = 1 PP-ADMM ends at {get.error(method='pp-admm', epsilon=1.0)} for "
        f"{get.sent(method='pp-admm', epsilon=1.0)} (ADMM without noise: {get.error(method='admm', epsilon=1.0)}), and "
        f"IPP-ADMM at {get.error(method='ipp-admm', epsilon=1.0)} for {100 * ratio:.0f} % of the bytes; of the methods "
        f"that leave rows where they are, the next is {best} with {get.error(method=best, epsilon=1.0)} for as many "
        "bytes "
        f"as PP-ADMM. Moving the rows buys nothing here and costs a hundred times the bytes: DP-ADMM at a trusted hub "
        f"ends at {get.error(method='dp-admm', epsilon=1.0)} for {get.sent(method='dp-admm', epsilon=1.0)}, PDML at "
        f"{get.error(method='pdml', epsilon=1.0)} for {get.sent(method='pdml', epsilon=1.0)}."
    )


def skips(found: StudyResult) -> str:
    get = Figures(found)
    free = {"clip": 2.0, "threshold": 0.0}
    high = {"clip": 2.0, "threshold": 0.1, "releases": 30}
    return (
        f"The most releases c decide the bytes: at ε = 1 and c = 15 all agents send "
        f"{get.sent(epsilon=1.0, releases=15, **free)} in all and ends at "
        f"{get.error(epsilon=1.0, releases=15, **free)}, "
        f"c = 5 sends {get.sent(epsilon=1.0, releases=5, **free)} and ends at "
        f"{get.error(epsilon=1.0, releases=5, **free)}, "
        f"and c = 30 is no better than c = 15 ({get.error(epsilon=1.0, releases=30, **free)}). The "
        "threshold and "
        f"C_loss hardly matter at such an ε, because the noise of a proven test drowns what it measures: with c = 30 "
        "about half of all rounds are sent whatever the threshold "
        f"({get('broadcasts', epsilon=1.0, releases=30, **free):.0f} "
        f"and {get('broadcasts', epsilon=1.0, **high):.0f} of 150 for α = 0 and 0.1), and only at ε = 100 does the "
        f"threshold choose ({get('broadcasts', epsilon=100.0, releases=30, **free):.0f} and "
        f"{get('broadcasts', epsilon=100.0, **high):.0f})."
    )


def pacing(found: StudyResult) -> str:
    get = Figures(found)
    times = found.reaching(
        PACING_TARGET, "t", by=["algorithm.duals", *map(_FIELDS.get, ("pacing", "latency", "sigma"))]
    )

    def seconds(pace: str, sigma: float, kind: str = "edge", latency: str = "20 ms") -> str:
        row = times.filter(
            pl.col("algorithm.duals") == kind,
            pl.col(_FIELDS["pacing"]) == pace,
            pl.col(_FIELDS["latency"]) == latency,
            pl.col(_FIELDS["sigma"]) == sigma,
        ).row(0, named=True)
        return (
            f"{row['km_median']:.2g} s" if row["km_median"] is not None else f"never ({row['reached']} of {row['n']})"
        )

    return (
        f"On 20 ms links with edge duals the median time to an error of {PACING_TARGET:g} is "
        f"{seconds('barrier', 0.0)} for a "
        f"barrier, {seconds('quorum', 0.0)} for a quorum, {seconds('deadline', 0.0)} for a deadline of 200 ms and "
        f"{seconds('free', 0.0)} for free agents when work is even; with late agents (σ = 2) it is "
        f"{seconds('barrier', 2.0)}, {seconds('quorum', 2.0)}, {seconds('deadline', 2.0)} and "
        f"{seconds('free', 2.0)}. Under "
        f"the papers' node duals only the barrier is sure to get there ({seconds('barrier', 2.0, 'node')}; quorum "
        f"{seconds('quorum', 2.0, 'node')}, deadline {seconds('deadline', 2.0, 'node')}, free "
        f"{seconds('free', 2.0, 'node')}): who goes on with old values ends at "
        f"{get('test_error', pacing='quorum', duals='node', sigma=2.0):.3f} where the barrier ends at "
        f"{get('test_error', pacing='barrier', duals='node', sigma=2.0):.3f}."
    )


def topologies(found: StudyResult) -> str:
    get = Figures(found)
    return (
        f"More agents over the same rows cost both ways: from 5 to 20 agents a ring goes from "
        f"{get.error(kind='ring', agents=5)} for {get.sent(kind='ring', agents=5)} to "
        f"{get.error(kind='ring', agents=20)} for {get.sent(kind='ring', agents=20)}. Denser is not better within 30 "
        f"rounds of one η (each neighbour adds 2η to the penalty that holds a model back): twenty agents end at "
        f"{get.error(kind='complete', agents=20)} on a complete graph for {get.sent(kind='complete', agents=20)}, "
        "and at "
        f"{get.error(kind='star', agents=20)} on a star, where the hub has 19 neighbours."
    )


def hub(found: StudyResult) -> str:
    get = Figures(found)
    few, many = {"train": 10_000}, {"train": 35_000}
    return (
        f"Not in bytes: uploading 35,000 rows costs {get.sent(method='dp-admm', hub='trusted', **many)} and 10,000 "
        "rows "
        f"{get.sent(method='dp-admm', hub='trusted', **few)}, where 30 rounds of models or of noisy gradients to an "
        f"untrusted hub cost {get.sent(method='pp-admm', **many)} whatever the rows. In error all are alike with "
        "35,000 "
        f"rows (trusted {get.error(method='dp-admm', hub='trusted', **many)}, untrusted "
        f"{get.error(method='dp-admm', hub='untrusted', **many)}, PP-ADMM {get.error(method='pp-admm', **many)}), "
        "and with "
        "10,000 a hub seems ahead, which three seeds do not settle "
        f"({get.error(method='dp-admm', hub='trusted', **few)}, "
        f"{get.error(method='dp-admm', hub='untrusted', **few)} and {get.error(method='pp-admm', **few)})."
    )


def duals(found: StudyResult) -> str:
    get = Figures(found)
    lost = {"pacing": "deadline", "loss": 0.3}
    return (
        f"At 30 % loss the papers' node duals end at an error of {get.error(duals='node', **lost)}, healing duals at "
        f"{get.error(duals='healing', **lost)} and edge duals at {get.error(duals='edge', **lost)}, where "
        f"all have {get('test_error', duals='node', pacing='deadline', loss=0.0):.3f} without loss; a barrier "
        f"changes little about that (node duals: {get.error(duals='node', pacing='barrier', loss=0.3)}). Edge "
        f"duals send no byte more than node duals, healing duals "
        f"{get('wire_bytes', duals='healing') / get('wire_bytes', duals='node'):.2f} times as many."
    )


def codecs(found: StudyResult) -> str:
    get = Figures(found)
    share = get("wire_bytes", method="pp-admm", codec="int8") / get("wire_bytes", method="pp-admm", codec="float64")
    return (
        f"One byte a number is enough: int8 ends at {get.error(method='pp-admm', codec='int8')} where float64 ends at "
        f"{get.error(method='pp-admm', codec='float64')} (pp-admm), for {100 * share:.0f} % of the bytes, and "
        "IPP-ADMM's "
        f"skips bring it down to {get.sent(method='ipp-admm', codec='int8')}. Sending only the largest tenth of the "
        f"entries saves hardly more ({get.sent(method='pp-admm', codec='top-k')} against "
        f"{get.sent(method='pp-admm', codec='int8')}) and costs dearly: "
        f"{get.error(method='pp-admm', codec='top-k')}, and "
        f"{get.error(method='admm', codec='top-k')} without any noise."
    )


def transports(found: StudyResult) -> str:
    get = Figures(found)
    return (
        f"Not if the duals survive loss: at 40 % loss edge duals over datagrams end at "
        f"{get.error(transport='datagram', duals='edge', loss=0.4)}, which repetition betters to "
        f"{get.error(transport='reliable', duals='edge', loss=0.4)} for "
        f"{get('wire_bytes', transport='reliable', loss=0.4) / get('wire_bytes', transport='datagram', loss=0.4):.1f} "
        f"times the bytes. Node duals gain more ({get.error(transport='datagram', duals='node', loss=0.4)} to "
        f"{get.error(transport='reliable', duals='node', loss=0.4)}) and are still worse than edge duals without any "
        f"repetition."
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
}
