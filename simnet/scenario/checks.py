"""Combinations of sections that make no sense, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.methods.method import Method, Surroundings
from simnet.network.topology import Topology
from simnet.privacy.budget import Privacy
from simnet.scenario.network_section import Network
from simnet.sim.faults import Fault


def nonsense(
    method: Method, privacy: Privacy, topology: Topology, network: Network, faults: Sequence[Fault] = ()
) -> str | None:
    """The first thing that does not go together, as `field: why not`; None if all does."""
    around = Surroundings(
        topology=topology.word,
        medium=network.medium,
        entrywise_codec=network.codec == "top-k",
        states_get_lost=any(fault.loses_state for fault in faults),
    )
    return method.misfit(around) or method.misfit_of_privacy(privacy)
