"""What the command `ping` prints, as a table of times and delays: Linux, BusyBox, macOS and Windows.

    [1700000000.25] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=12.3 ms

A ping was sent at its stamp (`ping -D`). Without stamps the sequence numbers say when: one ping per interval, which the
summary tells by the time of all pings, and which is a second otherwise, as `ping` has it. A ping without an answer has
no line, and one that is answered twice counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

HEADINGS = ("time_s", "rtt_ms")
"""What the columns hold: the scenario must say `unit = "ms"` and `round_trip = true`, as with any such table."""

_ANSWER = re.compile(r"\btime[=<]\s*(?P<delay>\d{1,12}(?:\.\d{1,9})?)\s*ms")
_STAMP = re.compile(r"^\[(\d{1,12}(?:\.\d{1,9})?)\]")
_NUMBER = re.compile(r"\b(?:icmp_)?seq=(\d{1,9})\b")
_SUMMARY = re.compile(r"^(?P<sent>\d{1,9}) packets transmitted,.*\btime (?P<took>\d{1,12})\s*ms")
_BEGINNING = 20
"""Lines after which a file without an answer is no output of ping."""
_WRAP = 1 << 16
"""Sequence numbers begin again there."""
_INTERVAL = 1.0


@dataclass(frozen=True)
class Pings:
    """The answers, in the order of their pings."""

    lines: list[int]
    times: list[float]
    """seconds"""
    delays: list[float]
    """milliseconds, there and back"""
    sent: int
    """how many pings there were"""

    def rows(self, columns: int) -> list[list[float]]:
        """Times and delays, or delays alone."""
        pairs = zip(self.times, self.delays, strict=True)
        return [[time, delay] if columns == 2 else [delay] for time, delay in pairs]


def pings(lines: Iterable[tuple[int, str]]) -> Pings | None:
    """The answers in numbered lines; None if they are no output of ping."""
    found: dict[int, tuple[int, float | None, float]] = {}
    interval, sent, last = _INTERVAL, 0, -1
    for place, (number, line) in enumerate(lines):
        if summary := _SUMMARY.match(line):
            sent = int(summary["sent"])
            interval = float(summary["took"]) / 1e3 / max(1, sent - 1) or _INTERVAL
        if answer := _ANSWER.search(line):
            said, stamp = _NUMBER.search(line), _STAMP.match(line)
            last = _unwrapped(int(said[1]), last) if said else last + 1
            found.setdefault(last, (number, None if stamp is None else float(stamp[1]), float(answer["delay"])))
        elif not found and place >= _BEGINNING:
            return None
    if not found:
        return None
    places = sorted(found)
    answers = [found[place] for place in places]
    stamps = [stamp for _, stamp, _ in answers if stamp is not None]
    times = stamps if len(stamps) == len(answers) else [interval * place for place in places]
    numbers, delays = [number for number, _, _ in answers], [delay for _, _, delay in answers]
    return Pings(numbers, times, delays, max(sent, places[-1] - places[0] + 1))


def _unwrapped(number: int, last: int) -> int:
    """A sequence number as if they never began again: the one nearest to the last."""
    if last < 0:
        return number
    return number + _WRAP * round((last - number) / _WRAP)
