"""Outputs of the methods on scaled columns, beside a plain computation from what the record says was released.

On a ring of five where nothing is lost a neighbour's news is there in the round it was told in, everybody's one later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.methods.flooding import in_steps
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.lines import unpack
from simnet.simulate import peers_of, play
from tests.agent.test_outputs import error_of

OPENING = 2
K = 2
OUTPUTS = [{"kind": "tail", "releases": K}, "neighbours", {"kind": "tail+neighbours", "releases": K}]
FLOODS = [*OUTPUTS, "flood", {"kind": "flood", "releases": K, "name": "flood of two"}]
WORLD = {
    "rounds": 8,
    "metric": [],
    "data": {"source": "synthetic", "rows": 3000, "features": 5},
    "topology": {"kind": "ring", "agents": 5},
    "privacy": {"epsilon": 4.0, "delta": 1e-4},
}
Models = list[np.ndarray]


def world(name: str, **changes: Any) -> Scenario:
    task = {} if name == "scaled-pp-admm" else {"task": "capped-logistic"}
    outputs = FLOODS if name in ("one-shot", "prox-rounds") else OUTPUTS
    return Scenario.of(WORLD | task | {"algorithm": {"name": name}, "output": outputs}).with_(**changes)


class Record:
    """What somebody learns who sees all releases and knows how loud the moments' noise is."""

    def __init__(self, scenario: Scenario) -> None:
        self.rows = run(scenario)
        built = build(scenario)
        self.test = built.learning.test
        self.released = {
            (e.agent, e.round): unpack(e.value) for _, _, e in self.rows.events if isinstance(e, events.ReleaseMade)
        }
        told = [in_steps(np.sign(v) * np.sqrt(np.abs(v))) for v in (self.released[a, 1] for a in range(5))]
        least = 0.3 * peers_of(built)[0].plan.sigma / 5**0.5
        self.S = np.maximum(np.mean([r * np.abs(r) for r in told], axis=0), least) ** -0.5

    def error(self, t: int, name: str) -> float:
        return float(self.rows.rounds[f"test_error_{name}"][t - 1])

    def mean_error(self, models: Models) -> float:
        return float(np.mean([error_of(self.S * model, self.test) for model in models]))


def mean(rows: Models) -> np.ndarray:
    return np.mean(rows, axis=0)


@pytest.mark.parametrize(("name", "solved"), [("one-shot", [3]), ("prox-rounds", [3, 6])])
def test_whoever_sees_the_record_computes_every_output_of_a_flood(name, solved):
    record = Record(world(name))

    def known(origin: int, until: int) -> Models:
        return [in_steps(record.released[origin, t]) for t in solved if t <= until]

    for t in range(OPENING + 1, 9):
        near = [[known((a + s) % 5, t) for s in (-1, 0, 1)] for a in range(5)]
        far = [[known((a + s) % 5, t - 1) for s in (2, 3)] for a in range(5)]
        everybody = [[each for each in one + two if each] for one, two in zip(near, far, strict=True)]
        expected = {
            "last": [mean([each[-1] for each in agent]) for agent in everybody],
            "flood": [mean([each[-1] for each in agent]) for agent in everybody],
            "flood_of_two": [mean([mean(each[-K:]) for each in agent]) for agent in everybody],
            "tail": [mean(known(a, t)[-K:]) for a in range(5)],
            "neighbours": [mean([each[-1] for each in agent]) for agent in near],
            "tail_neighbours": [mean([mean(each[-K:]) for each in agent]) for agent in near],
        }
        for output, models in expected.items():
            found = record.rows.rounds["test_error"][t - 1] if output == "last" else record.error(t, output)
            assert found == pytest.approx(record.mean_error(models), abs=1e-7), (t, output)


@pytest.mark.parametrize("name", ["noisy-nesterov", "scaled-pp-admm"])
def test_whoever_sees_the_record_computes_every_output_of_a_method_of_neighbours(name):
    record = Record(world(name))

    def own(agent: int, t: int) -> np.ndarray:
        if name == "scaled-pp-admm":
            return record.released[agent, t]
        return mean([record.released[(agent + s) % 5, t] for s in (-1, 0, 1)])  # Metropolis: a third each

    for t in range(OPENING + 1, 9):
        window = range(max(OPENING + 1, t - K + 1), t + 1)
        tails = [mean([own(a, s) for s in window]) for a in range(5)]
        heard = [mean([record.released[a, s] for s in window]) for a in range(5)]
        expected = {
            "tail": tails,
            "neighbours": [mean([own(a, t), *(record.released[(a + s) % 5, t] for s in (-1, 1))]) for a in range(5)],
            "tail_neighbours": [mean([tails[a], heard[a - 1], heard[(a + 1) % 5]]) for a in range(5)],
        }
        for output, models in expected.items():
            assert record.error(t, output) == pytest.approx(record.mean_error(models), abs=1e-7), (t, output)


@pytest.mark.parametrize(
    "changes",
    [
        {"network.link.loss": 0.4},
        {
            "network.pacing": {"kind": "deadline", "period": 0.1},
            "network.link": {"latency": "70 ms", "loss": 0.2},
            "rounds": 16,
        },
        {"network.pacing": {"kind": "deadline", "period": 0.1}, "fault": [{"kind": "crash", "agent": 4, "at": 0.35}]},
    ],
    ids=["loss", "late", "dead"],
)
@pytest.mark.parametrize("name", ["one-shot", "prox-rounds"])
def test_where_messages_or_agents_are_lost_a_flood_is_the_mean_of_what_has_come(name, changes):
    scenario = world(name, **changes)
    built, last = build(scenario), run(scenario).rounds.row(-1, named=True)
    peers = peers_of(built)
    play(built, Bus(), peers)
    errors = []
    for peer in peers:
        known = [told.model for told in peer.known_models().values()]
        errors.append(error_of(mean(known) if known else peer.theta, built.learning.test))
    assert last["test_error_flood"] == pytest.approx(np.mean(errors), abs=1e-7)
    assert last["test_error_flood"] == last["test_error"]


@pytest.mark.parametrize("name", ["noisy-nesterov", "scaled-pp-admm"])
def test_a_method_whose_models_go_to_neighbours_has_no_flood(name):
    with pytest.raises(ScenarioError, match=f"flood cannot be had: {name} learns of neighbours alone"):
        world(name, output=["flood"])


@pytest.mark.parametrize("name", ["one-shot", "prox-rounds", "noisy-nesterov", "scaled-pp-admm"])
def test_outputs_change_nothing_that_is_sent_or_paid(name):
    loss = {"network.link.loss": 0.2}
    plain, chosen = run(world(name, output=[], **loss)), run(world(name, **loss))
    for part in ("privacy", "communication", "accuracy"):
        assert chosen.summary[part] == plain.summary[part]
