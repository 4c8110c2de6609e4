"""One agent as the attacker: it uses what it saw and knew, all of that and nothing else."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from simnet.audit import audit, load_audit
from simnet.audit.insider import known_terms, view_score
from simnet.audit.pair import pair
from simnet.audit.trials import listen, run_trials
from simnet.errors import ScenarioError
from simnet.privacy.noise import gaussian
from simnet.privacy.observers import epsilon_of_shift
from simnet.streams import Streams
from tests.methods.straight_line import snapped
from tests.portions import some
from tests.worlds import audited_world

SHIPPED = Path(__file__).parents[2] / "scenarios" / "audit"
RELAYED = {"algorithm__averaging": "relayed", "algorithm__relay_sigma": 1e-3}
KINDS = {"plain": {"algorithm__averaging": "plain"}, "relayed": RELAYED, "push-sum": {}}
NETWORKS = {
    "ideal": {},
    "loss": {"network__link__loss": 0.3},
    "late": {"network__pacing": {"kind": "deadline", "period": 0.1}, "network__link__latency": 0.13},
    "crash": {
        "network__pacing": {"kind": "deadline", "period": 0.1},
        "network__link__latency": 0.03,
        "fault": [{"kind": "crash", "agent": 0, "at": 0.15, "duration": 0.2}],
    },
}


def ring(observer=0, **changes):
    """Six agents on a ring, victim 2; the regulariser keeps one row's influence at its largest."""
    plan = {"victim": 2, "observer": observer, "runs": 40}
    base = {"topology__agents": 6, "algorithm__regulariser": 10.0, "algorithm__pair_sigma": 2e-3, "rounds": 5}
    return audited_world("gossip", audit=plan, **base | changes)


def secret(worlds, one, other, seed):
    """What `one` adds and `other` takes off."""
    a, b = min(one, other), max(one, other)
    drawn = gaussian(Streams(seed).generator("noise", f"{a}-{b}"), worlds.worlds[0].scenario.algorithm.pair_sigma, 3)
    return drawn if one == a else -drawn


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_of_the_messages_is_the_noise_of_others(kind, network):
    """All terms of the run drawn again, plainly: what an observer does not know is what others drew, and no more."""
    observers, seed = {0, 5}, 9
    worlds = pair(*ring([0, 5], **KINDS[kind] | NETWORKS[network]))
    view = listen(worlds, 1, seed).view
    known = known_terms(view, seed)
    known[2] += worlds.clean_models[1][2]
    unknown = np.zeros_like(known)
    for agent in range(6):
        model = worlds.shadows(1, 0, seed)[agent].model
        start = snapped(model.problem.answer().theta + model.noise(), model.plan.rounds[0].scale)
        relays = [gaussian(model.rng, 1e-3, 3) for _ in range(5)] if kind == "relayed" else []
        if agent in observers:
            assert known[agent] == pytest.approx(start, abs=1e-15)
            continue
        shared = sum(secret(worlds, agent, peer, seed) for peer in observers & set(worlds.worlds[0].graph[agent]))
        unknown[agent] = start - worlds.clean_models[1][agent] - shared
        for t, relay in enumerate(relays, 1):
            unknown[6 * t + agent] = relay
    rows = np.array(view.rows, dtype=float)
    assert len(rows) > 4
    np.testing.assert_allclose(np.array(view.models) - rows @ known, rows @ unknown, atol=1e-14)


@pytest.mark.parametrize(("kind", "observer"), [("plain", 0), ("relayed", [0, 4]), ("push-sum", 1)])
def test_the_score_is_the_likelihood_ratio_of_two_gaussians(kind, observer):
    """By scipy's density, on as many messages as are independent beyond doubt."""
    worlds, seed = pair(*ring(observer, rounds=2, **KINDS[kind])), 4
    view = listen(worlds, 0, seed).view
    noise, group = view.observed.noise, worlds.plan.observer
    rows = np.array(view.rows, dtype=float)
    spread = np.diag([float(each) for each in noise.variances])
    for a, b in noise.pairs:
        if not {a, b} & set(group):
            step = np.eye(6)[a] - np.eye(6)[b]
            spread += float(noise.pair_variance) * np.outer(step, step)
    hidden = [agent for agent in range(6) if agent not in group]
    strange = [place for place in range(6, rows.shape[1]) if place not in view.own]
    C = rows[:, hidden] @ spread[np.ix_(hidden, hidden)] @ rows[:, hidden].T
    C += float(noise.relay_variance) * rows[:, strange] @ rows[:, strange].T
    logs = []
    for side in (0, 1):
        known = known_terms(view, seed)
        known[2] += worlds.clean_models[side][2]
        rest = np.array(view.models) - rows @ known
        density = stats.multivariate_normal(np.zeros(len(C)), C, allow_singular=True)
        logs.append(density.logpdf(rest.T).sum())
    assert view_score(view, seed) == pytest.approx(logs[0] - logs[1], rel=1e-5)


