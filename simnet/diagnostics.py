"""Diagnostics: what simnet does while it does it, line by line, for a person who watches.

This module lies below all rooms because any of them may have something to tell. Nobody is told anything unless somebody
listens: `--verbose` calls `to_stderr`, and a program that uses simnet as a library may set the level of the logger
`simnet` and give it a handler of its own. structlog makes the lines (logfmt: `event="run finished" seconds=1.2`).

Diagnostics carry time stamps, so they are no result: nothing reads them back, and the event log of a run
(`simnet.record`) is written without them. They carry no secret either: a happening may name only the facts that `FACTS`
lists, and none of these is noise, data, a model or a figure computed from models that were not released.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

FACTS = {
    "scenario": "the name of a scenario",
    "study": "the name of a study",
    "method": "the name of a method",
    "key": "the key of a study's run",
    "digest": "the first 12 digits of a run's digest",
    "agents": "how many agents there are",
    "links": "how many links there are",
    "rows": "how many training rows there are, all agents together",
    "rounds": "how many rounds",
    "runs": "how many runs",
    "workers": "how many processes share the work",
    "agent": "the number of the agent that tells",
    "peer": "the number of a neighbour",
    "round": "the number of a round",
    "incarnation": "how often an agent's process has been started",
    "signal": "the number of the signal that ended a process",
    "reason": "a word of `simnet.live.envelope.Reason`, or the sentence of an error",
    "count": "how often it has happened by now",
    "seconds": "how long it took by the wall clock",
}
"""Every fact that a happening may name, and what it is."""

_logger = logging.getLogger("simnet")
_logger.addHandler(logging.NullHandler())  # without one Python prints warnings by itself


def tell(happening: str, **facts: str | int | float | None) -> None:
    """Something happened as it should."""
    if _logger.isEnabledFor(logging.INFO):
        _pipeline().info(happening, **facts)


def warn(happening: str, **facts: str | int | float | None) -> None:
    """Something happened that somebody may want to look into."""
    if _logger.isEnabledFor(logging.WARNING):
        _pipeline().warning(happening, **facts)


def to_stderr() -> None:
    """Write all happenings of this process, and of those forked from it, to stderr."""
    _logger.addHandler(logging.StreamHandler())
    _logger.setLevel(logging.INFO)


def milestone(count: int) -> bool:
    """Whether a count is worth telling: 1, 10, 100, … A flood must not fill a disk."""
    return str(count).rstrip("0") == "1"


@cache
def _pipeline() -> BoundLogger:
    import structlog  # here: its import takes longer than reading a scenario, and most runs tell nobody anything

    logger: BoundLogger = structlog.wrap_logger(
        _logger,
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True),
        ],
    )
    return logger
