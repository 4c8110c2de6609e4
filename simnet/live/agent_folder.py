"""The folder that a live agent keeps: its journal, and what only it may know or have."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from simnet.errors import LiveError
from simnet.parts.foreign import Foreign
from simnet.record.atomic import refusing, sweep, write_file

JOURNAL = "journal"
SCENARIO = "scenario.toml"
_SECRET = "secret"


@contextmanager
def occupied(path: Path) -> Iterator[None]:
    """Make the folder if need be, and be its only user; a crash gives it free."""
    with refusing(path, "the agent cannot keep its state there", LiveError):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LiveError(f"{path} is in use: another process is this agent already") from None
        sweep(path)
        yield
    finally:
        os.close(lock)


def incarnation(path: Path) -> int:
    """One more than the last time; safe before it is used."""
    place = path / "incarnation"
    number = int(place.read_text()) + 1 if place.exists() else 1
    write_file(place, str(number).encode(), mode=0o600)
    return number


def has_secret(path: Path) -> bool:
    """Whether the agent's noise comes from a secret of its own."""
    return (path / _SECRET).exists()


def secret(path: Path) -> bytes:
    """The key of the agent's noise, drawn by the operating system once; whoever knows it can take the noise away."""
    place = path / _SECRET
    if not place.exists():
        write_file(place, secrets.token_hex(32).encode(), mode=0o600)
    return sha256(place.read_bytes()).digest()


def keep_scenario(path: Path, text: str, parts: Sequence[Foreign] = ()) -> None:
    """The scenario beside the journal, for those who will read it; another one than before is a mistake.

    So are the sources of parts that stand beside the scenario.
    """
    beside = {part.file: part.source for part in parts if part.file is not None and "/" not in part.file}
    for name, content in {SCENARIO: text.encode(), **beside}.items():
        place = path / name
        if place.exists() and place.read_bytes() != content:
            raise LiveError(f"{path} holds the state of an agent of another scenario: choose another folder")
        write_file(place, content, mode=0o600)
