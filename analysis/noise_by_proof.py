"""How much noise each proof asks for, and what the difference is worth.

    python -m analysis.noise_by_proof --into docs/privacy.md
    python -m analysis.noise_by_proof --errors 5

Prints σ of the agent with the most noise, in the objective or on a gradient, relative to what Rényi curves with the
moments bound ask for (`privacy.bound = "moments"`). `--into` also puts the table into a page, between its marks.
`--errors` adds the mean test error over so many seeds of PP-ADMM on Adult's ring of five at ε = 0.25.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from simnet import Scenario, run
from simnet.build import calibrate, draw_graph
from simnet.methods.method import AgentSize
from simnet.privacy.budget import NoisePlan
from simnet.privacy.ledger import account
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.privacy.objective_perturbation import PerturbationPlan

SCENARIOS = Path(__file__).parents[1] / "scenarios"
RING = Scenario.load(SCENARIOS / "ideal.toml")
STAR = {"topology.kind": "star", "algorithm.hub": "untrusted"}
SETTINGS: dict[str, Scenario] = {
    "quickstart (ipp-admm), ε = 1": Scenario.load(SCENARIOS / "quickstart.toml"),
    "pp-admm, ring, ε = 1": RING,
    "pp-admm, ring, ε = 0.25": RING.with_(**{"privacy.epsilon": 0.25}),
    "pp-admm, ring, η = 0.1, ε = 1": RING.with_(**{"algorithm.eta": 0.1}),
    "dvp, Gaussian, ring, ε = 1": RING.with_method("dvp").with_(**{"algorithm.noise": "gaussian"}),
    "r-admm, Gaussian, ring, ε = 1": RING.with_method("r-admm").with_(**{"algorithm.noise": "gaussian"}),
    "dp-admm, untrusted hub, ε = 1": RING.with_method("dp-admm").with_(**STAR),
}
MARKS = re.compile(r"(<!-- noise by proof -->\n).*?(<!-- /noise by proof -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, help="a page that has the marks")
    parser.add_argument("--errors", type=int, default=0, help="seeds to run")
    options = parser.parse_args()
    text = table()
    print(text)
    if options.into is not None:
        options.into.write_text(filled(options.into.read_text(encoding="utf-8")), encoding="utf-8")
    if options.errors:
        for bound in ("moments", "least"):
            changed = RING.with_(**{"privacy.epsilon": 0.25, "privacy.bound": bound})
            errors = [
                run(changed.with_(seed=s)).summary["accuracy"]["test_error"] for s in range(1, options.errors + 1)
            ]
            print(f"pp-admm, ring, ε = 0.25, {bound}: mean test error {sum(errors) / len(errors):.4f}")


def table() -> str:
    """One row per setting."""
    lines = ["| setting | transport | least | by |", "|---|---:|---:|---|"]
    for name, scenario in SETTINGS.items():
        moments, transport, least = (worst(scenario, bound) for bound in ("moments", "transport", "least"))
        by = account(least.charges, scenario.privacy.delta).basis.split("; ")[-1]
        most = sigma(moments)
        lines.append(f"| {name} | {sigma(transport) / most:.3f} | {sigma(least) / most:.3f} | {by} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with its table."""
    return MARKS.sub(lambda found: f"{found[1]}\n{table()}\n\n{found[2]}", page)


def worst(scenario: Scenario, bound: str) -> NoisePlan:
    """The plan of the agent that needs the most noise; rows are dealt evenly."""
    graph = draw_graph(scenario)
    rows = scenario.data.train // len(graph)  # type: ignore[operator]
    task = scenario.learned
    bounds = {"gradient_bound": task.gradient_bound, "smoothness": task.smoothness}
    sizes = [AgentSize(rows, graph.degree[agent], **bounds) for agent in graph]
    plans = calibrate(scenario.with_(**{"privacy.bound": bound}), sizes).plans
    return max((plan for plan in plans if plan is not None), key=sigma)


def sigma(plan: NoisePlan) -> float:
    """σ in the objective or on the gradient, in the first round."""
    if isinstance(plan, PerturbationPlan):
        return plan.sigma1
    assert isinstance(plan, NoiseSchedule)
    return plan.rounds[0].scale


if __name__ == "__main__":
    main()