@pytest.mark.parametrize("kind", some(["relayed", "plain", "push-sum"], 3))
def test_the_best_test_of_one_agent_comes_close_to_its_epsilon_and_stays_below(kind):
    scenario, plan = ring(privacy={"epsilon": 4.0, "delta": 0.05}, network__link__loss=0.2, **KINDS[kind])
    found = audit(scenario, plan.model_copy(update={"runs": 200}))
    mu = found.trials.view.proven
    first, second = found.trials.first[:, 0], found.trials.second[:, 0]
    # Means ±μ²/2 and the variance μ², as two Gaussians have it; the rows move the model by 99.9 % of what they may.
    assert first.mean() - second.mean() == pytest.approx(mu**2, rel=0.25)
    assert np.var(np.concatenate([first - first.mean(), second - second.mean()])) == pytest.approx(mu**2, rel=0.2)
    assert found.verdict == "holds"
    assert 0.0 < found.bound.epsilon < found.promise.epsilon == epsilon_of_shift(mu, 0.05)
    assert found.summary()["observer"] == [0]


def test_an_observer_far_away_is_promised_to_learn_less_and_a_coalition_more():
    near, far, joined = (
        run_trials(*ring(observer, rounds=3, **RELAYED), 1).view.proven for observer in (1, 5, [1, 3, 5])
    )
    assert far < near < joined


def test_a_promise_by_a_sum_over_messages_is_broken_though_all_noise_is_honest():
    found = audit(*load_audit(SHIPPED / "summed-formula.toml"))
    assert found.verdict == "broken (ε)"
    assert found.conformance.broken_by == ()
    assert found.trials.view.claimed == pytest.approx(found.trials.view.proven / math.sqrt(19), rel=2e-3)
    assert found.promise.claimed < found.bound.epsilon < found.promise.proven
    honest = audit(*load_audit(SHIPPED / "summed-formula.toml", {"audit.lie": None}))
    assert honest.verdict == "holds"


def test_the_stored_audit_names_its_observer_and_can_be_done_again(tmp_path):
    scenario, plan = ring([0, 5])
    folder = audit(scenario, plan).store(tmp_path)
    assert json.loads((folder / "audit.json").read_text())["observer"] == [0, 5]
    stored, attack = load_audit(folder / "scenario.toml")
    assert (stored.resolved(), attack) == (scenario.resolved(), plan)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"audit__observer": 6}, "audit.observer = 6: there are 6 agents, counted from 0"),
        ({"audit__observer": [0, 2]}, "audit.observer = 2: that is the victim, which knows its own row"),
        ({"audit__observer": "agent"}, 'audit.observer = "agent": an agent\'s number, or a list of them'),
        ({"audit__links": [(2, 3)]}, "audit.links: an observer sees the messages to itself"),
        ({"network__codec": "float32"}, "audit.observer: .* choose network.codec = 'float64'"),
        (
            {"network__pacing": "free", "compute__per_gradient": 0.01},
            "audit.observer: .* where work takes time by its gradients",
        ),
        ({"privacy__calibration": "none"}, "audit.observer: without noise there is no ε"),
        ({"audit__observer": [], "audit__lie": "summed-formula"}, "audit.lie = 'summed-formula': .* audit.observer"),
    ],
)
def test_an_observer_that_makes_no_sense_is_a_sentence(changes, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        pair(*ring(**changes))


def test_a_method_whose_messages_are_not_linear_in_its_noise_has_no_observer():
    with pytest.raises(ScenarioError, match=r"audit\.observer: only gossip has an ε of its own against an agent"):
        pair(*audited_world("pp-admm", audit={"observer": 1}))
