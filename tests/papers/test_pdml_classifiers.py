"""The classifiers that Figure 3(a) and Theorem 1 are about are what servers send, less the noise that they drew."""

from __future__ import annotations

import numpy as np

from analysis.papers.pdml_classifiers import averages, classifiers, farthest
from simnet import Scenario, run
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack
from simnet.streams import Streams


def scenario(name: str) -> Scenario:
    data = {"source": "synthetic", "rows": 200, "features": 3}
    content = {"rounds": 4, "data": data, "topology": {"kind": "ring", "agents": 3}, "algorithm": {"name": name}}
    return Scenario.of(content | {"privacy": {"calibration": "paper"}})


def test_a_classifier_is_a_release_less_its_noise_and_admms_is_the_release():
    for name, sigma in (("pdml", 1.0), ("admm", 0.0)):
        _, found = classifiers(scenario(name))
        sent = np.zeros_like(found)
        for _, _, event in run(scenario(name)).events:
            if isinstance(event, ReleaseMade):
                sent[event.round - 1, event.agent] = unpack(event.value)
        for server in range(3):
            rng = Streams(1).generator("noise", server)
            noise = [rng.normal(0, sigma * 0.8 ** (t / 2), 3) if sigma else np.zeros(3) for t in range(4)]
            np.testing.assert_allclose(sent[:, server] - found[:, server], noise, atol=sigma / 64)


def test_averages_are_over_all_rounds_so_far_and_the_distance_is_the_largest_of_all_pairs():
    models = np.arange(24.0).reshape(4, 3, 2) ** 1.5
    np.testing.assert_allclose(averages(models)[2], models[:3].mean(axis=0))
    pairs = [np.linalg.norm(models[0, i] - models[0, j]) for i in range(3) for j in range(3)]
    assert farthest(models[0]) == max(pairs)
    norms = np.linalg.norm(models[0], axis=1)
    assert farthest(models[0]) >= norms.max() - norms.min()
