"""One agent's process as its peers know it: what it puts on its envelopes, and what it expects on theirs."""

from __future__ import annotations

from dataclasses import dataclass

from simnet.live.envelope import Envelope, Kind
from simnet.live.refusal import Reason, Refused


@dataclass(frozen=True, slots=True)
class Speaker:
    """The run, the agent, and which of the agent's processes."""

    run: bytes
    agent: int
    incarnation: int

    def say(self, kind: Kind, sequence: int, content: bytes = b"") -> Envelope:
        """An envelope from here."""
        return Envelope(kind, self.run, self.agent, self.incarnation, sequence, content)

    def expect(self, item: Envelope, peer: int, *kinds: Kind) -> None:
        """Refuse what is not of this run, not from `peer`, or not of these kinds."""
        if item.run != self.run:
            raise Refused(Reason.OTHER_RUN, "the envelope is of another run")
        if item.sender != peer:
            raise Refused(Reason.IMPOSTOR, f"agent {peer} says that it is agent {item.sender}")
        if item.kind not in kinds:
            raise Refused(Reason.MALFORMED, f"{item.kind.name} is not what comes here")
