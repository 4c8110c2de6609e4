"""Flooding on networks that lose, repeat, delay and die: what every agent ends up with, and what it costs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.methods.flooding import BUNDLE, HEAD, MOST_AGENTS, STEPS, Flood, in_steps
from simnet.methods.peer import Known
from simnet.network.codec import CODECS
from simnet.network.encoders import Int8
from simnet.privacy.ready_plans import LIMIT

FEATURES = 5


class Net:
    """Agents that flood in lock-step; `lost(t, sender, receiver)` says what does not arrive."""

    def __init__(self, graph, lost=lambda t, sender, receiver: False, codec=None):
        self.graph, self.lost, self.codec = graph, lost, codec
        agents = len(graph)
        self.floods = [Flood(a, sorted(graph[a]), agents, FEATURES, LIMIT) for a in range(agents)]
        self.vectors = np.random.default_rng(7).normal(size=(agents, FEATURES))
        self.known = [{peer: Known(peer, 0, ()) for peer in graph[a]} for a in range(agents)]
        self.letters = self.told = 0

    def release(self, version=1, agents=None):
        for agent in range(len(self.graph)) if agents is None else agents:
            self.floods[agent].release(version, self.vectors[agent])

    def round(self, t, *, last=False, dead=()):
        sent = {}
        for agent, flood in enumerate(self.floods):
            if agent not in dead and flood.busy(t, last=last):
                for peer, parts in flood.letters(t, sorted(self.graph[agent])).items():
                    self.letters, self.told = self.letters + 1, self.told + len(parts) - 1
                    if not self.lost(t, agent, peer) and peer not in dead:
                        sent[agent, peer] = self.codec.decode(self.codec.encode(parts)) if self.codec else parts
        for (agent, peer), parts in sent.items():
            self.known[peer][agent] = Known(agent, t, parts)
        for agent, flood in enumerate(self.floods):
            if agent not in dead:
                flood.hear(list(self.known[agent].values()))


def ring(agents=5):
    return nx.cycle_graph(agents)


def test_on_a_ring_of_five_two_rounds_of_twenty_vectors_are_enough_and_soon_there_is_silence():
    net = Net(ring())
    net.release()
    for t in (1, 2):
        net.round(t, last=t == 2)
    assert (net.letters, net.told) == (20, 20)
    assert all(sorted(flood.newest) == [0, 1, 2, 3, 4] for flood in net.floods)
    for t in range(3, 9):
        net.round(t)
    assert net.told == 30, "at the far side of the ring both ends tell each other what both have, once"
    assert net.letters <= 50, "and all of it is acknowledged"
    assert not any(flood.busy(9, last=False) for flood in net.floods)


def test_all_agents_have_the_same_mean_to_the_last_bit():
    net = Net(ring(), codec=Int8(np.random.default_rng(1)))
    net.release()
    for t in (1, 2):
        net.round(t)
    means = [flood.mean for flood in net.floods]
    expected = np.mean([in_steps(vector) for vector in net.vectors], axis=0)
    assert all(np.allclose(mean, expected, rtol=1e-14, atol=0) for mean in means)
    assert np.abs(expected - net.vectors.mean(axis=0)).max() < np.abs(net.vectors).max() / (2 * STEPS)


@given(
    st.integers(2, 9),
    st.integers(0, 2**31),
    st.floats(0.0, 0.6),
    st.sampled_from(["float64", "float32", "float16", "int8"]),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_lost_in_time_everybody_knows_all(agents, seed, share, codec):
    rng = np.random.default_rng(seed)
    graph = nx.compose(nx.random_labeled_tree(agents, seed=seed), nx.gnp_random_graph(agents, 0.3, seed=seed))
    kind = CODECS[codec].model_validate({"kind": codec})
    net = Net(graph, lambda t, a, b: rng.random() < share, kind.made(lambda: np.random.default_rng(seed)))
    net.release()
    for t in range(1, 150):
        net.round(t)
    rounding = 2.0**-10 if codec == "float16" else 1e-6
    for flood in net.floods:
        assert sorted(flood.newest) == list(range(agents))
        for origin, (_, vector) in flood.newest.items():
            assert np.allclose(vector, in_steps(net.vectors[origin]), rtol=rounding, atol=1e-12)
    before = net.letters
    net.round(150)
    assert net.letters == before or share > 0.0, "acknowledgements end as well"


def test_an_agent_that_dies_takes_only_its_own_vector_out_of_the_mean():
    net = Net(nx.complete_graph(4))
    net.release(agents=[0, 1, 2])
    for t in range(1, 6):
        net.round(t, dead=[3])
    for flood in net.floods[:3]:
        assert np.allclose(flood.mean, np.mean([in_steps(v) for v in net.vectors[:3]], axis=0))


def test_an_agent_that_dies_later_still_counts_where_it_was_heard_and_is_told_on():
    net = Net(nx.path_graph(4))
    net.release()
    net.round(1)
    for t in range(2, 8):
        net.round(t, dead=[3])
    assert all(3 in flood.newest for flood in net.floods[:3])


def test_a_straggler_is_folded_in_when_it_comes():
    net = Net(ring())
    net.release(agents=[0, 1, 2, 3])
    for t in range(1, 5):
        net.round(t)
    assert np.allclose(net.floods[0].mean, np.mean([in_steps(v) for v in net.vectors[:4]], axis=0))
    net.release(agents=[4])
    for t in range(5, 9):
        net.round(t)
    assert np.allclose(net.floods[0].mean, np.mean([in_steps(v) for v in net.vectors], axis=0))


def test_where_the_newest_vector_is_missing_the_one_before_counts():
    net = Net(nx.path_graph(2), lost=lambda t, a, b: t >= 4)
    net.release(1)
    for t in (1, 2, 3):
        net.round(t)
    first = net.floods[0].newest[1]
    net.vectors = 2 * net.vectors
    net.release(2)
    for t in (4, 5, 6):
        net.round(t)
    assert net.floods[0].newest[1] is first
    assert net.floods[0].newest[0][0] == 2


def test_the_last_word_of_a_dead_agent_is_told_on_once_what_is_new_has_been_told():
    net = Net(nx.path_graph(4))
    net.release(1)
    net.round(1)
    net.release(2, agents=[0, 1, 2])
    for t in range(2, 12):
        net.round(t, dead=[3])
    for flood in net.floods[:3]:
        assert {origin: version for origin, (version, _) in flood.newest.items()} == {0: 2, 1: 2, 2: 2, 3: 1}


def test_copies_and_old_letters_change_nothing():
    net = Net(ring())
    net.release()
    net.round(1)
    letter = net.known[0][1]
    net.round(2)
    before = dict(net.floods[0].newest)
    net.floods[0].hear([Known(1, 9, letter.parts)])
    net.floods[0].hear([Known(1, 9, letter.parts)])
    assert net.floods[0].newest == before


def test_nobody_else_speaks_for_an_agent_to_itself():
    net = Net(ring())
    net.release()
    head = np.array([127.0, 9.0, 0.0, 9.0, 0.0, 0.0])
    own = net.floods[0].newest[0]
    net.floods[0].hear([Known(1, 1, (head, np.ones(FEATURES)))])
    assert net.floods[0].newest[0] is own


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (np.ones(FEATURES),),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0, 9.0]), np.ones(FEATURES)),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0]), np.ones(FEATURES)),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0, np.nan]), np.ones(FEATURES)),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0, 2.0]), np.ones(FEATURES + 1)),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0, 2.0]), np.full(FEATURES, np.inf)),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0, 2.0]), np.full(FEATURES, LIMIT)),
        (np.array([127.0, 1.0, 0.0, 1.0, 0.0, -2.0]), np.ones(FEATURES)),
        (np.array([127.0, 1.0, 0.0]), *[np.ones(FEATURES)] * (BUNDLE + 1)),
        (np.full(HEAD + 1, 127.0),),
    ],
    ids=str,
)
def test_what_is_no_letter_is_refused(parts):
    assert not Net(ring()).floods[0].accepts(parts)


@given(st.integers(0, 2**31), st.floats(1e-6, 1e6))
@settings(max_examples=50, deadline=None)
def test_the_codec_of_one_byte_tells_whole_steps_exactly_and_a_copy_of_a_copy_too(seed, size):
    rng = np.random.default_rng(seed)
    vector = in_steps(size * rng.normal(size=40))
    again = vector
    for _ in range(5):
        codec = Int8(rng)
        (again,) = codec.decode(codec.encode((again,)))
    assert np.allclose(again, vector, rtol=1e-14, atol=0)
    head = np.array([127.0, *rng.integers(0, 128, 30)])
    (told,) = Int8(rng).decode(Int8(rng).encode((head,)))
    assert np.array_equal(np.rint(told), head)


def test_a_head_has_room_for_as_many_agents_as_it_says():
    flood = Flood(MOST_AGENTS - 1, [0], MOST_AGENTS, FEATURES, LIMIT)
    for origin in range(BUNDLE):
        flood.newest[origin] = (1, np.ones(FEATURES))
    flood.release(1, np.ones(FEATURES))
    (letter,) = flood.letters(1, [0]).values()
    assert len(letter) == 1 + BUNDLE
    assert len(letter[0]) <= HEAD
    other = Flood(0, [MOST_AGENTS - 1], MOST_AGENTS, FEATURES, LIMIT)
    assert other.accepts(letter)
