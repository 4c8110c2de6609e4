"""Duals on small quadratic problems, f_i(x) = ½|x − a_i|², whose joint minimiser is the mean of the a_i."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import SimnetError
from simnet.methods.duals import EdgeDuals, HealingDuals, NodeDuals, constant
from simnet.methods.peer import Known

ETA, FEATURES = 0.3, 3
RING = nx.cycle_graph(5)


STEADY = constant(ETA)


def node(step=STEADY):
    return lambda degree: NodeDuals(FEATURES, degree, step)


def healing(every=1, step=STEADY):
    return lambda degree: HealingDuals(FEATURES, degree, step, every)


def edge():
    return lambda degree: EdgeDuals(FEATURES, degree, ETA)


class Town:
    """Agents that solve, send and absorb at their own rounds; a message that is not dropped is heard at once."""

    def __init__(self, graph: nx.Graph, duals, seed: int = 0) -> None:
        self.graph = graph
        self.targets = np.random.default_rng(seed).normal(size=(len(graph), FEATURES))
        self.models = np.zeros((len(graph), FEATURES))
        self.duals = [duals(graph.degree[i]) for i in graph]
        self.rounds = [0] * len(graph)
        self.known = {(i, j): Known(j, 0, (np.zeros(FEATURES),)) for i in graph for j in graph[i]}
        self.read = dict.fromkeys(self.known, True)

    def send(self, i: int, drop=lambda i, j: False, *, skip: bool = False):
        """Agent i begins its next round; what its neighbours decode."""
        self.rounds[i] += 1
        if skip:
            return None
        linear = self.duals[i].linear(self.models[i], ETA)
        model = (self.targets[i] - linear) / (1 + 2 * ETA * self.graph.degree[i])
        neighbours = sorted(self.graph[i])
        letters = self.duals[i].letters(model, neighbours)
        known = [self.known[i, j] for j in neighbours]
        sent = (model,) if letters else (model, *self.duals[i].accompany(self.rounds[i], model, known))
        for j in neighbours:
            if not drop(i, j):
                parts = letters[j] if letters else sent
                before = None if self.read[j, i] else self.known[j, i]
                self.known[j, i], self.read[j, i] = Known(i, self.rounds[i], parts, before), False
        return sent

    def absorb(self, i: int, sent) -> None:
        """Agent i ends its round."""
        if sent is not None:
            self.models[i] = sent[0]
        known = [self.known[i, j] for j in sorted(self.graph[i])]
        self.read.update({(i, value.peer): True for value in known})
        self.duals[i].absorb(self.rounds[i], self.models[i].copy(), sent, known)

    def round(self, drop=lambda i, j: False, skips=frozenset()) -> None:
        """Everyone sends, then everyone absorbs."""
        sent = [self.send(i, drop, skip=i in skips) for i in self.graph]
        for i in self.graph:
            self.absorb(i, sent[i])

    @property
    def distance(self) -> float:
        return float(np.abs(self.models - self.targets.mean(axis=0)).max())

    @property
    def drift(self) -> float:
        return float(np.linalg.norm(sum(duals.dual for duals in self.duals)))


def test_on_a_perfect_network_all_three_make_the_same_models():
    towns = [Town(RING, duals) for duals in (node(), healing(), healing(every=4), edge())]
    for _ in range(40):
        for town in towns:
            town.round()
        for town in towns[1:]:
            np.testing.assert_allclose(town.models, towns[0].models, atol=1e-12)
    assert towns[0].distance < 1e-3


def test_healing_duals_are_the_papers_duals_when_agents_skip_and_nothing_is_lost():
    rng = np.random.default_rng(1)
    plain, mended = Town(RING, node()), Town(RING, healing())
    for _ in range(40):
        skips = set(np.flatnonzero(rng.random(5) < 0.4).tolist())
        plain.round(skips=skips)
        mended.round(skips=skips)
        np.testing.assert_allclose(mended.models, plain.models, atol=1e-11)


def test_a_dual_step_that_rests_every_other_round_heals_just_as_well():
    def rests(t: int) -> float:
        return 0.2 if t % 2 else 0.0

    plain, mended = Town(RING, node(rests)), Town(RING, healing(step=rests))
    for _ in range(30):
        plain.round()
        mended.round()
        np.testing.assert_allclose(mended.models, plain.models, atol=1e-12)


@given(st.lists(st.sets(st.sampled_from([(i, j) for i in RING for j in RING[i]])), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_whatever_was_lost_one_round_without_loss_makes_healing_duals_sum_to_zero(losses):
    town = Town(RING, healing())
    sums = np.zeros((5, FEATURES))
    for lost in [*losses, set()]:
        town.round(drop=lambda i, j, lost=lost: (i, j) in lost)
        sums += ETA * town.models
    assert town.drift < 1e-12
    for i, duals in enumerate(town.duals):
        expected = sum(sums[i] - sums[j] for j in RING[i]) / 2
        np.testing.assert_allclose(duals.dual, expected, atol=1e-12)


def test_the_papers_duals_never_recover_from_one_lost_message():
    town = Town(RING, node())
    town.round()
    town.round(drop=lambda i, j: (i, j) == (0, 1))
    drift = town.drift
    for _ in range(300):
        town.round()
    assert drift > 0.01
    assert town.drift == pytest.approx(drift)
    assert town.distance > 0.01


@pytest.mark.parametrize("every", [2, 5])
def test_sums_in_every_kth_message_repair_by_then(every):
    rng = np.random.default_rng(2)
    town = Town(RING, healing(every=every))
    for t in range(1, 4 * every + 1):
        town.round(drop=lambda i, j, t=t: rng.random() < 0.4 and t <= 3 * every)
        if t == 3 * every + 1:
            assert town.drift > 1e-6, "a model alone does not say what was missed"
    assert town.drift < 1e-12


@pytest.mark.parametrize("duals", [healing(), healing(every=3), edge()])
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_both_other_ways_converge_through_loss(duals, rate):
    rng = np.random.default_rng(5)
    town = Town(RING, duals)
    for _ in range(400):
        town.round(drop=lambda i, j: rng.random() < rate)
    assert town.distance < 1e-6


@pytest.mark.parametrize("duals", [healing(), edge()])
def test_both_survive_a_partition_and_an_agent_that_is_gone_for_a_while(duals):
    town = Town(RING, duals)
    for t in range(500):
        town.round(drop=lambda i, j, t=t: 50 <= t < 70 and (i < 2) != (j < 2), skips={3} if 100 <= t < 140 else set())
    assert town.distance < 1e-9


@pytest.mark.parametrize(("duals", "slowness"), [(healing(), 3), (healing(), 10), (healing(every=3), 3), (edge(), 10)])
def test_an_agent_of_another_speed_does_not_keep_the_others_from_the_optimum(duals, slowness):
    town = Town(RING, duals)
    for t in range(slowness * 400):
        for i in RING:
            if i != 2 or t % slowness == 0:
                town.absorb(i, town.send(i))
    assert town.rounds[2] * slowness == town.rounds[0]
    assert town.distance < 1e-6


def test_agents_that_wake_at_random_agree_under_healing_duals():
    rng = np.random.default_rng(8)
    town = Town(RING, healing())
    for _ in range(6000):
        i = int(rng.integers(5))
        sent = town.send(i, drop=lambda i, j: rng.random() < 0.2)
        town.absorb(i, sent)
    assert town.distance < 1e-6


@pytest.mark.parametrize("every", [1, 4])
def test_an_agent_without_its_state_is_told_its_sum_whatever_its_last_message_carried(every):
    town, twin = Town(RING, healing(every=every)), Town(RING, healing(every=every))
    for t in range(1, 42):
        for each in (town, twin):
            each.round(skips={0} if t == 41 else set())
        if t == 41:
            lost = town.duals[0]
            before = lost.dual
            lost.forget()
            assert not lost.dual.any()
            last = town.known[1, 0]
            town.models[0] = lost.recall(Known(0, last.round, town.duals[1].retell(last)))
            np.testing.assert_allclose(town.models[0], twin.models[0])
            lost.absorb(42, town.models[0], None, [town.known[0, j] for j in sorted(RING[0])])
            twin.duals[0].absorb(42, twin.models[0], None, [twin.known[0, j] for j in sorted(RING[0])])
            np.testing.assert_allclose(lost.dual, twin.duals[0].dual, atol=1e-9)
            assert np.linalg.norm(lost.dual - before) < 0.1 * np.linalg.norm(before)
    for _ in range(40):
        town.round()
    assert town.drift < 1e-9
    assert town.distance < 1e-3


def test_an_agent_without_its_state_whom_nobody_answers_begins_in_the_middle_of_its_neighbours():
    town = Town(RING, healing(every=3))
    for _ in range(40):
        town.round()
    town.duals[0].forget()
    town.models[0] = 0.0
    town.duals[0].absorb(41, town.models[0], None, [town.known[0, j] for j in sorted(RING[0])])
    assert np.linalg.norm(town.duals[0].dual) < 1.0, "not a whole history of steps towards 0"
    town.rounds[0] += 1
    for _ in range(150):
        town.round()
    assert town.drift < 1e-9
    assert town.distance < 1e-6


def test_silence_leaves_the_variables_of_a_link_as_they_are():
    duals = EdgeDuals(FEATURES, 1, ETA)
    heard = Known(1, 1, (np.ones(FEATURES),))
    duals.absorb(1, np.zeros(FEATURES), None, [heard])
    before = duals.linear(np.zeros(FEATURES), ETA)
    duals.absorb(2, np.zeros(FEATURES), None, [heard])
    np.testing.assert_array_equal(duals.linear(np.zeros(FEATURES), ETA), before)
    np.testing.assert_array_equal(before, -np.full(FEATURES, 0.5))


def test_edge_duals_report_the_dual_of_the_optimum():
    """At the optimum x the local problems hold −∇f_i(x) = 2λ_i, so λ_i = (a_i − x)/2, and the λ_i sum to zero."""
    town = Town(nx.star_graph(3), edge())
    for _ in range(400):
        town.round()
    optimum = town.targets.mean(axis=0)
    for duals, target in zip(town.duals, town.targets, strict=True):
        np.testing.assert_allclose(duals.dual, (target - optimum) / 2, atol=1e-9)
    assert town.drift < 1e-9


def test_edge_duals_refuse_a_penalty_that_changes():
    with pytest.raises(SimnetError, match="one η for all agents"):
        EdgeDuals(FEATURES, 1, ETA).linear(np.zeros(FEATURES), 2 * ETA)


def test_what_goes_with_a_model_stays_bounded_while_the_sum_grows():
    town = Town(RING, healing())
    sizes = []
    for _ in range(200):
        sent = [town.send(i) for i in RING]
        sizes.append(max(float(np.abs(parts[1]).max()) for parts in sent))
        for i in RING:
            town.absorb(i, sent[i])
    assert sizes[-1] == pytest.approx(sizes[100], rel=0.01)


def test_the_plain_duals_are_the_formula_of_the_papers():
    rng = np.random.default_rng(3)
    duals, dual = NodeDuals(FEATURES, 2, STEADY), np.zeros(FEATURES)
    for t in (1, 2, 3):
        mine, one, other = rng.normal(size=(3, FEATURES))
        duals.absorb(t, mine, (mine,), [Known(0, t, (one,)), Known(1, t, (other,))])
        dual = dual + ETA / 2 * ((mine - one) + (mine - other))
        np.testing.assert_allclose(duals.dual, dual, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            duals.linear(mine, ETA), 2 * dual - ETA * ((mine + one) + (mine + other)), rtol=1e-12, atol=1e-14
        )
