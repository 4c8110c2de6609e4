"""Which scenarios can be live, and for the others the reason why not, in a sentence."""

from __future__ import annotations

from simnet.errors import ScenarioError
from simnet.scenario import Scenario
from simnet.scenario.algorithm import DpAdmm, Pdml


def check(scenario: Scenario, *, shim: bool) -> None:
    """Refuse what no live agent can do."""
    if reason := _misfit(scenario, shim):
        raise ScenarioError(reason)


def _misfit(scenario: Scenario, shim: bool) -> str | None:
    network, method = scenario.network, scenario.algorithm
    if network.pacing.kind == "ideal":
        return (
            "network.pacing.kind = 'ideal': no real agent knows that all the others have finished a round; "
            "live needs barrier, deadline, quorum or free"
        )
    if scenario.fault:
        return "fault: live agents break for real; leave the faults out, and kill a process to see one"
    if isinstance(method, Pdml):
        return "algorithm.name = 'pdml': its users report over lines that are only simulated, there are no live users"
    if isinstance(method, DpAdmm) and method.hub == "trusted":
        return "algorithm.hub = 'trusted': the leaves' upload of rows is only simulated; an untrusted hub can be live"
    if shim and network.transport.kind == "reliable":
        return (
            "network.transport.kind = 'reliable': the shim sends each message once, and TCP repeats on its own; "
            "use datagram, or --no-shim"
        )
    if shim and network.inbox.service:
        return "network.inbox.service: a live agent takes in what arrives as fast as it can; leave it out, or --no-shim"
    return None
