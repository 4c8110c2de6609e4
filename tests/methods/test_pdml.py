"""PDML: reports on the network, flipped labels, and servers that do what a plain loop does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.record.events import PrivacySpent, ReleaseMade, ReportsGathered, RoundStarted
from simnet.record.laws import Laws
from simnet.record.lines import unpack
from simnet.streams import Streams
from tests.methods import straight_line

ROUNDS, SERVERS, FEATURES = 10, 5, 6


def scenario(**changes: object) -> Scenario:
    base = Scenario.of(
        {
            "seed": 3,
            "rounds": ROUNDS,
            "data": {"source": "synthetic", "rows": 2000, "features": FEATURES, "train": 1500},
            "topology": {"kind": "random", "agents": SERVERS, "mean_degree": 3},
            "algorithm": {"name": "pdml", "eta": 0.1, "regulariser": 0.02, "tolerance": 1e-9},
            "privacy": {"epsilon": 2.0},
        }
    )
    return base.with_(**changes)


def models(result, rounds: int = ROUNDS) -> np.ndarray:
    found = np.zeros((rounds, SERVERS, FEATURES))
    for _, _, event in result.events:
        if isinstance(event, ReleaseMade):
            found[event.round - 1, event.agent] = unpack(event.value)
    return found


def uniform_in_ball(rng, radius: float) -> np.ndarray:
    norm = radius * rng.random() ** (1 / FEATURES)
    direction = rng.standard_normal(FEATURES)
    return direction * (norm / np.linalg.norm(direction))


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("calibration", ["proven", "paper"])
def test_servers_do_what_the_plain_loop_does_with_the_reports_that_arrived(calibration, loss):
    fields = {"label_epsilon": 1.0, "objective_bound": 0.5, "primal_decay": 0.9}
    chosen = scenario(**{f"algorithm.{name}": value for name, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration, "network.access.loss": loss})
    built = build(chosen)
    parts, noise, tilts = [], np.zeros((ROUNDS, SERVERS, FEATURES)), []
    spread = np.array([[plan.scale for plan in each.rounds] for each in built.calibration.plans]).T
    for server, part in enumerate(built.learning.parts):
        wrong = Streams(3).generator("labels", server).random(part.rows) < 1 / (1 + math.e)
        arrived = built.reporting.reports[server].arrived
        parts.append((np.asarray(part.X)[arrived], np.where(wrong, -part.y, part.y)[arrived]))
        tilts.append(uniform_in_ball(Streams(3).generator("objective", server), 0.5) / SERVERS)
        rng = Streams(3).generator("noise", server)
        for t, plan in enumerate(built.calibration.plans[server].rounds):
            noise[t, server] = rng.normal(0, plan.scale, FEATURES)
    neighbours = [sorted(built.graph[server]) for server in range(SERVERS)]
    plain = straight_line.pdml(parts, neighbours, ROUNDS, 0.1, 0.02, 1.0, tilts, noise, spread)
    np.testing.assert_allclose(models(run(chosen)), plain, rtol=0, atol=1e-7)
    assert (sum(len(y) for _, y in parts) < 1500) == (loss > 0)


def test_without_noise_the_servers_reach_the_optimum_of_an_outside_solver():
    chosen = scenario(rounds=200, **{"privacy.calibration": "none", "algorithm.eta": 0.03})
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.02)
    np.testing.assert_allclose(models(run(chosen), 200)[-1], np.tile(best, (SERVERS, 1)), atol=1e-6)


def test_labels_that_are_nearly_never_flipped_give_nearly_that_optimum():
    """ε → ∞, R = 0, V → 0."""
    fields = {"label_epsilon": 40.0, "objective_bound": 0.0, "primal_scale": 1e-9, "eta": 0.03}
    chosen = scenario(rounds=200, **{f"algorithm.{name}": value for name, value in fields.items()})
    parts = [(np.asarray(part.X), part.y) for part in build(chosen).learning.parts]
    best = straight_line.optimum(parts, 0.02)
    np.testing.assert_allclose(models(run(chosen), 200)[-1], np.tile(best, (SERVERS, 1)), atol=1e-6)


def test_every_user_sends_one_report_over_its_own_line_and_all_are_counted():
    fields = {"latency": "50 ms", "bandwidth": "1 Mbit/s", "loss": 0.2}
    chosen = scenario(**{f"network.access.{name}": value for name, value in fields.items()})
    result = run(chosen)
    laws, reports, began = Laws(ALIGNED), [], math.inf
    for seq, t, event in result.events:
        laws(seq, t, event)
        if isinstance(event, ReportsGathered):
            reports.append((t, event))
        elif isinstance(event, RoundStarted):
            began = min(began, t)
    assert laws.finish() == []
    frame = 28 + 21 + 1 + 2 * 4 + 8 * (FEATURES + 1)
    assert sum(event.messages for _, event in reports) == 1500
    assert sum(event.wire_bytes for _, event in reports) == 1500 * frame
    assert [t for t, _ in reports] == [began] * SERVERS == pytest.approx([0.05 + frame * 8 / 1e6] * SERVERS)
    traffic = result.summary["communication"]
    rounds = 2 * result.summary["edges"] * ROUNDS
    assert traffic["messages"] == 1500 + rounds
    assert traffic["lost"] == sum(event.lost for _, event in reports) > 0
    assert traffic["messages"] == traffic["delivered"] + traffic["lost"]


def test_labels_are_charged_before_the_first_round_and_models_in_each():
    result = run(scenario(**{"algorithm.label_epsilon": 0.5}))
    spent = [event for _, _, event in result.events if isinstance(event, PrivacySpent)]
    assert [event.mechanism for event in spent[:SERVERS]] == ["reported-label"] * SERVERS
    assert {event.round for event in spent[:SERVERS]} == {0}
    assert all(event.mechanism == "reported-primal" for event in spent[SERVERS:])
    privacy = result.summary["privacy"]
    assert privacy["claimed_epsilon"] == pytest.approx(0.5)
    assert privacy["proven_epsilon"] == pytest.approx(2.0, rel=1e-6)


def test_the_loss_of_the_primal_noise_grows_geometrically_as_the_noise_decays():
    """ρ_T = (Δ²/2V²) Σ ρ^−(t−1), Δ = 2L(e^ε+1)/((e^ε−1) m (a/n + 2βV)), up to the solver's tolerance."""
    built = build(scenario(**{"algorithm.primal_scale": 0.7, "algorithm.label_epsilon": 1.5}))
    size, plan = built.sizes[0], built.calibration.plans[0]
    shift = 2 / math.tanh(0.75) / (size.rows * (0.02 + 0.2 * size.degree))
    total = sum(shift**2 / (2 * round.scale**2) for round in plan.rounds)
    printed = shift**2 / (2 * 0.7**2) * sum(0.8**-t for t in range(ROUNDS))
    assert total == pytest.approx(printed, rel=1e-9)
    assert dict(plan.rounds[0].charge.parameters)["lipschitz"] == pytest.approx(1 / math.tanh(0.75))


def test_a_server_without_a_single_report_is_refused():
    with pytest.raises(ScenarioError, match="not one of 300 reports reaches server 0"):
        build(scenario(**{"network.access.loss": 1.0}))
