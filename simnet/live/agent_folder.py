"""The folder that a live agent keeps: its journal, and what only it may know or have."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from simnet.errors import LiveError
from simnet.live.machine import HERE, Machine
from simnet.parts.foreign import Foreign
from simnet.record.atomic import refusing

JOURNAL = "journal"
SCENARIO = "scenario.toml"
_SECRET = "secret"
_SECRET_DIGITS = 64
_BEGUN = "begun"
_INCARNATION = "incarnation"


@dataclass(frozen=True)
class AgentFolder:
    """An agent's folder on a machine."""

    path: Path
    machine: Machine = HERE

    @property
    def journal(self) -> Path:
        return self.path / JOURNAL

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Make the folder if need be, and be its only user; a crash gives it free."""
        with ExitStack() as held:
            with self._sentences():
                try:
                    held.enter_context(self.machine.alone_in(self.path))
                except BlockingIOError:
                    raise LiveError(f"{self.path} is in use: another process is this agent already") from None
            yield

    def incarnation(self) -> int:
        """One more than the last time; safe before it is used."""
        place = self.path / _INCARNATION
        with self._sentences():
            before = self.machine.read(place) if self.machine.exists(place) else b"0"
            if not before.isdigit():
                raise LiveError(f"{place} is damaged: it should be the number of the agent's last process")
            self.machine.replace(place, b"%d" % (int(before) + 1))
        return int(before) + 1

    def outnumbered(self, number: int) -> None:
        """A neighbour has met a process of this number: the next one gets a higher number."""
        with self._sentences():
            self.machine.replace(self.path / _INCARNATION, b"%d" % number)

    def begin(self) -> None:
        """Note that the agent has begun, safely and apart from the journal: from here on something may leave."""
        with self._sentences():
            if not self.machine.exists(self.path / _BEGUN):
                self.machine.replace(self.path / _BEGUN, b"")

    def refuse_to_forget(self, *, empty: bool) -> None:
        """Refuse a folder whose agent has begun, or has drawn its secret, and whose journal is gone or `empty`.

        The journal's file is made before the secret, and its first record is safe before the agent has begun. So no
        crash leaves such a folder behind; somebody took the journal away, or a disk has lost what it called safe.
        """
        if self.machine.exists(self.path / _BEGUN) and empty:
            lost = "the agent has begun, and its journal is empty or gone"
        elif self.has_secret and not self.machine.exists(self.journal):
            lost = "the secret of the agent's noise is there, and its journal is gone"
        else:
            return
        raise LiveError(
            f"{self.path}: {lost}, so nobody knows what it has sent and spent. Put the newest journal back; or begin "
            "another run, with other folders and another name, and count all that this run could have cost as spent"
        )

    @property
    def has_secret(self) -> bool:
        """Whether the agent's noise comes from a secret of its own."""
        return self.machine.exists(self.path / _SECRET)

    def secret(self) -> bytes:
        """The key of the agent's noise, drawn by the operating system once: whoever knows it can take noise away."""
        place = self.path / _SECRET
        with self._sentences():
            if not self.has_secret:
                self.machine.replace(place, secrets.token_hex(_SECRET_DIGITS // 2).encode())
            found = self.machine.read(place)
        if len(found) != _SECRET_DIGITS:
            raise LiveError(f"{place} is damaged: a secret has {_SECRET_DIGITS} digits. Put it back as it was")
        return sha256(found).digest()

    def keep_scenario(self, text: str, parts: Sequence[Foreign] = ()) -> None:
        """The scenario beside the journal, for those who will read it; another one than before is a mistake.

        So are the sources of parts that stand beside the scenario.
        """
        beside = {part.file: part.source for part in parts if part.file is not None and "/" not in part.file}
        for name, content in {SCENARIO: text.encode(), **beside}.items():
            place = self.path / name
            with self._sentences():
                if self.machine.exists(place) and self.machine.read(place) != content:
                    raise LiveError(
                        f"{self.path} holds the state of an agent of another scenario: choose another folder"
                    )
                self.machine.replace(place, content)

    def _sentences(self) -> AbstractContextManager[None]:
        return refusing(self.path, "the agent cannot keep its state there", LiveError)
