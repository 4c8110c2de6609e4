"""Where the noise of a run comes from: its seed, or a key of 256 bits that stays with its owner.

A run whose noise comes from the seed can be repeated by everybody, and protects nobody: with the seed the noise can be
drawn again and taken off. A small seed need not be told, because it can be searched. A key cannot. A record holds its
SHA-256 only.

One key may serve many runs. The noise of a run is drawn from HMAC-SHA-256 of the key over simnet's version, the
resolved scenario, the files that it names and all rows, so two runs that differ in one of them have independent noise.
Two releases of almost the same data, or of the same data on another graph, with the same noise would give the
difference away.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from simnet.errors import ScenarioError

KEY_BYTES = 32
_OTHERS = 0o077


def fresh_key() -> bytes:
    """A new key, from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


_LONGEST = 200
"""Characters of a key's file that are looked at."""


def read_key(path: Path) -> bytes:
    """The key in a file of 64 hexadecimal digits, which only its owner may read."""
    where = f"privacy.noise_key = {str(path)!r}"
    try:
        with path.open(encoding="ascii") as handle:
            text, mode = handle.read(_LONGEST).strip(), path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise ScenarioError(f"{where}: the key cannot be read ({reason})") from None
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ScenarioError(f"{where}: a key is 64 hexadecimal digits, as `openssl rand -hex 32` writes them")
    if os.name == "posix" and mode & _OTHERS:
        raise ScenarioError(f"{where}: others can read it; a key has mode 0600 (chmod 600)")
    return bytes.fromhex(text)


def fingerprint(key: bytes) -> str:
    """What a record says of the key: which one it was, and nothing about it."""
    return sha256(key).hexdigest()


def noise_root(key: bytes, parts: Iterable[bytes]) -> bytes:
    """What the noise of a run is drawn from; `parts` are all that distinguishes the run from others."""
    digest = hmac.new(key, digestmod="sha256")
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()
