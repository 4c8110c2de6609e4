import pytest

from simnet.errors import SimnetError
from simnet.network import frame
from simnet.sim.sim_events import Message


def message(number: int = 3, payload: bytes = b"seven") -> Message:
    return Message((), frame.Frame(frame.Kind.VALUE, 7, 1, 0, payload), None, 2, number)


@pytest.mark.parametrize("number", [1, 8, 207, 10**6])
def test_the_checksum_gives_a_damaged_frame_away_whichever_bit_is_flipped(number):
    message(number).refuse()


def test_a_damaged_frame_that_passes_its_checksum_stops_the_run(monkeypatch):
    monkeypatch.setattr(frame, "decode", lambda raw: raw)
    with pytest.raises(SimnetError, match="passed its checksum"):
        message().refuse()
