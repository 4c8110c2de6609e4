"""Whether a scenario makes a crowd: all agents keep one clock, all links are alike, and nothing happens to one of them.

Such a run can be simulated in columns (`simnet.crowds`), which takes less time and memory and gives the same.
"""

from __future__ import annotations

from simnet.scenario import Scenario


def suits_columns(scenario: Scenario) -> bool:
    """Whether a scenario says nothing that single agents, links or messages would be needed for."""
    network, link, method = scenario.network, scenario.network.link, scenario.algorithm
    compute = scenario.compute
    return all(
        (
            not any(True for _ in scenario.foreign()),
            scenario.pacing.common_tick is not None and compute.time.constant is not None and not compute.tells,
            not scenario.fault and scenario.until is None and not scenario.output,
            scenario.privacy.noise == "seed" and not scenario.privacy.observers,
            method.in_columns and method.bound is None and not method.silences and method.reports_from is None,
            network.way_out == "independent" and not network.transport.repeats and network.peers is None,
            network.line.up is None and network.line.down is None and not network.inbox.service,
            network.codec.exact and not network.override,
            link.bandwidth is None and link.mtu is None and link.order == "free",
            not link.duplication and not link.corruption and link.loss.independent is not None,
            not (link.latency.timed or link.latency.needs_length or link.latency.needs_ends),
        )
    )
