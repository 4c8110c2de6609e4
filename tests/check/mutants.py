"""The starter method with one mistake each, and how it is checked."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from simnet.check.kit import CHECKS, asked, looked_at
from simnet.check.outcome import Outcome, Status
from simnet.check.subject import subject

STARTER = (files("simnet.check") / "starter_method.txt").read_text()
PROCESSES = ("new process", "worker")
"""Checks that start other processes, and take the most time."""


def mutant(folder: Path, *changes: tuple[str, str], head: str = "") -> str:
    """The reference of a file with the starter method, with these changes."""
    text = STARTER
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    path = folder / "mutant.py"
    path.write_text(f"{head}\n{text}" if head else text)
    return f"{path}:NoisyDescent"


def outcomes(reference: str, *also: str, **changes: object) -> dict[str, Outcome]:
    """All quick checks in this process, and `also` these."""
    found = subject(reference, changes)
    wanted = {check.name for check in asked(found, quick=True)} - {*PROCESSES} | {*also}
    return {each.name: each for each in looked_at(found, [check for check in CHECKS if check.name in wanted])}


def failures(found: dict[str, Outcome]) -> dict[str, str]:
    return {name: each.sentence for name, each in found.items() if each.status is Status.FAILED}
