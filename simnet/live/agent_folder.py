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
_BEGUN = "begun"
_INCARNATION = "incarnation"


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
    place = path / _INCARNATION
    number = int(place.read_text()) + 1 if place.exists() else 1
    write_file(place, str(number).encode(), mode=0o600)
    return number


def outnumbered(path: Path, number: int) -> None:
    """A neighbour has met a process of this number: the next one gets a higher number."""
    write_file(path / _INCARNATION, str(number).encode(), mode=0o600)


def begin(path: Path) -> None:
    """Note that the agent has begun, safely and apart from the journal: from here on something may leave."""
    if not (path / _BEGUN).exists():
        write_file(path / _BEGUN, b"", mode=0o600)


def refuse_to_forget(path: Path, *, empty: bool) -> None:
    """Refuse a folder whose agent has begun, or has drawn its secret, and whose journal is gone or `empty`.

    The journal's file is made before the secret, and its first record is safe before the agent has begun. So no crash
    leaves such a folder behind; somebody has taken the journal away, or a disk has lost what it called safe.
    """
    if (path / _BEGUN).exists() and empty:
        lost = "the agent has begun, and its journal is empty or gone"
    elif has_secret(path) and not (path / JOURNAL).exists():
        lost = "the secret of the agent's noise is there, and its journal is gone"
    else:
        return
    raise LiveError(
        f"{path}: {lost}, so nobody knows what it has sent and spent. Put the newest journal back; or begin another "
        "run, with other folders and another name, and count all that this run could have cost as spent"
    )


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
