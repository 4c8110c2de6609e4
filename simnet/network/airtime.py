"""How long a frame lasts on the air: 802.11a's OFDM frames and LoRa's chirps, as their specifications say."""

from __future__ import annotations

from math import ceil

DUTY_CYCLE = 0.01
"""The share of the time for which a device may send in most of the European 868 MHz band (ETSI EN 300 220)."""
OFDM_PREAMBLE = 20e-6
"""Seconds: training symbols (16 µs) and the SIGNAL field (4 µs); IEEE 802.11-2016, table 17-21, 20 MHz channels."""
OFDM_SYMBOL = 4e-6
_SERVICE_AND_TAIL = 16 + 6


def ofdm_seconds(size: int, rate: float) -> float:
    """A frame of `size` bytes, MAC header and checksum included (IEEE 802.11-2016, equation 17-29).

    >>> ofdm_seconds(14, 6e6)  # an acknowledgement
    4.4e-05
    """
    bits_per_symbol = round(rate * OFDM_SYMBOL)
    return OFDM_PREAMBLE + OFDM_SYMBOL * ceil((_SERVICE_AND_TAIL + 8 * size) / bits_per_symbol)


def lora_seconds(
    size: int,
    factor: int,
    bandwidth: float = 125e3,
    coding: int = 1,
    *,
    preamble: int = 8,
    explicit: bool = True,
    checksum: bool = True,
) -> float:
    """A LoRa frame of `size` bytes at a spreading factor (Semtech, SX1276 data sheet, section 4.1.1.7; AN1200.13).

    `coding` is 1 for the rate 4/5 up to 4 for 4/8. The low data rate optimisation is on where a symbol lasts longer
    than 16 ms, as the data sheet asks.

    >>> round(lora_seconds(34, 7), 6)
    0.077056
    """
    symbol = (1 << factor) / bandwidth
    optimised = symbol > 16e-3
    bits = 8 * size - 4 * factor + 28 + 16 * checksum - 20 * (not explicit)
    symbols = 8 + max(ceil(bits / (4 * (factor - 2 * optimised))) * (coding + 4), 0)
    return (preamble + 4.25 + symbols) * symbol


def duty_cycle_left_out(per_round: float, tick: float | None) -> dict[str, str]:
    """What to say where nobody keeps a duty cycle and an agent sends for `per_round` seconds each `tick`."""
    if tick is None:
        return {"duty cycle": f"none is kept: an agent sends for {per_round:.3g} s per round, however short a round is"}
    if per_round <= DUTY_CYCLE * tick:
        return {}
    share = f"{per_round / tick:.1%} of the time ({per_round:.3g} s per round of {tick:g} s)"
    return {"duty cycle": f"none is kept: an agent sends for {share}, and most bands allow {DUTY_CYCLE:.0%}"}
