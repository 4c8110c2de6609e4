"""Who is who: one certificate authority per deployment, one certificate per agent.

`init` makes a new authority, signs a certificate for every agent, and forgets the authority's key: nobody can add an
agent to a deployment or stand in for one without one of the keys that were written. To replace an agent's key, make the
deployment's certificates anew; there is no revocation list to keep.

An agent is known by its number alone, as the name `agent-3.simnet` in its certificate, wherever it runs. Each host
needs three files: `ca.pem`, its `agent-N.pem`, and its `agent-N.key`, which no other user may read.
"""

from __future__ import annotations

import os
import re
import ssl
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simnet.errors import LiveError

_NAME = re.compile(r"agent-(0|[1-9][0-9]{0,9})\.simnet")


@dataclass(frozen=True, slots=True)
class Certificates:
    """What one agent shows and whom it believes."""

    authority: Path
    certificate: Path
    key: Path

    def server(self) -> ssl.SSLContext:
        """TLS 1.3 for those who dial this agent: each must show a certificate of the deployment."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # No session tickets: every connection shows its certificate.
        context.num_tickets = 0
        return self._furnish(context)

    def client(self) -> ssl.SSLContext:
        """TLS 1.3 for those whom this agent dials: each must be the agent that was meant."""
        return self._furnish(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def _furnish(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
        try:
            context.load_verify_locations(self.authority)
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (ssl.SSLError, OSError) as error:
            raise LiveError(
                f"{self.certificate} and {self.key} do not make a certificate with its key that TLS can use "
                f"({getattr(error, 'reason', None) or error}): take the files that `simnet live init` made"
            ) from None
        return context


def name_of(agent: int) -> str:
    """An agent's name in its certificate."""
    return f"agent-{agent}.simnet"


def agent_of(certificate: Mapping[str, object]) -> int | None:
    """The agent that a certificate names, in the form of `SSLSocket.getpeercert`; None unless it is exactly one."""
    names = certificate.get("subjectAltName", ())
    assert isinstance(names, tuple)
    agents = [match for kind, name in names if kind == "DNS" and (match := _NAME.fullmatch(name))]
    return int(agents[0][1]) if len(agents) == 1 else None


def init(folder: Path, agents: Iterable[int], hosts: Mapping[int, str] | None = None, days: int = 365) -> None:
    """Make a deployment's authority and its agents' certificates in `folder`, valid for `days`.

    `hosts` adds host names or addresses to agents' certificates, for tools that look for them; agents themselves go by
    number. Files that exist are left alone and nothing is made.
    """
    # `cryptography` takes a while to import, and only this needs it.
    from simnet.live.authority import Authority

    agents = sorted(set(agents))
    wanted = [folder / "ca.pem", *(path for agent in agents for path in _files(folder, agent))]
    taken = next((path for path in wanted if path.exists() or path.is_symlink()), None)
    if taken is not None:
        raise LiveError(f"{taken} exists: certificates are never overwritten, choose another folder or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority(days)
    for agent in agents:
        certificate, key = _files(folder, agent)
        public, private = authority.issue(name_of(agent), (hosts or {}).get(agent))
        _write(key, private, 0o600)
        _write(certificate, public, 0o644)
    _write(folder / "ca.pem", authority.public, 0o644)


def load(folder: Path, agent: int) -> Certificates:
    """One agent's certificate and key, if they are there and the key is its own alone."""
    certificate, key = _files(folder, agent)
    for path in (folder / "ca.pem", certificate, key):
        if not path.is_file():
            raise LiveError(f"{path} is missing: agent {agent} needs it, `simnet live init` makes it")
    mode = stat.S_IMODE(key.stat().st_mode)
    if mode & 0o077:
        raise LiveError(f"{key} has mode {mode:04o}, others can use it: a private key has mode 0600 (chmod 600 {key})")
    return Certificates(folder / "ca.pem", certificate, key)


def _files(folder: Path, agent: int) -> tuple[Path, Path]:
    return folder / f"agent-{agent}.pem", folder / f"agent-{agent}.key"


def _write(path: Path, content: bytes, mode: int) -> None:
    """A new file that has its mode from the first moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)


def _no_password() -> str:
    """Keys are not encrypted; without this OpenSSL would ask on the terminal."""
    return ""
