"""Every method under every pacing, codec, kind of duals and link: it works, or it is refused with a reason."""

from __future__ import annotations

import math

import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.errors import ScenarioError
from simnet.methods import METHODS
from simnet.network.model import PRESETS
from simnet.record.laws import Laws

PACINGS = ("ideal", "barrier", "deadline", "quorum", "free")
CODECS = ("float64", "float32", "float16", "int8", "top-k")
DUALS = ("node", "healing", "edge")
ROUNDS = 4
REFUSED = {
    ("r-admm", "edge"): "r-admm's rest in even ones",
    ("dp-admm", "healing"): "dp-admm has no such field",
    ("dp-admm", "edge"): "dp-admm has no such field",
    ("dp-acc-admm", "healing"): "dp-acc-admm has no such field",
    ("dp-acc-admm", "edge"): "dp-acc-admm has no such field",
    ("gossip", "healing"): "gossip has no such field",
    ("gossip", "edge"): "gossip has no such field",
    ("gossip", "top-k"): "averaging needs whole models",
}
CENTRAL = ("dp-admm", "dp-acc-admm")
FLOODING = ("one-shot", "prox-rounds", "noisy-nesterov")
WITHOUT_DUALS = (*CENTRAL, "gossip", *FLOODING)
REFUSED |= {(method, duals): f"{method} has no such field" for method in FLOODING for duals in ("healing", "edge")}
REFUSED |= {(method, "top-k"): "what is flooded is told on whole" for method in (*FLOODING, "scaled-pp-admm")}
REFUSED |= {(method, "shared"): "which is unicast" for method in (*FLOODING, "scaled-pp-admm")}


def scenario(method: str, duals: str, **network: object) -> Scenario:
    algorithm: dict[str, object] = {"name": method}
    if duals != "node" or method not in WITHOUT_DUALS:
        algorithm["duals"] = duals
    kind = "star" if method in CENTRAL else "ring"
    return Scenario.of(
        {
            "rounds": ROUNDS,
            "data": {"source": "synthetic", "rows": 300, "features": 4},
            "topology": {"kind": kind, "agents": 4},
            "algorithm": algorithm,
            "privacy": {"epsilon": 20.0},
            "network": {"link": {"latency": 0.02, "loss": 0.1}, **network},
        }
    )


@pytest.mark.parametrize("duals", DUALS)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_works_under_every_pacing_and_codec_or_says_why_not(method, duals):
    if (method, duals) in REFUSED:
        with pytest.raises(ScenarioError, match=REFUSED[method, duals]):
            scenario(method, duals)
        return
    for pacing in PACINGS:
        for codec in CODECS:
            if (method, codec) in REFUSED:
                with pytest.raises(ScenarioError, match=REFUSED[method, codec]):
                    scenario(method, duals, pacing=pacing, codec=codec)
            else:
                works(scenario(method, duals, pacing=pacing, codec=codec))


@pytest.mark.parametrize("method", METHODS)
def test_a_method_works_over_every_kind_of_link(method):
    for preset in PRESETS:
        works(scenario(method, "node", pacing="barrier", link={"preset": preset}))
    works(scenario(method, "node", pacing="barrier", transport="reliable"))
    if (method, "shared") in REFUSED:
        with pytest.raises(ScenarioError, match=REFUSED[method, "shared"]):
            scenario(method, "node", pacing="deadline", medium="shared")
    else:
        works(scenario(method, "node", pacing="deadline", medium="shared"))


def works(chosen: Scenario) -> None:
    """Every law holds, the models are finite, and nobody spends more than was asked for."""
    result, laws = run(chosen), Laws(ALIGNED)
    for seq, t, event in result.events:
        laws(seq, t, event)
    told = f"{chosen.algorithm} over {chosen.network}"
    assert laws.finish() == [], told
    assert math.isfinite(result.summary["accuracy"]["train_loss"]), told
    assert result.summary["rounds"] == ROUNDS, told
    spent = result.summary["privacy"]["proven_epsilon"]
    assert (spent is None) if chosen.algorithm.name == "admm" else spent <= 20.0 + 1e-9, told
