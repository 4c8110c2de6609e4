"""Combinations of sections that make no sense, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.scenario.algorithm import Algorithm, DpAdmm, MAdmm, Pdml, RAdmm
from simnet.scenario.fault_sections import Fault
from simnet.scenario.network import Network
from simnet.scenario.privacy import Privacy
from simnet.scenario.topology_sections import Topology

_AMOUNTS = ("noise_rate", "sigma", "output_sigma", "test_epsilon", "primal_scale", "label_epsilon")


def nonsense(
    algorithm: Algorithm, privacy: Privacy, topology: Topology, network: Network, faults: Sequence[Fault] = ()
) -> str | None:
    """The first thing that does not go together, as `field: why not`; None if all does."""
    if isinstance(algorithm, DpAdmm):
        if topology.kind != "star":
            return f"topology.kind: {algorithm.name} computes at the hub of a star, not on a {topology.kind} graph"
        if any(getattr(fault, "state", "kept") == "lost" for fault in faults):
            return f"fault: {algorithm.name} cannot begin again without its state; keep it"
    elif algorithm.duals == "edge" and (reason := _not_by_edges(algorithm)):
        return f"algorithm.duals: {reason}; choose node or healing"
    elif network.codec == "top-k" and algorithm.duals == "healing" and algorithm.heal_every > 1:
        return "algorithm.heal_every: with the codec top-k each entry travels with its sum, so it is 1"
    elif algorithm.duals == "healing" and isinstance(algorithm, MAdmm) and _own_steps(algorithm):
        return "algorithm.duals: healing duals are sums that both ends weigh by the same dual steps; choose node"
    if isinstance(algorithm, Pdml) and algorithm.loss != "logistic":
        return "algorithm.loss: pdml's unbiased loss is convex for logistic only"
    if privacy.calibration == "none":
        for field in _AMOUNTS:
            if getattr(algorithm, field, None) is not None:
                return f"algorithm.{field}: with privacy.calibration = 'none' there is no noise"
    if privacy.calibration == "paper":
        if getattr(algorithm, "test", None) == "noise-free":
            return "algorithm.test: the paper's calibration covers only 'shared-noise'"
        if getattr(algorithm, "noise", None) == "gaussian":
            return "algorithm.noise: no paper has a price for Gaussian noise here; privacy.calibration = 'proven' has"
    return None


def _not_by_edges(algorithm: Algorithm) -> str | None:
    """Edge duals are one splitting with one η: they know neither resting rounds nor a dual step of their own."""
    if isinstance(algorithm, RAdmm):
        return "edge duals move in every round, and r-admm's rest in even ones"
    if isinstance(algorithm, MAdmm):
        own = algorithm.dual_step is not None and algorithm.dual_step != algorithm.eta
        grows = algorithm.penalty_growth != 1.0 or algorithm.dual_growth != 1.0
        if own or grows or algorithm.agent_eta or algorithm.agent_growth or _own_steps(algorithm):
            return "edge duals need one η for all agents and rounds that is also the dual step"
    return None


def _own_steps(algorithm: MAdmm) -> bool:
    """Whether agents have dual steps of their own."""
    return bool(algorithm.agent_dual_step or algorithm.agent_dual_growth)
