"""Time on air, against tables computed independently of our code."""

from __future__ import annotations

import pytest

from simnet.network.airtime import duty_cycle_left_out, lora_seconds, ofdm_seconds

SYMBOLS = [
    # size, spreading factor, coding, explicit header, checksum, payload symbols counted by hand from the data sheet
    (34, 7, 1, True, True, 8 + 11 * 5),
    (1, 7, 1, True, True, 8 + 1 * 5),
    (10, 7, 1, True, True, 8 + 4 * 5),
    (51, 9, 1, True, True, 8 + 12 * 5),
    (20, 10, 4, True, False, 8 + 4 * 8),
    (51, 12, 1, True, True, 8 + 11 * 5),
    (20, 11, 1, False, False, 8 + 4 * 5),
    (255, 7, 1, True, True, 8 + 74 * 5),
]


@pytest.mark.parametrize(("size", "factor", "coding", "explicit", "checksum", "symbols"), SYMBOLS)
def test_a_lora_frame_lasts_as_semtechs_data_sheet_says(size, factor, coding, explicit, checksum, symbols):
    lasts = lora_seconds(size, factor, 125e3, coding, explicit=explicit, checksum=checksum)
    assert lasts == pytest.approx((12.25 + symbols) * 2**factor / 125e3, rel=1e-12)


def test_34_bytes_at_spreading_factor_7_last_77_ms():
    assert 1e3 * lora_seconds(34, 7) == pytest.approx(77.1, abs=0.05)


@pytest.mark.parametrize(
    ("size", "rate", "microseconds"), [(14, 6e6, 44), (14, 24e6, 28), (930, 6e6, 1264), (1536, 54e6, 248)]
)
def test_an_802_11a_frame_lasts_a_preamble_and_whole_symbols(size, rate, microseconds):
    assert 1e6 * ofdm_seconds(size, rate) == pytest.approx(microseconds, rel=1e-12)


def test_whoever_sends_for_a_hundredth_of_the_time_keeps_the_duty_cycle_and_whoever_sends_longer_does_not():
    assert duty_cycle_left_out(1.0, 100.0) == {}
    assert "1.1% of the time (1.1 s per round of 100 s)" in duty_cycle_left_out(1.1, 100.0)["duty cycle"]
    assert "however short a round is" in duty_cycle_left_out(1.0, None)["duty cycle"]
