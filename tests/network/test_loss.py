from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import ScenarioError
from simnet.network.loss import Trace
from simnet.streams import Streams
from tests.network.models import bernoulli, bursts, gilbert_elliott, no_loss, refusal, trace

chances = st.floats(0, 1)
trains = st.lists(st.integers(1, 5), min_size=1, max_size=300)


def fates(model, packets, seed=1):
    lost = model.sampler(Streams(seed), "0>1")
    return [lost is not None and lost(n) for n in packets]


def test_no_loss_needs_no_sampler():
    for model in (no_loss(), bernoulli(0.0), bursts(0.0, 3), trace("00")):
        assert model.sampler(Streams(1), "0>1") is None


@given(st.integers(0, 10**6), chances, chances, trains)
def test_raising_the_probability_only_adds_losses(seed, p, q, packets):
    low, high = sorted((p, q))
    fewer, more = (fates(bernoulli(x), packets, seed) for x in (low, high))
    assert all(b for a, b in zip(fewer, more, strict=True) if a)


@given(st.integers(0, 10**6), chances, trains)
def test_cutting_a_message_into_more_packets_only_adds_losses(seed, p, packets):
    fewer = fates(bernoulli(p), packets, seed)
    more = fates(bernoulli(p), [n + 1 for n in packets], seed)
    assert all(b for a, b in zip(fewer, more, strict=True) if a)


@given(st.integers(0, 10**6), st.floats(0.01, 1))
def test_the_kth_message_meets_the_kth_draw_of_its_link(seed, p):
    model = bernoulli(p)
    draws = Streams(seed).generator("loss", "0>1").random(300)
    assert fates(model, [1] * 300, seed) == (draws < p).tolist()


def test_a_message_of_n_packets_survives_n_times():
    assert np.mean(fates(bernoulli(0.1), [4] * 100_000)) == pytest.approx(1 - 0.9**4, rel=0.02)
    assert all(fates(bernoulli(1.0), [1, 3, 1]))


def runs(losses):
    """The lengths of the runs of losses."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], losses, [0]))))
    return edges[1::2] - edges[::2]


@pytest.mark.parametrize(("rate", "burst"), [(0.2, 4.0), (0.05, 2.0), (0.5, 1.5)])
def test_bursts_have_the_rate_and_the_mean_length_that_were_asked_for(rate, burst):
    model = bursts(rate, burst)
    losses = np.array(fates(model, [1] * 1_000_000, seed=2), dtype=np.int64)
    assert losses.mean() == pytest.approx(rate, rel=0.02)
    assert runs(losses).mean() == pytest.approx(burst, rel=0.02)


def pair_law(model, packets):
    """P(lost) of a message and P(both lost) of two in a row, by summing over all paths of the chain."""
    step = [[1 - model.p_good_to_bad, model.p_good_to_bad], [model.p_bad_to_good, 1 - model.p_bad_to_good]]
    loss = [model.loss_good, model.loss_bad]
    bad = model.p_good_to_bad / (model.p_good_to_bad + model.p_bad_to_good)
    one = both = 0.0
    for path in product((0, 1), repeat=2 * packets):
        weight = (1 - bad, bad)[path[0]]
        for before, after in pairwise(path):
            weight *= step[before][after]
        first, second = (1 - np.prod([1 - loss[s] for s in half]) for half in (path[:packets], path[packets:]))
        one += weight * first
        both += weight * first * second
    return one, both


@pytest.mark.parametrize("packets", [1, 2, 4])
def test_messages_of_several_packets_follow_the_chain_packet_by_packet(packets):
    model = gilbert_elliott(0.08, 0.3, loss_good=0.02, loss_bad=0.6)
    losses = np.array(fates(model, [packets] * 400_000))
    one, both = pair_law(model, packets)
    assert losses.mean() == pytest.approx(one, rel=0.02)
    assert (losses[1:] & losses[:-1]).mean() == pytest.approx(both, rel=0.03)


@given(st.integers(0, 10**6), st.floats(0.01, 0.9), st.floats(0.01, 0.9), st.floats(0.1, 1), st.floats(0.1, 1), trains)
def test_other_loss_probabilities_leave_the_states_of_the_chain_alone(seed, to_bad, to_good, p, q, packets):
    """With nothing lost when good, a greater loss when bad only adds losses."""
    low, high = sorted((p, q))
    fewer, more = (fates(gilbert_elliott(to_bad, to_good, 0.0, x), packets, seed) for x in (low, high))
    assert all(b for a, b in zip(fewer, more, strict=True) if a)


def test_a_chain_that_never_turns_good_loses_as_a_bad_one():
    model = gilbert_elliott(0.5, 0.0, loss_good=0.0, loss_bad=1.0)
    assert model.bad == 1
    assert all(fates(model, [1, 2, 1]))


def test_a_trace_is_followed_packet_by_packet_and_begins_again():
    model = trace("0 1\n0,0\n1\n")
    assert fates(model, [1] * 7) == [False, True, False, False, True, False, True]
    assert fates(model, [2, 2, 2, 1]) == [True, False, True, True]  # 01 00 10 1


@pytest.mark.parametrize(("text", "fault"), [("01x", "holds 'x'"), ("\n", "is empty"), ("", "is empty")])
def test_a_file_that_is_no_trace_is_refused(text, fault):
    with pytest.raises(ScenarioError, match=rf"loss\.file = .*trace\.txt: {fault}"):
        trace(text)


def test_a_missing_trace_is_a_sentence(tmp_path):
    with pytest.raises(ScenarioError, match=r"loss\.file = .*absent\.txt: cannot be read"):
        Trace(kind="trace", file="absent.txt").read(lambda name: tmp_path / name)


def test_only_losses_that_know_nothing_of_each_other_are_independent():
    assert no_loss().independent == 0
    assert bernoulli(0.3).independent == 0.3
    assert bursts(0.3, 2).independent is None
    assert gilbert_elliott(0.1, 0.3).independent is None


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (1.4, "loss = 1.4: a probability lies between 0 and 1"),
        ({"kind": "bernoulli", "p": 1.4}, "loss.p = 1.4: a probability lies between 0 and 1"),
        ({"kind": "gilbert-elliott", "p_good_to_bad": -0.1, "p_bad_to_good": 0.5}, "loss.p_good_to_bad = -0.1: a prob"),
        ({"kind": "gilbert-elliott", "p_good_to_bad": 0, "p_bad_to_good": 0}, "loss.p_good_to_bad = 0: above 0 if"),
        ({"kind": "bursts", "rate": 0.1, "length": 0.5}, "loss.length = 0.5: a number of at least 1"),
        ({"kind": "bursts", "rate": 0.8, "length": 2}, "loss.rate = 0.8: at most length/(length + 1)"),
    ],
)
def test_an_impossible_loss_is_refused_with_its_field(loss, sentence):
    assert refusal(loss=loss).startswith(f"network.link.{sentence}")
