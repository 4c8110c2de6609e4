"""`simnet explain`: what a scenario means, before anything runs.

Shapes, noise scales, the budget plan and the predicted traffic follow from public numbers only: how many rows and
neighbours each agent has.
"""

from __future__ import annotations

from typing import Any

import networkx as nx

from simnet.learning.dealing import DealtData
from simnet.learning.losses import LOSSES
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import DpAdmm
from simnet.methods.method import Decentralised
from simnet.methods.plans import Budgeting
from simnet.methods.theory import theory
from simnet.network import frame
from simnet.privacy.ledger import account
from simnet.privacy.noise_plan import Plan
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.reporting import Reporting
from simnet.scenario import Scenario
from simnet.sim.faults import happenings
from simnet.streams import Streams
from simnet.wiring import links, writer
from simnet.world import World, build

Facts = dict[str, Any]


def explain(scenario: Scenario) -> dict[str, Facts]:
    """Topic → fact → value."""
    built = build(scenario)
    links(scenario, built.graph)  # refuses overrides of links that do not exist
    happenings(scenario.fault, built.graph, Streams(scenario.seed))  # and faults of agents that do not
    graph, learning, standings, budget = built.graph, built.learning, built.standings, built.budgeting
    return {
        "scenario": {
            "name": scenario.name,
            "method": scenario.algorithm.name,
            "rounds": scenario.rounds,
            "seed": scenario.seed,
        },
        "world": {
            "agents": len(standings),
            "links": graph.number_of_edges(),
            "neighbours": _span([standing.degree for standing in standings]),
            "rows an agent": _span(learning.rows),
            "test rows": learning.test.rows,
            "features": learning.features,
        },
        "local problem": _problem(scenario, standings, budget) | _graph(learning),
        **_privacy(scenario, standings, budget),
        **_theory(built),
        "traffic": _traffic(scenario, standings, learning.features) | _reports(built.reporting),
    }


def _problem(scenario: Scenario, standings: list[Standing], budget: Budgeting) -> Facts:
    spec = scenario.algorithm
    if isinstance(spec, DpAdmm):
        return {"loss": spec.loss, "η": spec.eta, "ρ": spec.penalty, "λ1": spec.sparsity, "hub": spec.hub}
    assert isinstance(spec, Decentralised)
    curvatures = [budget.regulariser + 2 * spec.eta * standing.degree for standing in standings]
    facts: Facts = {
        "loss": spec.loss,
        "η": spec.eta,
        "regulariser λ̂/N": budget.regulariser,
        "curvature μ = λ̂/N + 2ηV": _span(curvatures),
        "worst condition": (min(curvatures) + LOSSES[spec.loss].smoothness) / min(curvatures),
    }
    if budget.regulariser > spec.regulariser:
        facts["forced by the paper"] = f"λ̂/N was {spec.regulariser:g}; the calibration needs {budget.regulariser:.4g}"
    return facts


def _graph(learning: DealtData) -> Facts:
    """Where a fused lasso takes its graph from."""
    if learning.public is None:
        return {}
    rows = f"{learning.public.shape[0]:,} rows without labels, which count as public: no training row, no test row"
    return {"graph of the features": rows}


def _privacy(scenario: Scenario, standings: list[Standing], budget: Budgeting) -> dict[str, Facts]:
    asked = {"ε": scenario.privacy.epsilon, "δ": scenario.privacy.delta}
    plans = {standing: plan for standing, plan in zip(standings, budget.plans, strict=True) if plan is not None}
    if not plans:
        return {"privacy": {"none": f"{scenario.algorithm.name} releases bare models: no finite ε"}}
    topics: dict[str, Facts] = {"privacy": {**asked, "calibration": scenario.privacy.calibration}}
    for standing, plan in plans.items():
        title = f"noise of an agent with {standing.rows:,} rows and {standing.degree} neighbours"
        topics[title] = _noise(plan, scenario.privacy.delta)
    return topics


