"""`simnet live`: a scenario with every agent a process of this machine, and its record; and what cannot be live."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

from simnet.build import build
from simnet.errors import ScenarioError
from simnet.live import certificates
from simnet.live.fleet import Fleet
from simnet.live.merge import merge
from simnet.record.bus import Bus
from simnet.record.folder import slug
from simnet.scenario import Scenario
from simnet.simulate import Progress, Result, keep


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    *,
    shim: bool = True,
    tls: bool = True,
    progress: Progress | None = None,
    watch: Callable[[Fleet], None] | None = None,
) -> Result:
    """Run a scenario live on this machine's loopback, one process per agent.

    Args:
        scenario: what to run.
        out: where run folders go; None keeps everything in memory.
        shim: whether messages and local work take the times, and meet the losses, that the scenario gives them.
        tls: whether the agents speak mutual TLS, under an authority made for this run.
        progress: told after every round that all agents have finished.
        watch: given the fleet before it starts.
    """
    check(scenario, shim=shim)
    world = build(scenario)

    def happen(bus: Bus) -> None:
        # The agents' states go when the run is over: what is worth keeping of them is in the record.
        with tempfile.TemporaryDirectory(prefix="simnet-live-") as name:
            folder, keys = Path(name), None
            if tls:
                keys = folder / "certificates"
                certificates.init(keys, range(world.agents))
            fleet = Fleet(world, folder, f"{slug(scenario.name)}-{token_hex(8)}", keys, shim)
            if watch is not None:
                watch(fleet)
            fleet.run_all(progress)
            merge(world, fleet.folders, bus)

    return keep(scenario, out, happen)


def merged(folders: list[Path], scenario: Scenario, out: str | Path | None = None) -> Result:
    """The journals of agents that ran anywhere as one run's record."""
    world = build(scenario)
    return keep(scenario, out, lambda bus: merge(world, folders, bus))


def check(scenario: Scenario, *, shim: bool) -> None:
    """Refuse what no live agent can do."""
    if reason := _misfit(scenario, shim):
        raise ScenarioError(reason)


def _misfit(scenario: Scenario, shim: bool) -> str | None:
    network = scenario.network
    if network.pacing.meets:
        return (
            "network.pacing.kind = 'ideal': no real agent knows that all the others have finished a round; "
            "live needs barrier, deadline, quorum or free"
        )
    if scenario.fault:
        return "fault: live agents break for real; leave the faults out, and kill a process to see one"
    if reason := scenario.algorithm.misfit_of_live():
        return reason
    if shim and network.transport.repeats:
        return (
            "network.transport.kind = 'reliable': the shim sends each message once, and TCP repeats on its own; "
            "use datagram, or --no-shim"
        )
    if shim and network.inbox.service:
        return "network.inbox.service: a live agent takes in what arrives as fast as it can; leave it out, or --no-shim"
    return None
