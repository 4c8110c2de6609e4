"""What a published record can tell of a row beside what was released.

All releases and answers of tests are replaced by numbers that have nothing to do with the data; everything else happens
as always. If the records of two runs that differ in one row then differ in a single byte, that byte is not protected.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import simnet.build
from simnet import Scenario, run
from simnet.methods import METHODS
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.privacy.sparse_vector import SparseVector
from simnet.record.publication import publish
from tests.worlds import ROWS

KEPT = ("events.jsonl.zst", "scenario.toml", "rounds.csv", "agents.csv", "summary.json")
PRIVATE = [name for name in METHODS if name != "admm"]
NETWORKS = {
    "lossy": {"network.link": {"loss": 0.1, "latency": 0.01, "bandwidth": 1e5}},
    "patient": {"network.pacing": {"kind": "barrier", "patience": 0.05}, "compute.time": 0.02},
    "paced": {"network.pacing": {"kind": "deadline", "period": 1.0}, "compute.per_gradient": 1e-3},
    "on the air": {
        "network.channel": {"kind": "csma"},
        "cost.energy": {"send_watts": 1.0, "receive_watts": 0.5, "idle_watts": 0.1, "compute_watts": 1.0},
    },
    "in streams": {"network.transport": "reliable", "network.link": {"loss": 0.2, "latency": 0.01, "mtu": 80}},
    "routed": {"network.underlay": {"graph": {"kind": "ring", "agents": 3}}, "network.link": {}},
    "cut short": {"until": 0.35, "compute.time": 0.1},
    "priced": {"log.private": True, "cost.energy": {"per_byte": 1e-6, "idle_watts": 0.1, "compute_watts": 1.0}},
}


@pytest.fixture
def blind(monkeypatch):
    """Releases that nothing was looked at for, each another one, and every other test passed."""

    def release(value, scale):
        drawn = np.random.default_rng(len(value)).standard_normal(len(value))
        return np.round(drawn, 3)

    def answer(self, query):
        self.asked = getattr(self, "asked", 0) + 1
        passed = not self.exhausted and self.asked % 2 == 1
        self.positives += passed
        return passed

    monkeypatch.setattr("simnet.methods.pp_admm.gridded", release)
    monkeypatch.setattr("simnet.methods.ipp_admm.gridded", release)
    monkeypatch.setattr("simnet.privacy.objective_perturbation.gridded", release)
    monkeypatch.setattr(NoiseSchedule, "on_grid", lambda self, plan, value: release(value, 0.0))
    monkeypatch.setattr(SparseVector, "test", answer)
    monkeypatch.setattr(simnet.build, "fresh_key", lambda: bytes(32))
    monkeypatch.setattr(simnet.build, "noise_root", lambda key, parts: b"the same for both")


def published(scenario, label, folder, monkeypatch):
    """The files of a published record of a run where one row has this label."""
    deal = simnet.build.deal_data

    def dealt(*arguments):
        found = deal(*arguments)
        parts = list(found.parts)
        y = parts[1].y.copy()
        y[0] = label
        parts[1] = replace(parts[1], y=y)
        return replace(found, parts=parts)

    with monkeypatch.context() as patch:
        patch.setattr(simnet.build, "deal_data", dealt)
        given = publish(run(scenario, folder / "runs").folder, folder / "published")
    return {name: (given / name).read_bytes() for name in KEPT}


VARIANTS = [
    {"name": "ipp-admm", "test": "shared-noise"},
    {"name": "pp-admm", "duals": "healing"},
    {"name": "pp-admm", "duals": "edge"},
    {"name": "dp-admm", "hub": "untrusted"},
    {"name": "dp-acc-admm", "hub": "untrusted"},
    {"name": "gossip", "averaging": "plain"},
    {"name": "gossip", "averaging": "relayed", "relay_sigma": 0.1},
]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("method", PRIVATE)
def test_but_for_its_releases_a_record_is_the_same_whatever_the_row(method, network, blind, tmp_path, monkeypatch):
    base = {"name": "kept", "rounds": 5, "data": ROWS, "topology": {"kind": "ring", "agents": 3}}
    base["privacy"] = {"epsilon": 5.0, "noise": "fresh"}
    scenario = Scenario.of(base | {"algorithm": {"name": "pp-admm"}}).with_method(method).with_(**NETWORKS[network])
    one, other = (published(scenario, label, tmp_path / str(label), monkeypatch) for label in (1.0, -1.0))
    assert one == other


@pytest.mark.parametrize("algorithm", VARIANTS, ids=lambda algorithm: "-".join(map(str, algorithm.values())))
def test_so_it_is_in_every_variant_of_a_method_also_where_agents_crash(algorithm, blind, tmp_path, monkeypatch):
    star = algorithm["name"].startswith("dp-")
    state = "kept" if star or algorithm["name"] == "gossip" else "lost"
    scenario = Scenario.of(
        {
            "name": "kept",
            "rounds": 5,
            "data": ROWS,
            "topology": {"kind": "star" if star else "ring", "agents": 3},
            "algorithm": algorithm,
            "privacy": {"epsilon": 5.0, "noise": "fresh", "observers": ["agent"]},
            "network": {"pacing": {"kind": "barrier", "patience": 0.3}},
            "compute": {"time": 0.1},
            "fault": [{"kind": "crash", "agent": 1, "at": 0.15, "duration": 0.2, "state": state}],
        }
    )
    one, other = (published(scenario, label, tmp_path / str(label), monkeypatch) for label in (1.0, -1.0))
    assert one == other
