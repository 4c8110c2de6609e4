import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network import frame
from simnet.sim.flight import Carried


@pytest.mark.parametrize("kind", frame.Kind)
@given(payload=st.binary(max_size=300), round=st.integers(0, 2**32 - 1))
def test_a_frame_has_as_many_bytes_as_it_is_counted_for_and_says_what_it_carries(kind, payload, round):
    cargo = Carried(kind, 7, round, payload)
    assert cargo.size == len(cargo.raw)
    opened = frame.decode(cargo.raw)
    assert (opened.kind, opened.sender, opened.round, opened.payload) == (kind, 7, round, payload)
