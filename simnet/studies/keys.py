"""What makes two runs the same run: the resolved scenario, the files that it reads, and the code that runs it.

The versions of numpy and scipy count as code: their arithmetic and their random numbers are part of every result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from simnet.scenario import Scenario
from simnet.scenario.inputs import hashes, named_files, row_files

_ROOT = Path(__file__).parents[1]
_RUNS = "simnet.simulate"
_IMPORT = re.compile(r"^ *(?:import (simnet[\w.]*)|from (simnet[\w.]*) import (\([^)]*\)|.*))", re.MULTILINE)


def run_key(scenario: Scenario, digests: dict[Path, str] | None = None) -> str:
    """128 bits, in hexadecimal. `digests` remembers the files that many scenarios of a study name."""
    parts = [json.dumps(scenario.resolved(), sort_keys=True, ensure_ascii=False), code_version(), *arithmetic()]
    key = scenario.privacy.noise_key
    secret = {} if key is None else {key: scenario.find(key)}
    for files in (row_files(scenario), named_files(scenario), secret):
        parts += hashes(files, digests).values()
    parts += [part.sha256 for part in scenario.foreign()]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@cache
def arithmetic() -> tuple[str, ...]:
    """The libraries that compute, with their versions."""
    return tuple(f"{name} {version(name)}" for name in ("numpy", "scipy"))


@cache
def code_version() -> str:
    """The digest of those of simnet's own files on which a run depends."""
    return files_version(_ROOT)


def files_version(root: Path) -> str:
    """The same for a simnet that lies elsewhere."""
    hasher = sha256()
    for path in sorted(run_files(root)):
        hasher.update(f"{path.relative_to(root).as_posix()}\0".encode())
        hasher.update(sha256(path.read_bytes()).digest())
    return hasher.hexdigest()[:32]


def run_files(root: Path) -> set[Path]:
    """Every module that `simnet.simulate` imports, at its top or inside a function, and the data beside these modules.

    The package's own `__init__` imports nothing that a run needs, so it counts, but is not followed.
    """
    library = [f"simnet.library.{path.stem}" for path in sorted((root / "library").glob("[!_]*.py"))]  # by references
    found, seen, todo = {root / "__init__.py"}, {"simnet"}, [_RUNS, *library]
    while todo:
        module = todo.pop()
        path = None if module in seen else _file(root, module)
        seen.add(module)
        if path is not None:
            found.add(path)
            todo += (module.rpartition(".")[0], *_imports(path.read_text(encoding="utf-8")))
    rooms = {path.parent for path in found} - {root}
    data = {path for room in rooms for path in room.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    return found | data


def _imports(source: str) -> Iterator[str]:
    """Dotted names that a module imports from simnet; some are not modules but what stands in one."""
    for whole, module, names in _IMPORT.findall(source):
        yield whole or module
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))


def _file(root: Path, module: str) -> Path | None:
    place = root.joinpath(*module.split(".")[1:])
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
