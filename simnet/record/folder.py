"""The run folder, `runs/<name>/<digest12>/`: made as a whole or not at all, and found again."""

from __future__ import annotations

import io
import json
import platform
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, Self

from threadpoolctl import threadpool_info

from simnet.allowance import Allowance, read_own
from simnet.errors import LogError
from simnet.record.atomic import AtomicFolder, finish, interrupts_waiting, refusing
from simnet.record.formats import csv_text, json_text
from simnet.record.log import LOG
from simnet.version import VERSION

_FAILURE = "the run cannot be stored"
_TABLES = 8
"""How much more than its text a table takes while it is compared."""
_PACKAGES = ("numpy", "scipy", "simpy", "networkx", "structlog", "msgspec", "pydantic", "zstandard")


class RunFolder:
    """A run folder in the making: `log` is open for the event log, `commit` puts the folder in its place.

    Leaving without `commit`, for whatever reason, leaves nothing behind.
    """

    log: BinaryIO
    _folder: AtomicFolder

    def __init__(self, out: Path, name: str) -> None:
        self._parent = Path(out) / slug(name)

    def __enter__(self) -> Self:
        try:
            with interrupts_waiting(), refusing(self._parent, _FAILURE):
                self._folder = AtomicFolder(self._parent)
                self.log = _LogFile(self._folder.path / LOG)
        except BaseException:
            self._discard()
            raise
        return self

    def commit(
        self,
        digest: str,
        scenario_toml: str,
        rounds: Sequence[Mapping[str, Any]],
        agents: Sequence[Mapping[str, Any]],
        summary: Mapping[str, Any],
    ) -> Path:
        """Write the rest, make all of it durable, and show it under its final name."""
        target = self._parent / digest[:12]
        texts = {
            "scenario.toml": scenario_toml,
            "rounds.csv": csv_text(rounds),
            "agents.csv": csv_text(agents),
            "summary.json": json_text(summary),
            "environment.json": json_text(environment()),
        }
        with refusing(target, _FAILURE):
            finish(self.log)
            for name, text in texts.items():
                self._folder.add(name, text.encode())
            self._folder.commit(target)
        return target

    def __exit__(self, *_: object) -> None:
        self._discard()

    def _discard(self) -> None:
        """Remove what is there of the folder unless it was committed; a Ctrl-C may have come before there was any."""
        with interrupts_waiting():
            if hasattr(self, "log"):
                with suppress(OSError):
                    self.log.close()
            if hasattr(self, "_folder"):
                self._folder.discard()


class _LogFile(io.BufferedWriter):
    """The log's file; a full disk is a sentence."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))
        self._path = path

    def write(self, data: Any) -> int:
        with refusing(self._path, _FAILURE):
            return super().write(data)


def environment() -> dict[str, Any]:
    """environment.json: the versions and the arithmetic of a run, and nothing that names a machine, user or path."""
    return {
        "simnet": VERSION,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "blas": _blas(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> list[str]:
    """Every BLAS in use, for example `openblas 0.3.27 Haswell`: its kernels decide the last bits of a product."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    keys = ("internal_api", "version", "architecture")
    return sorted({" ".join(str(library.get(key) or "") for key in keys).strip() for library in libraries})


def slug(name: str) -> str:
    """A scenario's name as the name of a folder.

    >>> slug("Duals on Adult, 5 % loss")
    'duals-on-adult-5-loss'
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\W_]+", "-", plain)[:60].strip("-") or "unnamed"


def load_bytes(path: Path) -> bytes:
    """What a file of a run folder holds; LogError if it cannot be read.

    Folders come from strangers: a file that is a link to something outside is not the folder's own.
    """
    try:
        return read_own(path, Allowance(LogError), _TABLES)
    except LogError as error:
        raise LogError(f"{path}: {error}") from None
    except OSError as error:
        raise LogError(f"{path}: {error.strerror or 'it cannot be read'}") from None


def load_json(path: Path) -> Any:
    """What a file of a run folder holds; LogError if it cannot be read."""
    return _parsed(path, json.loads, "JSON")


def load_toml(path: Path) -> Any:
    """The tables of a file of a run folder; none if there is no such file, LogError if it cannot be read."""
    if not path.is_symlink() and not path.exists():
        return {}
    return _parsed(path, lambda raw: tomllib.loads(raw.decode()), "TOML")


def _parsed(path: Path, parse: Callable[[bytes], Any], what: str) -> Any:
    raw = load_bytes(path)
    try:
        Allowance(LogError).json(raw)
        return parse(raw)
    except LogError as error:
        raise LogError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        raise LogError(f"{path} is not {what}") from None


def load_summary(folder: Path) -> dict[str, Any]:
    """summary.json of a run folder."""
    path = Path(folder) / "summary.json"
    summary = load_json(path)
    if not isinstance(summary, dict):
        raise LogError(f"{path} is not a summary: it should hold one JSON object")
    return summary
