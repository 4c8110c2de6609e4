"""What every run promises, whatever the scenario: determinism, common random numbers, the papers' counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.record.events import MessageLost, ReleaseMade, ValueUsed
from simnet.record.lines import unpack

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def small(name: str, **changes: object) -> Scenario:
    base = Scenario.of(
        {
            "seed": 5,
            "rounds": 10,
            "data": {"source": "synthetic", "rows": 2000, "features": 6},
            "topology": {"kind": "random", "agents": 6, "mean_degree": 3},
            "algorithm": {"name": name, "eta": 0.05},
            "privacy": {"epsilon": 4.0},
        }
    )
    return base.with_(**changes)


WAN = {
    "pacing": {"kind": "deadline", "period": 0.2},
    "link": {"latency": {"kind": "lognormal", "median": 0.04}, "bandwidth": 1e6, "queue": 8, "loss": 0.1},
}


def test_two_processes_with_different_hash_seeds_give_the_same_digest_and_summary(tmp_path):
    found = []
    for hash_seed in ("1", "4242"):
        command = [sys.executable, "-c", "from simnet.cli import main; main()"]
        command += ["run", str(SCENARIOS / "quickstart.toml"), "--json", "--out", str(tmp_path / hash_seed)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}
        )
        summary = json.loads(done.stdout)
        del summary["time"]["wall"]
        found.append(summary)
    assert found[0] == found[1]
    logs = [next((tmp_path / seed).glob("*/*/events.jsonl.zst")).read_bytes() for seed in ("1", "4242")]
    assert logs[0] == logs[1]


def test_another_seed_gives_another_digest():
    assert run(small("pp-admm")).digest != run(small("pp-admm", seed=6)).digest


def test_changing_the_loss_changes_no_noise_draw():
    def releases(p: float) -> tuple[dict[tuple[int, int], np.ndarray], int]:
        result = run(small("pp-admm", network=WAN, **{"network.link.loss": p}))
        values, first_loss = {}, 10
        for _, _, event in result.events:
            if isinstance(event, ReleaseMade):
                values[event.agent, event.round] = unpack(event.value)
            if isinstance(event, MessageLost):
                first_loss = min(first_loss, event.round)
        return values, first_loss

    none, _ = releases(0.0)
    some, first_loss = releases(0.3)
    assert 1 <= first_loss < 10
    # A value lost in round k is missing from round k's dual, so round k+1 is the first that can differ.
    early = [key for key in none if key[1] <= first_loss]
    assert early
    assert all(np.array_equal(none[key], some[key]) for key in early)
    assert any(not np.array_equal(none[key], some[key]) for key in none)


def test_raising_the_loss_only_adds_losses_on_every_link():
    def lost(p: float) -> set[tuple[int, int, int]]:
        result = run(small("pp-admm", network=WAN, **{"network.link.loss": p}))
        return {(e.agent, e.peer, e.round) for _, _, e in result.events if isinstance(e, MessageLost)}

    assert lost(0.1) < lost(0.4)


@pytest.mark.parametrize("name", ["admm", "pp-admm"])
def test_without_a_test_everyone_broadcasts_every_round(name):
    summary = run(small(name)).summary
    traffic = summary["communication"]
    assert traffic["broadcasts"] == 60
    assert traffic["skips"] == 0
    assert traffic["messages"] == 2 * summary["edges"] * 10
    assert summary["accuracy"]["dual_drift"] < 1e-12


def test_ipp_admm_broadcasts_or_skips_and_nobody_goes_above_its_cap():
    result = run(small("ipp-admm", **{"algorithm.max_releases": 3}))
    traffic = result.summary["communication"]
    assert traffic["broadcasts"] + traffic["skips"] == 60
    assert result.agents["releases"].max() <= 3
    assert result.summary["privacy"]["releases_max"] == result.agents["releases"].max()


def test_on_the_ideal_network_staleness_comes_only_from_skips():
    result = run(small("ipp-admm", **{"algorithm.max_releases": 4}))
    last_release: dict[int, int] = {}
    for _, _, event in result.events:
        if isinstance(event, ReleaseMade):
            last_release[event.agent] = event.round
        if isinstance(event, ValueUsed):
            assert event.staleness == event.round - last_release.get(event.peer, 0)
    assert result.summary["accuracy"]["dual_drift"] < 1e-12


def test_with_loss_the_numbers_say_so():
    summary = run(small("pp-admm", network=WAN)).summary
    assert summary["communication"]["lost"] > 0
    assert summary["staleness"]["fresh_share"] < 1
    assert summary["accuracy"]["dual_drift"] > 1e-6


def test_admm_on_adult_learns_what_the_reference_learns():
    """Ring of 5, 30 rounds, η = 0.01, λ̂/N = 1e-4, 35,000 rows: train loss 0.386 ± 0.003, test error 0.175 ± 0.005."""
    base = Scenario.load(SCENARIOS / "ideal.toml").with_method("admm").with_(**{"algorithm.regulariser": 1e-4})
    found = [run(base.with_(seed=seed)).summary["accuracy"] for seed in (1, 2, 3)]
    assert np.mean([accuracy["train_loss"] for accuracy in found]) == pytest.approx(0.386, abs=0.003)
    assert np.mean([accuracy["test_error"] for accuracy in found]) == pytest.approx(0.175, abs=0.005)


def test_float32_halves_the_payload_and_barely_moves_the_models():
    exact, short = run(small("admm")), run(small("admm", **{"network.codec": "float32"}))
    ratio = short.summary["communication"]["payload_bytes"] / exact.summary["communication"]["payload_bytes"]
    assert 0.5 <= ratio < 0.6
    assert short.summary["accuracy"]["train_loss"] == pytest.approx(exact.summary["accuracy"]["train_loss"], abs=1e-5)
    assert short.summary["accuracy"]["dual_drift"] < 1e-12


def test_barrier_without_notices_waits_in_vain_for_those_who_skip():
    link = {"latency": 0.01}
    settings = {"kind": "barrier", "patience": 0.5}
    silent = small("ipp-admm", network={"pacing": {**settings, "notices": False}, "link": link})
    announced = small("ipp-admm", network={"pacing": {**settings, "notices": True}, "link": link})
    mute, told = run(silent), run(announced)
    assert mute.summary["communication"]["notices"] == 0
    assert told.summary["communication"]["notices"] == told.agents["degree"].dot(told.agents["skips"])
    assert mute.summary["time"]["simulated"] > 5 * told.summary["time"]["simulated"]
    assert mute.summary["accuracy"]["dual_drift"] < 1e-12
