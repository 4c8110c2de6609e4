"""What the study `radio` adds to its tables: airtime and joules of plain links, and what it costs to reach an error.

A channel knows its airtime. A plain link does not, so here it is the time to send its bytes at the link's bit rate,
without preambles and acknowledgements. While a message is sent its sender draws the power of sending, and those that
it is for that of receiving, in place of idling. That is the least that any radio with this bit rate would need.
"""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import polars as pl

from simnet.studies import reaching
from simnet.studies.results import StudyResult

TARGET = 0.21
TARGETS = (0.2, TARGET, 0.22)
NETWORKS = ("links, unicast", "links, shared", "cell, unicast", "cell, broadcast")
METHODS = ("admm", "pp-admm", "ipp-admm", "m-admm", "r-admm")
COSTS = {"wire_bytes": "bytes", "airtime_sent": "airtime", "joules": "joules", "t": "seconds"}
_CHANNEL, _MEDIUM, _METHOD = "network.channel.kind", "network.medium", "algorithm.name"


def complete(found: StudyResult, table: pl.DataFrame) -> pl.DataFrame:
    """Runs or rounds with the name of their network, and the airtime and joules of links filled in."""
    plain = pl.col(_CHANNEL).is_null()
    scenario = json.loads(found.runs.filter(plain)["resolved"][0])
    watts, degree = scenario["cost"]["energy"], scenario["topology"]["degree"]
    alone = pl.col(_MEDIUM) == "unicast"
    sent = 8 * pl.col("wire_bytes") / scenario["network"]["link"]["bandwidth"]
    heard = sent * pl.when(alone).then(1).otherwise(degree)
    more = sent * (watts["send_watts"] - watts["idle_watts"]) + heard * (watts["receive_watts"] - watts["idle_watts"])
    names = [pl.lit(name) for name in NETWORKS]
    return table.with_columns(
        pl.when(plain & alone).then(names[0]).when(plain).then(names[1]).when(alone).then(names[2]).otherwise(names[3])
        .alias("network"),
        pl.when(plain).then(sent).otherwise(pl.col("airtime_sent")).alias("airtime_sent"),
        pl.when(plain).then(pl.col("joules") + more).otherwise(pl.col("joules")).alias("joules"),
    )  # fmt: skip


class Reached:
    """What the methods have spent when their test error is at most a target."""

    def __init__(self, found: StudyResult, target: float = TARGET) -> None:
        self._rounds, self._target = complete(found, found.rounds), target
        self.table = pl.concat(reaching.costs(self._rounds, ["network", _METHOD], target, cost) for cost in COSTS)

    def row(self, cost: str, network: str, method: str) -> dict[str, Any]:
        """Runs, how many reached the target, and the median, None if fewer than half did."""
        wanted = (pl.col("cost") == cost, pl.col("network") == network, pl.col(_METHOD) == method)
        return self.table.filter(*wanted).row(0, named=True)

    def ranking(self, cost: str, network: str) -> list[str]:
        """The methods that at least half of the runs get to the target with, cheapest first."""
        known = [(self.row(cost, network, method)["km_median"], method) for method in METHODS]
        return [method for _, method in sorted(each for each in known if each[0] is not None)]

    def turned(self, cost: str, here: str, there: str) -> list[tuple[str, str]]:
        """Pairs of methods: the first costs more on the one network and less on the other, in four of five seeds."""
        enough = 0.8 * self.table["n"].max()
        return [
            (one, other)
            for one, other in permutations(METHODS, 2)
            if self.sooner(cost, here, other, one) >= enough and self.sooner(cost, there, one, other) >= enough
        ]

    def sooner(self, cost: str, network: str, one: str, other: str) -> int:
        """In how many seeds one method gets to the target for less than another, which may never get there."""
        hits = reaching.first_hits(self._rounds.filter(network=network), [_METHOD, "seed"], self._target, cost)
        spent = hits.with_columns(pl.when("reached").then("cost").otherwise(float("inf")).alias("cost"))
        mine, theirs = (spent.filter(pl.col(_METHOD) == method).select("seed", "cost") for method in (one, other))
        return mine.join(theirs, on="seed").filter(pl.col("cost") < pl.col("cost_right")).height
