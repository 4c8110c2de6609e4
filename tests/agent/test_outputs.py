"""What counts as an agent's model: each output beside a plain computation from what the record says was released."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.agent.outputs import OUTPUTS, Learnt, average
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset
from simnet.live import run as live
from simnet.methods.peer import Told
from simnet.record import events
from simnet.record.lines import unpack
from tests.worlds import live_world, same_course, unlawful, world

ALL = ["last", {"kind": "tail", "releases": 3}, "neighbours", {"kind": "tail+neighbours", "releases": 3}]
PRIVATE = {"algorithm": {"name": "pp-admm", "eta": 0.05}, "privacy": {"epsilon": 20.0}}


def told(*pairs: tuple[int, float]) -> list[Told]:
    return [Told(round, np.array([value, 0.0])) for round, value in pairs]


LEARNT = Learnt(
    last=np.array([9.0, 9.0]),
    own=told((1, 1.0), (2, 3.0)),
    neighbours={4: told((2, 8.0)), 7: told((1, 0.0), (3, 2.0))},
    everybody={0: told((2, 6.0)), 4: told((2, 8.0)), 5: told((1, 1.0))},
)


@pytest.mark.parametrize(
    ("kind", "first"),
    [("last", 9.0), ("tail", 2.0), ("neighbours", (2 + 8 + 1) / 3), ("tail+neighbours", 11 / 3), ("flood", 5.0)],
)
def test_each_output_is_the_mean_over_agents_of_what_is_known_of_each(kind, first):
    assert OUTPUTS[kind].model_validate({"kind": kind}).model(LEARNT)[0] == pytest.approx(first)


@pytest.mark.parametrize("kind", list(OUTPUTS))
def test_who_has_learnt_nothing_yet_has_its_last_model(kind):
    nothing = Learnt(np.array([9.0, 9.0]), [], {}, {})
    assert OUTPUTS[kind].model_validate({"kind": kind}).model(nothing).tolist() == [9.0, 9.0]


def test_agents_without_releases_do_not_pull_the_mean_to_zero():
    assert average([[], told((1, 4.0)), []], np.zeros(2))[0] == 4.0


def error_of(model: np.ndarray, test: Dataset) -> float:
    """The share of errors, where a score of 0 is half of one."""
    return float(np.mean(0.5 - 0.5 * np.sign(test.X @ model) * test.y))


class PublicRecord:
    """Every output, computed from what was released and delivered: by somebody who sees the record and nothing else."""

    def __init__(self, result: Any, k: int) -> None:
        self.k = k
        built = build(result.scenario)
        self.test, self.near = built.learning.test, {a: sorted(built.graph[a]) for a in built.graph}
        agents = len(self.near)
        self.released: dict[tuple[int, int], np.ndarray] = {}
        self.own: list[list[int]] = [[] for _ in range(agents)]
        self.heard: list[dict[int, list[int]]] = [{} for _ in range(agents)]
        self.came: list[dict[int, int]] = [{} for _ in range(agents)]
        self.errors: dict[int, dict[str, list[float]]] = {}
        for _, _, event in result.events:
            self.see(event)

    def see(self, event: Any) -> None:
        if isinstance(event, events.ReleaseMade):
            self.released[event.agent, event.round] = unpack(event.value)
            self.own[event.agent].append(event.round)
        elif isinstance(event, events.MessageDelivered) and (event.peer, event.round) in self.released:
            came = self.came[event.agent]
            came[event.peer] = max(event.round, came.get(event.peer, 0))
        elif isinstance(event, events.ValueUsed) and event.peer in self.came[event.agent]:
            used = self.heard[event.agent].setdefault(event.peer, [])
            newest = self.came[event.agent][event.peer]
            used += [newest] if newest not in used else []
        elif isinstance(event, events.DualUpdated):
            found = self.errors.setdefault(event.round, {})
            for name, model in self.outputs(event.agent).items():
                found.setdefault(name, []).append(error_of(model, self.test))

    def outputs(self, agent: int) -> dict[str, np.ndarray]:
        zero = np.zeros(self.test.features)

        def mean(rounds: list[int], of: int, k: int) -> np.ndarray:
            return sum((self.released[of, t] for t in rounds[-k:]), zero) / len(rounds[-k:])

        def means(k: int, *, near: bool) -> np.ndarray:
            found = [mean(self.own[agent], agent, k)] if self.own[agent] else []
            found += [mean(rounds, of, k) for of, rounds in self.heard[agent].items()] if near else []
            return sum(found, zero) / max(1, len(found))

        return {
            "last": means(1, near=False),
            "tail": means(self.k, near=False),
            "neighbours": means(1, near=True),
            "tail_neighbours": means(self.k, near=True),
        }


@pytest.mark.parametrize(
    "changes",
    [
        PRIVATE,
        PRIVATE | {"network.link.loss": 0.3},
        PRIVATE
        | {"network": {"pacing": {"kind": "deadline", "period": 0.1}, "link": {"latency": "80 ms", "loss": 0.2}}},
        {"algorithm": {"name": "ipp-admm", "eta": 0.05, "max_releases": 4}, "privacy": {"epsilon": 20.0}},
        {"algorithm": {"name": "pvp", "eta": 0.05}, "privacy": {"epsilon": 20.0}},
        {"algorithm": {"name": "r-admm", "eta": 0.05}, "privacy": {"epsilon": 20.0}},
    ],
    ids=["pp-admm", "loss", "late", "skips", "pvp", "r-admm"],
)
def test_whoever_sees_the_record_computes_every_output_of_the_papers_methods(changes):
    result = run(world(output=ALL, **changes))
    assert unlawful(result) == []
    seen = PublicRecord(result, 3).errors
    for row in result.rounds.iter_rows(named=True):
        for name, errors in seen[row["round"]].items():
            assert row[f"test_error_{name}"] == pytest.approx(np.mean(errors), abs=1e-7), (row["round"], name)
        assert row["test_error"] == row["test_error_last"]


def test_outputs_change_no_message_no_charge_and_no_headline():
    plain, chosen = run(world(**PRIVATE)), run(world(output=ALL, **PRIVATE))
    assert chosen.summary["privacy"] == plain.summary["privacy"]
    assert chosen.summary["communication"] == plain.summary["communication"]
    assert chosen.summary["accuracy"] == plain.summary["accuracy"]
    first, second = ([e for _, _, e in each.events if isinstance(e, events.ReleaseMade)] for each in (plain, chosen))
    assert first == second


def test_a_headline_is_what_errors_losses_consensus_and_metrics_are_about():
    tail = {"kind": "tail", "releases": 3}
    beside = run(world(output=["last", tail], metric=["worst-error"], **PRIVATE))
    counted = run(world(output=["last", tail | {"headline": True}], metric=["worst-error"], **PRIVATE))
    for row, told in zip(*(each.rounds.iter_rows(named=True) for each in (beside, counted)), strict=True):
        assert told["test_error"] == row["test_error_tail"]
        assert told["worst_error"] == row["worst_error_tail"]
        assert told["test_error_last"] == row["test_error"]
        assert told["worst_error_last"] == row["worst_error"]
        assert "test_error_tail" not in told
    assert counted.rounds["consensus"][-1] < beside.rounds["consensus"][-1]
    assert (counted.summary["output"], "output" in beside.summary) == ("tail", False)


def test_the_leaves_of_a_star_have_the_hubs_models_and_the_hub_takes_no_gradient_for_one():
    star = {"topology": {"kind": "star", "agents": 4}, "algorithm": {"name": "dp-admm", "eta": 1.0, "hub": "untrusted"}}
    result = run(world(output=ALL, privacy={"epsilon": 20.0}, **star))
    hubs = [unpack(e.value) for _, _, e in result.events if isinstance(e, events.ReleaseMade) and e.agent == 0]
    test = build(result.scenario).learning.test
    for row in result.rounds.iter_rows(named=True):
        t = row["round"]
        assert row["test_error_neighbours"] == row["test_error"] == pytest.approx(error_of(hubs[t - 1], test), abs=1e-7)
        tail = error_of(np.mean(hubs[max(0, t - 3) : t], axis=0), test)
        assert row["test_error_tail"] == row["test_error_tail_neighbours"] == pytest.approx(tail, abs=1e-7)


@pytest.mark.parametrize("averaging", ["plain", "push-sum"])
def test_messages_that_are_sums_are_not_taken_for_models(averaging):
    """The mean of models that are about to agree is about what they agree on."""
    gossip = {"name": "gossip", "averaging": averaging, "regulariser": 0.1}
    result = run(world(output=ALL, algorithm=gossip, privacy={"epsilon": 5.0}, metric=[], rounds=30))
    last = result.rounds.row(-1, named=True)
    assert last["test_error_neighbours"] == pytest.approx(last["test_error"], abs=0.02)
    assert last["test_error_tail_neighbours"] == pytest.approx(last["test_error"], abs=0.02)


def test_a_run_in_which_an_agent_loses_its_state_goes_on_with_outputs():
    crash = {"kind": "crash", "agent": 2, "at": 0.13, "duration": 0.1, "state": "lost"}
    pace = {"pacing": {"kind": "deadline", "period": 0.05}}
    assert unlawful(run(world(output=ALL, fault=[crash], network=pace, **PRIVATE))) == []


def test_outputs_are_live_what_they_are_simulated():
    scenario = live_world(output=ALL)
    simulated, found = run(scenario), live.run(scenario, tls=False)
    same_course(found, simulated)
    names = [f"test_error_{name}" for name in ("last", "tail", "neighbours", "tail_neighbours")]
    assert found.rounds.select(names).equals(simulated.rounds.select(names))


FLOODER = '''
from simnet.extend import Method, Peer, Proposal, Told

class Flooder(Method):
    """Agents pass on what they have heard, one model per round and origin: a vector of all models."""
    floods = True

    def message_lengths(self, features):
        return (features,) + (features + 2,) * 5

    def peer(self, plan, objective, place, streams):
        return FlooderPeer(objective, place.agent)

class FlooderPeer(Peer):
    def __init__(self, objective, agent):
        super().__init__(objective.start)
        self.agent, self.objective, self.learnt = agent, objective, {}
        self.limits = (1e9,) * 6

    def propose(self, t):
        import numpy as np
        model = self.theta - 0.5 * self.objective.gradient(self.theta)
        others = tuple(np.append(told.model, [origin, told.round]) for origin, told in sorted(self.learnt.items()))
        return Proposal((model, *others))

    def absorb(self, t, sent, known):
        if sent is not None:
            self.theta = sent[0]
            self.learn(self.agent, t, sent[0])
        for value in known:
            if value.round:
                self.learn(value.peer, value.round, value.parts[0])
                for each in value.parts[1:]:
                    self.learn(int(each[-2]), int(each[-1]), each[:-2])

    def learn(self, origin, round, model):
        if origin not in self.learnt or self.learnt[origin].round < round:
            self.learnt[origin] = Told(round, model)

    def known_models(self):
        return self.learnt
'''


def flooding(tmp_path, **changes: Any) -> Scenario:
    (tmp_path / "flooder.py").write_text(FLOODER, encoding="utf-8")
    content = world(**changes).content() | {"topology": {"kind": "ring", "agents": 5}, "rounds": 6}
    content |= {"algorithm": {"name": "flooder.py:Flooder"}, "output": ["flood", "neighbours"], "metric": []}
    return Scenario.of(content, folder=tmp_path)


def test_a_flooded_model_is_the_mean_of_what_has_come_so_far_of_everybody(tmp_path):
    result = run(flooding(tmp_path))
    released = {(e.agent, e.round): unpack(e.value) for _, _, e in result.events if isinstance(e, events.ReleaseMade)}
    test = build(result.scenario).learning.test
    for row in result.rounds.iter_rows(named=True):
        t, errors = row["round"], []
        for agent in range(5):
            # On a ring of five, news of round t is here at once from a neighbour, and a round later from the others.
            far = [released[(agent + step) % 5, t - 1] for step in (2, 3)] if t > 1 else []
            mean = np.mean([*(released[(agent + step) % 5, t] for step in (-1, 0, 1)), *far], axis=0)
            errors.append(error_of(mean, test))
        assert row["test_error_flood"] == pytest.approx(np.mean(errors), abs=1e-7)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"output": ["flood"]}, "flood cannot be had: admm learns of neighbours alone"),
        (
            {"output": ["neighbours"], "algorithm.duals": "edge"},
            "neighbours cannot be had: a message of edge duals",
        ),
        ({"output": ["tail", {"kind": "tail", "releases": 3}]}, "two are called tail"),
        ({"output": [{"kind": k, "headline": True} for k in ("tail", "last")]}, "two have headline = true"),
        ({"output": [{"kind": "tail", "releases": 0}]}, "releases"),
        ({"output": ["best"]}, "one of last, tail, neighbours, tail+neighbours, flood"),
    ],
)
def test_an_output_that_cannot_be_is_refused_in_one_sentence(changes, sentence):
    with pytest.raises(ScenarioError) as error:
        world(**changes)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_one_kind_may_be_there_twice_under_two_names():
    short, long = ({"kind": "tail", "releases": k, "name": f"tail of {k}"} for k in (2, 8))
    assert {"test_error_tail_of_2", "test_error_tail_of_8"} <= {*run(world(output=[short, long])).rounds.columns}


OWN = '''
from simnet.extend import Output

class Newest(Output):
    """The newest model of all that were heard."""
    def model(self, learnt):
        heard = [each for releases in (learnt.own, *learnt.neighbours.values()) for each in releases]
        return max(heard, key=lambda each: each.round).model

class Short(Output):
    """Half a model."""
    def model(self, learnt):
        return learnt.last[1:]

class Vandal(Output):
    """What it is shown is everybody's."""
    def model(self, learnt):
        learnt.own[0].model[:] = 0.0
        return learnt.last
'''


def own(tmp_path, name: str) -> Scenario:
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    return Scenario.of(world(**PRIVATE).content() | {"output": [f"mine.py:{name}"]}, folder=tmp_path)


def test_an_output_of_ones_own_is_a_class_with_one_method(tmp_path):
    assert "test_error_Newest" in run(own(tmp_path, "Newest")).rounds.columns


def test_an_output_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"output: mine.py:Short gives float64 of shape \(2,\), and a model is 3"):
        run(own(tmp_path, "Short"))


def test_an_output_cannot_change_what_others_see(tmp_path):
    with pytest.raises(ValueError, match="read-only"):
        run(own(tmp_path, "Vandal"))


def test_a_run_without_outputs_says_nothing_of_them():
    plain = world()
    assert "output" not in plain.resolved()
    assert "output" in world(output=["last"]).resolved()
