"""DP-ADMM and DP-AccADMM at the hub of a star, trusted or not."""

from __future__ import annotations

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.learning.feature_graph import fused
from simnet.record.events import BroadcastSkipped, PrivacySpent, ReleaseMade, ReportsGathered
from simnet.record.laws import Laws
from simnet.record.lines import unpack
from simnet.streams import Streams
from tests.methods import straight_line

ROUNDS, AGENTS, FEATURES = 15, 4, 5
LOSSES = {"logistic": straight_line.logistic, "smoothed-hinge": straight_line.smoothed_hinge}


def scenario(name: str = "dp-admm", **changes: object) -> Scenario:
    base = Scenario.of(
        {
            "seed": 5,
            "rounds": ROUNDS,
            "data": {
                "source": "synthetic",
                "rows": 1500,
                "features": FEATURES,
                "train": 1200,
                "partition": "uneven",
                "concentration": 10,
            },
            "topology": {"kind": "star", "agents": AGENTS},
            "algorithm": {"name": name, "sparsity": 0.01, "graph_penalty": 0.01},
            "privacy": {"epsilon": 2.0},
        }
    )
    return base.with_(**changes)


def hub_models(result) -> np.ndarray:
    return np.array([unpack(e.value) for _, _, e in result.events if isinstance(e, ReleaseMade) and e.agent == 0])


class Setting:
    """What both sides share: the rows, A with its constants, and the noise on the mean gradient of all rows."""

    def __init__(self, chosen: Scenario) -> None:
        built = build(chosen)
        self.parts = [(np.asarray(part.X), part.y) for part in built.learning.parts]
        spec = chosen.algorithm
        graph = fused(built.learning.public, spec.graph_penalty).toarray()
        self.A = np.vstack([graph, np.eye(FEATURES)])
        assert len(graph) > 0
        self.gamma = spec.eta * spec.penalty * np.linalg.norm(self.A.T @ self.A, 2) + 1
        if spec.hub == "trusted":
            self.parts = [(np.vstack([X for X, _ in self.parts]), np.concatenate([y for _, y in self.parts]))]
        self.noise = np.zeros((chosen.rounds, len(self.parts), FEATURES))
        self.sigma = np.zeros((chosen.rounds, len(self.parts)))
        for agent in range(len(self.parts)):
            rng = Streams(5).generator("noise", agent)
            for t, found in enumerate(built.calibration.plans[agent].rounds):
                self.noise[t, agent] = rng.normal(0, found.scale, FEATURES)
                self.sigma[t, agent] = found.scale

    def plain(self, chosen: Scenario) -> np.ndarray:
        spec = chosen.algorithm
        accelerated = spec.name == "dp-acc-admm"
        constants = (spec.eta, self.gamma, spec.penalty, spec.sparsity)
        return straight_line.dp_admm(
            self.parts, chosen.rounds, self.A, *constants, self.noise, self.sigma, accelerated, LOSSES[spec.loss]
        )


