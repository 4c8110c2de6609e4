"""Write the files of scenarios/networks/commuters.toml: no measurement, but a rule that has the shape of one.

    python -m analysis.make_commuters

Eight phones ride on two trains. Every 20 seconds their day begins again.

cell.txt      a Mahimahi trace. A train passes a mast every 4 s: the rate is 100 kbit/s between two masts and 1 Mbit/s
              at one, as a squared sine. From 12 s to 13.5 s of its 16 s it is in a tunnel, where the rate is 0.
phones.csv    phone i is switched off for 3 s from 2 i + 1 s on.
contacts.csv  phones of the same train (0 to 3, 4 to 7) always meet; those of different trains only where the trains
              stand in the same station, from 4 s to 7 s and from 14 s to 17 s.
"""

from __future__ import annotations

from math import pi, sin
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "scenarios" / "networks" / "commuters"
DAY, RIDE, TUNNEL = 20, 16_000, range(12_000, 13_500)


def cell() -> str:
    """The milliseconds at which 1500 bytes have come together."""
    found, bits = [], 0.0
    for millisecond in range(1, RIDE + 1):
        if millisecond not in TUNNEL:
            bits += 100 + 900 * sin(pi * millisecond / 4000) ** 2
        if bits >= 12_000:
            bits -= 12_000
            found.append(millisecond)
    return "".join(f"{each}\n" for each in [*found, RIDE])


def phones() -> str:
    """When each phone is on."""
    lines = ["agent,from_s,to_s"]
    for phone in range(8):
        off = 2 * phone + 1
        lines += [f"{phone},0,{off}", f"{phone},{off + 3},{DAY}"]
    return "".join(f"{line}\n" for line in lines)


def contacts() -> str:
    """When phones of different trains meet."""
    lines = ["agent,agent,from_s,to_s"]
    for a in range(4):
        for b in range(4, 8):
            lines += [f"{a},{b},4,7", f"{a},{b},14,17"]
    return "".join(f"{line}\n" for line in lines)


FILES = {"cell.txt": cell, "phones.csv": phones, "contacts.csv": contacts}

if __name__ == "__main__":
    for name, text in FILES.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
