"""A connection that carries envelopes: made, accepted, read against the clock, closed; and what one may cost."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from dataclasses import dataclass, field

from simnet.live import envelope
from simnet.live.envelope import Envelope, Reason, Refused
from simnet.live.socket_bytes import Sockets

FAREWELL = 1.0
"""Seconds for the last bytes to leave when a connection is closed in peace."""
_READ_AHEAD = 1 << 16
MIB = 1 << 20
_HOSTNAME_MISMATCH = 62
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH: the certificate is good, and another's."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a channel spends at most on its peers and on strangers: bytes, seconds and counts.

    The defaults suit models of up to half a million coefficients.
    """

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


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP connection, with or without TLS on it; `sockets` counts what it carries."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sockets: Sockets = field(default_factory=Sockets)

    def __post_init__(self) -> None:
        self.sockets.opened(id(self.writer), self.writer.get_extra_info("socket"))

    @property
    def certificate(self) -> dict[str, object]:
        """The other end's certificate, checked by TLS; empty without TLS."""
        tls: ssl.SSLObject | None = self.writer.get_extra_info("ssl_object")
        return dict(tls.getpeercert() or {}) if tls is not None else {}

    def write(self, item: Envelope) -> None:
        """Queue an envelope; how much may be queued is for the caller to bound."""
        if not self.writer.is_closing():
            self.writer.write(envelope.encode(item))

    async def flush(self, patience: float) -> None:
        """Wait until the other end has taken nearly all that was written."""
        try:
            async with asyncio.timeout(patience):
                await self.writer.drain()
        except TimeoutError:
            raise Refused(Reason.SLOW, f"what was written {patience} s ago has not been read") from None

    async def receive(self, limit: int, patience: float) -> Envelope | None:
        """The next envelope, or None if the connection ended between two.

        The wait for the first byte is not bounded, from there on an envelope has `patience` seconds. Its content is
        read after its header has been judged, and takes room only as it comes.
        """
        try:
            first = await self.reader.readexactly(1)
        except (asyncio.IncompleteReadError, OSError):
            return None
        try:
            async with asyncio.timeout(patience):
                header = envelope.head(first + await self.reader.readexactly(envelope.HEADER_BYTES - 1), limit)
                content = await self.reader.readexactly(header.length)
        except (asyncio.IncompleteReadError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise Refused(Reason.SLOW, f"an envelope was not complete after {patience} s") from None
            raise Refused(Reason.TRUNCATED, "the connection ended in the middle of an envelope") from None
        return envelope.seal(header, content)

    async def close(self) -> None:
        """End in peace: what was written leaves first, for a moment at most."""
        self.sockets.closing(id(self.writer))
        self.writer.close()
        with contextlib.suppress(OSError):
            async with asyncio.timeout(FAREWELL):
                await self.writer.wait_closed()
        self.abort()

    def abort(self) -> None:
        """End at once."""
        self.sockets.closing(id(self.writer))
        # Up to Python 3.11.2 the transport of a connection that is gone has lost its protocol.
        with contextlib.suppress(AttributeError):
            self.writer.transport.abort()


async def dial(address: tuple[str, int], tls: ssl.SSLContext | None, name: str, sockets: Sockets) -> Connection:
    """A connection to whoever proves to be `name`."""
    host, port = address
    try:
        reader, writer = await asyncio.open_connection(
            host,
            port,
            limit=_READ_AHEAD,
            ssl=tls,
            server_hostname=None if tls is None else name,
            ssl_shutdown_timeout=None if tls is None else FAREWELL,
        )
    except ssl.SSLError as error:
        raise Refused(_judge(error), f"TLS refused the other end: {error.reason}") from None
    return Connection(reader, writer, sockets)


async def accept(sock: socket.socket, tls: ssl.SSLContext | None, sockets: Sockets) -> Connection:
    """The connection behind an accepted socket, once TLS is satisfied with it."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_READ_AHEAD)
    protocol = asyncio.StreamReaderProtocol(reader)
    try:
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, sock, ssl=tls, ssl_shutdown_timeout=None if tls is None else FAREWELL
        )
    except ssl.SSLError as error:
        raise Refused(_judge(error), f"TLS refused the other end: {error.reason}") from None
    except OSError:
        raise Refused(Reason.HANDSHAKE, "the connection ended before TLS was satisfied") from None
    return Connection(reader, asyncio.StreamWriter(transport, protocol, reader, loop), sockets)


def _judge(error: ssl.SSLError) -> Reason:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Reason.IMPOSTOR if error.verify_code == _HOSTNAME_MISMATCH else Reason.STRANGER
    return Reason.STRANGER if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else Reason.HANDSHAKE
