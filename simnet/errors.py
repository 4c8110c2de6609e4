"""Everything simnet raises on purpose, under one root.

A user's mistake is a sentence, not a traceback: the command line prints `str(error)` and exits with code 2.
Each class also derives from the natural built-in, so that callers can catch what they expect.
"""

from __future__ import annotations


class SimnetError(Exception):
    """The root of all deliberate errors."""


class ScenarioWarning(UserWarning):
    """A scenario that can be run, and will probably not show what its author wants; one sentence says why."""


class ScenarioError(SimnetError, ValueError):
    """A scenario asks for something that cannot be: the message names the field and says what would be right."""


class DataError(SimnetError, ValueError):
    """A data file cannot be read, or what it holds cannot be learned from."""


class BudgetError(SimnetError, ValueError):
    """A privacy budget cannot be met: the message says which part is too large and what would fit."""


class LogError(SimnetError, ValueError):
    """An event log is cut short, altered, or not a log."""


class FrameError(SimnetError, ValueError):
    """Bytes that are not a valid frame: too short, wrong version, failed checksum."""


class LiveError(SimnetError, RuntimeError):
    """A live run cannot start or go on: an address, a certificate or a peer is not as it must be."""


class TaskError(SimnetError, ValueError):
    """A task is not what it says of itself: a constant is exceeded, or a derivative is none."""
