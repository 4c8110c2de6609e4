"""What a channel spends at most on its peers and on strangers."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes, seconds and counts; the defaults suit models of up to half a million coefficients."""

    frame_bytes: int = 4 * MIB
    """The largest frame, in either direction."""
    window_bytes: int = 16 * MIB
    """Written to a peer and not yet acknowledged: when it is reached, writing waits for an acknowledgement."""
    outbox_bytes: int = 16 * MIB
    """Not yet written to a peer: when it is reached, the oldest of them are dropped."""
    introduction: float = 10.0
    """From the connection to the end of both hellos."""
    envelope: float = 30.0
    """From an envelope's first byte to its last, and for a peer to read its acknowledgements."""
    silence: float = 60.0
    """Without a sign that what was written has arrived: the connection is made anew. Longer than any peer computes."""
    introductions: int = 32
    """Connections that have not introduced themselves yet; TLS takes 256 KiB for each."""
    first_pause: float = 0.05
    """Before a second attempt to reach a peer; doubled at each further one."""
    longest_pause: float = 5.0
    """The doubling ends here. Each pause is drawn between half of its length and all of it."""
