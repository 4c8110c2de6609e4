"""simnet on an ideal network computes what a few plain numpy lines compute, given the same noise draws."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import agent_size, calibrate, deal_data, draw_graph
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack
from simnet.streams import Streams
from tests.methods import straight_line

ROUNDS, AGENTS = 12, 6


def scenario(name: str, **changes: object) -> Scenario:
    base = Scenario.of(
        {
            "seed": 7,
            "rounds": ROUNDS,
            "data": {"source": "synthetic", "rows": 3000, "features": 8, "partition": "uneven", "concentration": 20},
            "topology": {"kind": "random", "agents": AGENTS, "mean_degree": 3},
            "algorithm": {"name": name, "eta": 0.05, "tolerance": 1e-9, "regulariser": 1e-3},
            "privacy": {"epsilon": 2.0, "calibration": "paper"},
        }
    )
    return base.with_(**changes)


def released(result) -> np.ndarray:
    """Every round's models as the network saw them; a skip repeats the last one."""
    models = np.zeros((ROUNDS, AGENTS, 8))
    for _, _, event in result.events:
        if isinstance(event, ReleaseMade):
            models[event.round - 1 :, event.agent] = unpack(event.value)
    return models


class Setting:
    """The parts, neighbours and noise draws that both sides share."""

    def __init__(self, chosen: Scenario) -> None:
        graph: nx.Graph = draw_graph(chosen)
        learning = deal_data(chosen, AGENTS)
        self.parts = [(np.asarray(part.X), part.y) for part in learning.parts]
        self.neighbours = [sorted(graph[agent]) for agent in range(AGENTS)]
        sizes = [
            agent_size(chosen, part, part.rows, len(self.neighbours[agent]))
            for agent, part in enumerate(learning.parts)
        ]
        found = calibrate(chosen, sizes)
        self.regulariser, self.plans = found.regulariser, found.plans
        self.b1, self.b2 = np.zeros((2, ROUNDS, AGENTS, 8))
        self.bar, self.query = np.zeros((2, ROUNDS, AGENTS))
        printed = chosen.privacy.calibration == "paper"
        redrawn = printed and getattr(chosen.algorithm, "threshold_noise", None) != "once"
        for agent, plan in enumerate(self.plans):
            if plan is None:
                continue
            noise, svt = Streams(7).generator("noise", agent), Streams(7).generator("svt", agent)
            bar = svt.laplace(0, plan.test.threshold_scale) if plan.test else 0.0
            for t in range(ROUNDS):
                self.b1[t, agent] = noise.normal(0, plan.sigma1, 8)
                self.b2[t, agent] = noise.normal(0, plan.sigma2, 8)
                if plan.test:
                    bar = svt.laplace(0, plan.test.threshold_scale) if redrawn else bar
                    self.bar[t, agent] = bar
                    self.query[t, agent] = svt.laplace(0, plan.test.query_scale)


@pytest.mark.parametrize("name", ["admm", "pp-admm"])
@pytest.mark.parametrize("calibration", ["paper", "proven"])
def test_admm_and_pp_admm_release_what_the_plain_loop_releases(name, calibration):
    chosen = scenario(name, **{"privacy.calibration": calibration})
    setting = Setting(chosen)
    plain = straight_line.pp_admm(
        setting.parts, setting.neighbours, ROUNDS, 0.05, setting.regulariser, setting.b1, setting.b2
    )
    np.testing.assert_allclose(released(run(chosen)), plain, rtol=0, atol=1e-7)


@pytest.mark.parametrize("threshold_noise", ["once", None])
@pytest.mark.parametrize("sensitivity", ["per-row", "printed"])
@pytest.mark.parametrize("epsilon", [2.0, 400.0])
def test_ipp_admm_releases_and_skips_as_the_plain_loop_does(threshold_noise, sensitivity, epsilon):
    fields = {"max_releases": 4, "threshold": 0.02, "threshold_noise": threshold_noise, "sensitivity": sensitivity}
    chosen = scenario("ipp-admm", **{f"algorithm.{field}": value for field, value in fields.items()})
    chosen = chosen.with_(**{"privacy.epsilon": epsilon})
    setting = Setting(chosen)
    plain, sent = straight_line.ipp_admm(
        *(setting.parts, setting.neighbours, ROUNDS, 0.05, setting.regulariser, setting.b1, setting.b2),
        *(4, 2.0, 0.02, setting.bar, setting.query),
    )
    result = run(chosen)
    assert result.summary["communication"]["broadcasts"] == sent.sum()
    assert 0 < sent.sum() <= 4 * AGENTS
    np.testing.assert_allclose(released(result), plain, rtol=0, atol=1e-7)


@pytest.mark.parametrize("tested", ["noise-free", "shared-noise"])
def test_the_proven_ipp_admm_tests_one_model_and_releases_another_as_the_plain_loop_does(tested):
    fields = {"max_releases": 4, "threshold": 0.02, "test": tested}
    changes = {f"algorithm.{field}": value for field, value in fields.items()}
    chosen = scenario("ipp-admm", **changes, **{"privacy.epsilon": 20.0, "privacy.calibration": "proven"})
    setting = Setting(chosen)
    plain, sent = straight_line.ipp_admm(
        *(setting.parts, setting.neighbours, ROUNDS, 0.05, setting.regulariser, setting.b1, setting.b2),
        *(4, 2.0, 0.02, setting.bar, setting.query, tested),
    )
    result = run(chosen)
    assert result.summary["communication"]["broadcasts"] == sent.sum()
    assert 0 < sent.sum() <= 4 * AGENTS
    np.testing.assert_allclose(released(result), plain, rtol=0, atol=1e-7)
