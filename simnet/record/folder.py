"""The run folder: `runs/<name>/<digest12>/`, there as a whole or not at all."""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from simnet.errors import LogError, SimnetError
from simnet.record.environment import environment
from simnet.record.formats import csv_text, json_text
from simnet.record.partial import PartialFolder, hold_interrupts, release_interrupts

__all__ = ["LOG", "RunFolder", "environment", "find_log", "load_summary", "slug"]

LOG = "events.jsonl.zst"


class RunFolder:
    """A run folder in the making: `log` is open for the event log, `commit` puts the folder in its place.

    Leaving without `commit`, for whatever reason, leaves nothing behind.
    """

    log: BinaryIO

    def __init__(self, out: Path, name: str) -> None:
        self._parent = Path(out) / slug(name)

    def __enter__(self) -> Self:
        held = hold_interrupts()
        try:
            with _sentences(self._parent):
                self._partial = PartialFolder(self._parent)
                try:
                    self.log = _LogFile(self._partial.path / LOG)
                except BaseException:
                    self._partial.vanish()
                    raise
        except BaseException:
            release_interrupts(held)
            raise
        try:
            release_interrupts(held)  # a Ctrl-C that came meanwhile is raised here, and nothing is called after it
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def commit(
        self,
        digest: str,
        scenario_toml: str,
        rounds: Sequence[Mapping[str, Any]],
        agents: Sequence[Mapping[str, Any]],
        summary: Mapping[str, Any],
        environment: Mapping[str, Any],
    ) -> Path:
        """Write the rest, make all of it durable, and show it under its final name."""
        target = self._parent / digest[:12]
        texts = {
            "scenario.toml": scenario_toml,
            "rounds.csv": csv_text(rounds),
            "agents.csv": csv_text(agents),
            "summary.json": json_text(summary),
            "environment.json": json_text(environment),
        }
        with _sentences(target):
            _finish(self.log)
            for name, text in texts.items():
                with (self._partial.path / name).open("wb") as handle:
                    handle.write(text.encode())
                    _finish(handle)
            self._partial.become(target)
        return target

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held = hold_interrupts()
        with suppress(OSError):
            self.log.close()
        self._partial.vanish()
        release_interrupts(held)


class _LogFile(io.BufferedWriter):
    """The log's file; a full disk is a sentence."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))
        self._path = path

    def write(self, data: Any) -> int:
        with _sentences(self._path):
            return super().write(data)


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Turn what the system says into a sentence about the run folder."""
    try:
        yield
    except OSError as error:
        raise SimnetError(f"{path}: the run cannot be stored ({error.strerror or error})") from None


def _finish(handle: BinaryIO) -> None:
    """Write out, down to the disk."""
    handle.flush()
    os.fsync(handle.fileno())
    handle.close()


def slug(name: str) -> str:
    """A scenario's name as the name of a folder.

    >>> slug("IPP-ADMM on Adult, 5 % loss")
    'ipp-admm-on-adult-5-loss'
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\W_]+", "-", plain)[:60].strip("-") or "unnamed"


def find_log(path: Path) -> Path:
    """The event log of a run folder, or the log itself."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / LOG).is_file():
        raise LogError(f"{path} is not a run folder: it holds no {LOG}")
    return path / LOG


def load_summary(folder: Path) -> dict[str, Any]:
    """summary.json of a run folder."""
    path = Path(folder) / "summary.json"
    try:
        summary = json.loads(path.read_bytes())
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise LogError(f"{path} is not JSON") from None
    if not isinstance(summary, dict):
        raise LogError(f"{path} is not a summary: it should hold one JSON object")
    return summary
