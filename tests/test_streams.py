import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simnet.streams import Streams


def test_a_stream_is_the_philox_generator_of_its_name():
    """Fixed for ever: another number here would change every published digest."""
    assert Streams(1).generator("noise", 3).integers(10**9, size=3).tolist() == [899792864, 948355225, 480971932]


@given(st.integers(0, 2**53), st.text(max_size=8), st.integers(0, 99))
def test_the_same_name_gives_the_same_draws(seed, role, name):
    one, two = (Streams(seed).generator(role, name).standard_normal(4) for _ in range(2))
    assert np.array_equal(one, two)


@given(st.integers(0, 1000), st.lists(st.tuples(st.sampled_from(["loss", "latency"]), st.integers(0, 99))))
def test_a_visit_finds_the_stream_at_its_start_whatever_was_visited_before(seed, visits):
    streams = Streams(seed)
    for role, name in visits:
        visitor, own = streams.visit(role, name), streams.generator(role, name)
        # A number of 32 bits leaves the other half of its 64 behind for the next.
        assert visitor.integers(9, dtype="u4") == own.integers(9, dtype="u4")
        assert visitor.standard_normal() == own.standard_normal()


@given(st.integers(0, 1000), st.lists(st.integers(0, 99)))
def test_visits_find_every_stream_of_a_role_at_its_start(seed, names):
    found = [rng.integers(2**62) for rng in Streams(seed).visits("loss", names)]
    assert found == [Streams(seed).generator("loss", name).integers(2**62) for name in names]


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_other_names_give_other_draws(a, b):
    draws = [
        Streams(seed).generator(role, name).integers(2**62)
        for seed, role, name in ((a, "noise", b), (a, "loss", b), (a, "noise", b + 1), (a + 1, "noise", b))
    ]
    assert len(set(draws)) == 4
