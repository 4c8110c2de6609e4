"""What makes two runs the same run: the resolved scenario, the files that it names, and the code that runs it."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from simnet.errors import DataError, ScenarioError
from simnet.learning import files
from simnet.scenario import Scenario
from simnet.scenario.data import EMBEDDED, GENERATED

_ROOT = Path(__file__).parents[1]
_ABOVE = ("audit", "cli.py", "explain.py", "report", "study", "terminal.py")
"""What stands above `simnet.simulate` cannot change a run."""


@cache
def code_version() -> str:
    """The digest of simnet's own files, as far as a run depends on them."""
    hasher = sha256()
    for path in sorted(_ROOT.rglob("*")):
        place = path.relative_to(_ROOT)
        if place.parts[0] in _ABOVE or "__pycache__" in place.parts or not path.is_file():
            continue
        hasher.update(f"{place.as_posix()}\0".encode())
        hasher.update(sha256(path.read_bytes()).digest())
    return hasher.hexdigest()[:32]


class Keyring:
    """Makes the keys of one study; a file that many scenarios name is read once."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def key(self, scenario: Scenario) -> str:
        """128 bits, in hexadecimal."""
        parts = [json.dumps(scenario.resolved(), sort_keys=True, ensure_ascii=False), code_version()]
        parts += [self._digest(path) for path in _named_files(scenario)]
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            try:
                self._digests[path] = sha256(path.read_bytes()).hexdigest()
            except OSError as error:
                raise ScenarioError(f"{path}: {error.strerror}") from None
        return self._digests[path]


def _named_files(scenario: Scenario) -> list[Path]:
    found: list[Path] = []
    source = scenario.data.source
    if source not in (*EMBEDDED, *GENERATED):
        try:
            path = files.named(source) or files.locate(str(scenario.find(source)))
        except DataError as error:
            raise ScenarioError(f"data.source = {source!r}: {error}") from None
        found += [path, *filter(None, [files.test_file(path)])]
    if scenario.topology.kind == "file":
        found.append(scenario.find(scenario.topology.file))
    return found