def _noise(plan: Plan | NoiseSchedule, delta: float) -> Facts:
    if isinstance(plan, NoiseSchedule) and not plan.rounds:
        return {"rows": "at the trusted hub, which adds the noise and pays for them"}
    if isinstance(plan, NoiseSchedule):
        facts, charges = _scheduled_noise(plan), plan.charges
    else:
        facts, charges = _gaussian_noise(plan), (*plan.opening, *[plan.release] * plan.releases)
    total = account(charges, delta)
    facts["ε claimed"] = total.claimed_epsilon if total.claimed_epsilon is not None else "no paper covers this"
    facts["ε proven"] = total.proven_epsilon if total.proven_epsilon is not None else "no finite one"
    facts["by"] = total.basis
    return facts


def _gaussian_noise(plan: Plan) -> Facts:
    facts: Facts = {
        "releases": plan.releases,
        "σ1 in the objective": plan.sigma1,
        "σ2 on the output": plan.sigma2,
        "β, gradient norm": plan.tolerance,
    }
    if plan.test is not None:
        facts["test: ε1, ε2"] = f"{plan.test.epsilon1:.4g}, {plan.test.epsilon2:.4g}"
        facts["test: noise of the threshold"] = plan.test.threshold_scale
        facts["test: noise of a query"] = plan.test.query_scale
    return facts


def _scheduled_noise(plan: NoiseSchedule) -> Facts:
    scale = "rate α, first round to last" if plan.noise == "gamma" else "σ, first round to last"
    return {
        "rounds that use the data": len(plan.rounds),
        "noise": plan.noise if plan.rounds[0].scale else "none",
        scale: f"{plan.rounds[0].scale:.6g} to {plan.rounds[-1].scale:.6g}",
        "σ on the output": _span([found.output_sigma for found in plan.rounds]),
        "β, gradient norm": _span([found.tolerance for found in plan.rounds]),
    }


def _theory(built: World) -> dict[str, Facts]:
    """What the method's theorems ask for, and by how much the scenario meets it."""
    adjacency = nx.to_numpy_array(built.graph, nodelist=range(built.agents))
    words = {True: "holds", False: "does not hold", None: "comes to"}
    findings = theory(built.scenario, built.standings, built.budgeting, adjacency, built.learning.features)
    facts = {found.name: f"{words[found.holds]} ({found.margin:.4g}): {found.sentence}" for found in findings}
    return {"theory": facts} if facts else {}


def _reports(reporting: Reporting | None) -> Facts:
    """Rows that travel before the first round."""
    if reporting is None:
        return {}
    sent = [found for found in reporting.reports if found is not None]
    reports = sum(found.messages for found in sent)
    return {
        "reports before round 1": f"{reports:,} ({sum(found.wire_bytes for found in sent):,} bytes)",
        "of which lost": f"{reports - sum(found.delivered for found in sent):,}",
        "round 1 begins at": f"{reporting.begins:.6g} s",
    }


def _traffic(scenario: Scenario, standings: list[Standing], features: int) -> Facts:
    import numpy as np

    payload = len(writer(scenario, 0).letter(0, (np.zeros(features),)))
    message = len(frame.encode(frame.Kind.VALUE, sender=0, round=1, payload=b"\0" * payload))
    releases = min(scenario.rounds, getattr(scenario.algorithm, "max_releases", scenario.rounds))
    messages = releases * sum(standing.degree for standing in standings)
    bandwidth = scenario.network.link.bandwidth
    facts: Facts = {
        "bytes a message": f"{message:,} ({payload:,} payload)",
        "messages at most": f"{messages:,} ({releases} releases an agent)",
        "bytes at most": f"{messages * message:,}",
        "pacing": scenario.network.pacing.word,
    }
    if bandwidth is not None:
        facts["time to send one"] = f"{8e3 * message / bandwidth:.3g} ms"
    return facts


def _span(values: list[int] | list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"
