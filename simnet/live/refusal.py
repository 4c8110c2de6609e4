"""Why something that came over the wire was not let in: a fixed set of words, counted.

The words are few and fixed, so that a flood of bad input can neither fill a table of counts nor write its own text into
a log.
"""

from __future__ import annotations

from enum import StrEnum

from simnet.errors import FrameError


class Reason(StrEnum):
    """What was wrong."""

    HANDSHAKE = "handshake"
    """The connection did not get as far as an introduction: it spoke no TLS 1.3, or went away."""
    STRANGER = "stranger"
    """No certificate, one of another authority, or that of an agent that is no neighbour."""
    IMPOSTOR = "impostor"
    """A neighbour under a name that is not its own."""
    MALFORMED = "malformed"
    """Not an envelope, or one that has no place at this point."""
    VERSION = "version"
    """An envelope of another version."""
    OVERSIZED = "oversized"
    """An envelope that announces more than the limit."""
    CHECKSUM = "checksum"
    """An envelope that was damaged on its way."""
    TRUNCATED = "truncated"
    """The connection ended in the middle of an envelope."""
    SLOW = "slow"
    """An introduction or an envelope that did not end in time, or a peer that does not read its acknowledgements."""
    CROWDED = "crowded"
    """The connection that had waited longest for its introduction when there were too many of them."""
    OTHER_RUN = "other run"
    """An envelope of another run."""
    OUT_OF_DATE = "out of date"
    """An envelope of an agent's earlier incarnation."""
    REPLAYED = "replayed"
    """A sequence number that was there before."""
    GAP = "gap"
    """A sequence number that is not the next one."""
    UNUSABLE = "unusable"
    """An envelope in order whose content is no frame, or none that the agent can read."""


class Refused(FrameError):
    """Something is not let in; `reason` is the word that it is counted under."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