@pytest.mark.parametrize("name", ["dp-admm", "dp-acc-admm"])
@pytest.mark.parametrize("hub", ["trusted", "untrusted"])
@pytest.mark.parametrize("calibration", ["proven", "paper"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_hub_computes_what_the_plain_loop_computes(name, hub, calibration, loss):
    fields = {"hub": hub, "loss": loss}
    chosen = scenario(name, **{f"algorithm.{field}": value for field, value in fields.items()})
    chosen = chosen.with_(**{"privacy.calibration": calibration})
    np.testing.assert_allclose(hub_models(run(chosen)), Setting(chosen).plain(chosen), rtol=0, atol=1e-9)


@pytest.mark.parametrize("hub", ["trusted", "untrusted"])
def test_without_noise_the_hub_reaches_the_optimum_of_an_outside_solver(hub):
    fields = {"privacy.calibration": "none", "algorithm.hub": hub, "algorithm.penalty": 0.03, "algorithm.eta": 100.0}
    chosen = scenario(rounds=400, **fields)
    setting = Setting(chosen)
    best = straight_line.fused_lasso_optimum(setting.parts, setting.A, 0.01)
    np.testing.assert_allclose(hub_models(run(chosen))[-1], best, atol=1e-6)


def test_acceleration_is_ahead_at_first():
    """At the paper's ρ = 1. It is not proven to converge, and it does not: it ends up circling the optimum."""
    apart = []
    for name in ("dp-admm", "dp-acc-admm"):
        chosen = scenario(name, rounds=100, **{"privacy.calibration": "none"})
        setting = Setting(chosen)
        best = straight_line.fused_lasso_optimum(setting.parts, setting.A, 0.01)
        apart.append(np.abs(hub_models(run(chosen))[-1] - best).max())
    assert apart[1] < apart[0] / 4


@pytest.mark.parametrize("pacing", ["ideal", "barrier", "deadline"])
@pytest.mark.parametrize("hub", ["trusted", "untrusted"])
@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_every_pacing_keeps_the_laws(pacing, hub, loss):
    link = {"latency": "10 ms", "bandwidth": "1 Mbit/s", "loss": loss}
    chosen = scenario("dp-acc-admm", **{"algorithm.hub": hub, "network.pacing": pacing, "network.link": link})
    result, laws = run(chosen), Laws(ALIGNED)
    for seq, t, event in result.events:
        laws(seq, t, event)
    assert laws.finish() == []
    assert result.summary["accuracy"]["test_error"] < 0.3


def test_leaves_of_a_trusted_hub_upload_every_row_once_and_then_listen():
    result = run(scenario())
    reports = [event for _, _, event in result.events if isinstance(event, ReportsGathered)]
    own = result.agents["rows"][0]
    assert [event.agent for event in reports] == [1, 2, 3]
    assert sum(event.messages for event in reports) == 1200 - own
    skips = [event for _, _, event in result.events if isinstance(event, BroadcastSkipped)]
    assert {event.reason for event in skips} == {"listening"}
    assert len(skips) == 3 * ROUNDS
    assert result.summary["communication"]["broadcasts"] == ROUNDS
    assert "trust" in result.summary["privacy"]["basis"]


def test_an_untrusted_hub_costs_more_noise_and_fewer_bytes():
    trusted, untrusted = (run(scenario(**{"algorithm.hub": hub})) for hub in ("trusted", "untrusted"))
    traffic = [result.summary["communication"]["wire_bytes"] for result in (trusted, untrusted)]
    assert traffic[0] > 2 * traffic[1]
    noise = []
    for hub in ("trusted", "untrusted"):
        setting = Setting(scenario(rounds=200, **{"algorithm.hub": hub}))
        weights = np.array([len(y) for _, y in setting.parts]) / sum(len(y) for _, y in setting.parts)
        noise.append(np.einsum("tad,a->td", setting.noise, weights).std())
    assert noise[1] == pytest.approx(noise[0] * np.sqrt(AGENTS), rel=0.3)
    for result in (trusted, untrusted):
        assert result.summary["privacy"]["proven_epsilon"] == pytest.approx(2.0, rel=1e-6)


def test_rows_that_are_lost_on_their_way_to_a_trusted_hub_take_no_part():
    built = build(scenario(**{"network.link.loss": 0.5}))
    arrived = sum(found.delivered for found in built.reporting.reports if found is not None)
    assert built.sizes[0].rows == built.learning.rows[0] + arrived < 1200
    charge = dict(built.calibration.plans[0].rounds[0].charge.parameters)
    assert charge["rows"] == built.sizes[0].rows


def test_the_papers_noise_is_its_theorem_1_and_claims_about_its_target():
    chosen = scenario(**{"privacy.calibration": "paper", "privacy.delta": 1e-3})
    n, epsilon = 1200, 2.0
    alpha = np.log(1e3) / (0.5 * epsilon) + 1
    sigma = np.sqrt(alpha * ROUNDS / (2 * n**2 * epsilon * 0.5))
    assert build(chosen).calibration.plans[0].rounds[0].scale == pytest.approx(sigma)
    assert run(chosen).summary["privacy"]["claimed_epsilon"] == pytest.approx(2.0, rel=0.01)


def test_noise_that_the_scenario_names_costs_what_it_costs():
    result = run(scenario(**{"algorithm.sigma": 0.05}))
    spent = [e for _, _, e in result.events if isinstance(e, PrivacySpent) and e.agent == 0]
    assert {e.parameters["sigma"] for e in spent} == {0.05}
    assert result.summary["privacy"]["proven_epsilon"] < 2.0


def test_the_graph_comes_from_rows_that_are_neither_trained_nor_tested_on():
    built, bare = build(scenario()), build(scenario(**{"algorithm.graph": "none"}))
    held_out = {row.tobytes() for row in np.asarray(bare.learning.test.X)}
    public = {row.tobytes() for row in np.asarray(built.learning.public)}
    tested = {row.tobytes() for row in np.asarray(built.learning.test.X)}
    assert (len(public), len(tested)) == (60, 240)
    assert public | tested == held_out
    assert not public & {row.tobytes() for part in built.learning.parts for row in np.asarray(part.X)}
    assert bare.learning.public is None


def test_too_few_rows_for_graph_and_test_are_refused():
    with pytest.raises(ScenarioError, match=r"outside the training set \(1\) cannot be shared"):
        build(scenario(**{"data.train": 1499}))
