"""What `simnet explain` tells of an underlay: the paths between neighbours, and which physical links they share."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import median

from simnet.network.model import Ends
from simnet.network.underlay import PhysicalNetwork
from simnet.privacy.budget import Facts

_SHOWN = 3
"""Links that are named."""


def underlay_facts(network: PhysicalNetwork, pairs: list[Ends], packets: Sequence[int], *, repeated: bool) -> Facts:
    """The paths between these agents; `packets` are those of a value, which are `repeated` if a queue drops them."""
    shared = network.shared_by(pairs)
    most = sorted(shared, key=lambda ends: (-shared[ends], ends))[:_SHOWN]
    return {
        "physical network": f"{len(network.names):,} nodes, {len(network.models) // 2:,} links",
        "nodes with agents": len(set(network.places)),
        "links per path": _span([float(len(network.route(*pair))) for pair in pairs]),
        "latency per path": _span([1e3 * network.delay(*pair) for pair in pairs], "ms"),
        "bottleneck per path": _span([network.bottleneck(*pair) / 1e6 for pair in pairs], "Mbit/s"),
        "one value alone": _alone([1e3 * network.alone(*pair, packets, roomy=repeated) for pair in pairs]),
        "most shared": ", ".join(f"{network.name(ends)} by {shared[ends]} of {len(pairs)}" for ends in most)
        or "none: all agents stand at one node",
        "links that nobody uses": len({*map(frozenset, network.models)} - {*map(frozenset, shared)}),
    }


def _alone(times: Sequence[float]) -> str:
    """How long a value takes on an idle path, or on how many it never arrives."""
    never = times.count(inf)
    return f"dropped in part by a queue on {never} of {len(times)} paths" if never else _span(times, "ms")


def _span(values: Sequence[float], unit: str = "") -> str:
    """Least, median and most; without a limit nothing limits them."""
    least, middle, most = min(values), median(values), max(values)
    if least == inf:
        return "no limit"
    if least == most:
        return f"{least:.4g} {unit}".strip()
    return " ".join([f"{least:.4g} to {most:.4g}", *([unit] if unit else []), f"(median {middle:.4g})"])
