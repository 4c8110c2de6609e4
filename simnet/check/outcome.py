"""What a check says: passed, failed or not applicable, in one sentence; and what all checks come to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from traceback import walk_tb
from typing import Any

from simnet.errors import SimnetError


class Status(StrEnum):
    """What a check comes to."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


class Failing(Exception):
    """A check has found something: a sentence says what, and what to do."""


class Inapplicable(Exception):
    """There is nothing to check: a sentence says why."""


def told(error: Exception, package: str = "") -> str:
    """An exception in one sentence, with the last line of a package's that led to it."""
    while isinstance(error.__cause__, Exception):  # SimPy raises a copy
        error = error.__cause__
    if isinstance(error, SimnetError):
        return str(error)
    theirs = [
        f" ({Path(frame.f_code.co_filename).name}, line {number})"
        for frame, number in walk_tb(error.__traceback__)
        if package and str(frame.f_globals.get("__name__", "")).startswith(package)
    ]
    return " ".join(f"{type(error).__name__}: {error}{theirs[-1] if theirs else ''}".split())


@dataclass(frozen=True)
class Outcome:
    """What one check found, and why anybody asks."""

    name: str
    status: Status
    sentence: str
    why: str


@dataclass(frozen=True)
class CheckResult:
    """All checks of one part; `place` is where a scenario names it."""

    reference: str
    place: str
    source: str | None
    """SHA-256 of its module, if it is not simnet's."""
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether no check has found anything."""
        return not self.count(Status.FAILED)

    @property
    def exit_code(self) -> int:
        """Of the command line; 2 is for a user's mistake."""
        return 0 if self.passed else 1

    def count(self, status: Status) -> int:
        """How many checks came to that."""
        return sum(outcome.status is status for outcome in self.outcomes)

    @property
    def verdict(self) -> str:
        """All of it in one sentence."""
        passed, failed, rest = map(self.count, Status)
        left = f"; {rest} not applicable" if rest else ""
        return f"{failed} of {len(self.outcomes)} checks failed" + left if failed else f"{passed} checks passed" + left

    def summary(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "part": self.reference,
            "place": self.place,
            "sha256": self.source,
            "passed": self.passed,
            "verdict": self.verdict,
            "checks": [
                {"name": each.name, "status": each.status.value, "found": each.sentence, "why": each.why}
                for each in self.outcomes
            ],
        }
