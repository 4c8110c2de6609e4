"""Parts of a user's own: named by a reference, loaded once, and bound to the record by the hash of their source.

A reference is `my_file.py:Thing`, looked up beside the scenario; `package.module:Thing`, for what is installed; or a
name of the entry point group `simnet.parts`. A scenario that names a part runs its code. Only what builds a scenario
loads anything: whoever reads a stored run finds the name and the hash in the record.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

GROUP = "simnet.parts"
"""The entry point group by which an installed package names its parts."""
MODULE = "simnet_part_"
"""What the modules of loaded files are called, before their hash."""

_NAME = r"[^\W\d]\w*"
_FILE = re.compile(rf"(?P<file>[^:\0]+\.py):(?P<name>{_NAME})")
_INSTALLED = re.compile(rf"(?P<module>{_NAME}(?:\.{_NAME})*):(?P<name>{_NAME})")


@dataclass(frozen=True)
class Foreign:
    """A part of the user's own: how it is named, and the source of its module."""

    reference: str
    sha256: str
    module: str = ""
    """What its module is called in this process, whatever the machine."""
    source: bytes = field(repr=False, default=b"")
    """Of a file beside the scenario, so that it can travel; an installed module is wherever it is needed."""

    @property
    def file(self) -> str | None:
        """The file that the reference names; None if it names an installed module."""
        return self.reference.rpartition(":")[0] if self.source else None


@dataclass(frozen=True)
class Loading:
    """Where references are looked up: beside a scenario in `folder`, unless their sources have been `given`."""

    folder: Path | None = None
    given: Mapping[str, Foreign] = field(default_factory=dict)
    allowed: bool = True
    """False where somebody only reads: then no reference is followed."""


def is_reference(word: object) -> bool:
    """Whether a word is a reference to a file or a module; names of entry points look like any other word.

    >>> is_reference("my_file.py:Weibull"), is_reference("package.module:Weibull"), is_reference("lognormal")
    (True, True, False)
    """
    return isinstance(word, str) and bool(_FILE.fullmatch(word) or _INSTALLED.fullmatch(word))


def load(word: str, loading: Loading) -> tuple[type[Any], Foreign] | None:
    """The class that a word refers to, and what binds it; None if it is no reference and nobody's entry point.

    A ValueError says why a reference leads nowhere.
    """
    reference = word
    if not loading.allowed:
        raise ValueError("it is no part of simnet's, and the record does not list it as its author's own")
    if not is_reference(word):
        point = next(iter(entry_points(group=GROUP, name=word)), None)
        if point is None:
            return None
        reference = point.value
    if found := _FILE.fullmatch(reference):
        source = _source(reference, found["file"], loading)
        module = _executed(found["file"], source)
    else:
        module, source = _imported(reference.partition(":")[0])
    thing = getattr(module, reference.rpartition(":")[2], None)
    if not isinstance(thing, type):
        classes = ", ".join(name for name, value in own_classes(module)) or "none"
        raise ValueError(f"{reference.rpartition(':')[0]} has no such class; those it has: {classes}")
    bound = Foreign(word, sha256(source).hexdigest(), module.__name__, source if found else b"")
    given = loading.given.get(word)
    if given is not None and given.sha256 != bound.sha256:
        raise ValueError("its module has another source here than where the scenario comes from")
    return thing, bound


def own_classes(module: ModuleType) -> Iterator[tuple[str, type[Any]]]:
    """The public classes that a module itself defines."""
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_"):
            yield name, value


def installed() -> list[EntryPoint]:
    """The entry points of all installed packages that bring parts."""
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def file_module(path: Path) -> ModuleType:
    """The module of a file of parts."""
    return _executed(str(path), _read(path, str(path)))


def _source(reference: str, file: str, loading: Loading) -> bytes:
    if reference in loading.given:
        return loading.given[reference].source
    beside = None if loading.folder is None else loading.folder / file
    return _read(beside if beside is not None and beside.exists() else Path(file), file)


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{name} cannot be read ({error.strerror})") from None


def _executed(file: str, source: bytes) -> ModuleType:
    """The module with this source: one for as long as the process lives, whatever becomes of the file."""
    name = f"{MODULE}{sha256(source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    try:
        exec(compile(source, file, "exec"), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise ValueError(f"{file} cannot be loaded ({_told(error)})") from None
        raise
    return module


def _imported(name: str) -> tuple[ModuleType, bytes]:
    """An installed module and its source."""
    try:
        spec = find_spec(name)
        module = None if spec is None else import_module(name)
    except ModuleNotFoundError as error:
        raise ValueError(f"no module {error.name} is installed") from None
    except Exception as error:
        raise ValueError(f"{name} cannot be loaded ({_told(error)})") from None
    if module is None or spec is None:
        raise ValueError(f"no module {name} is installed")
    if spec.origin is None or not Path(spec.origin).is_file():
        raise ValueError(f"{name} has no file whose hash could be recorded")
    return module, Path(spec.origin).read_bytes()


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
