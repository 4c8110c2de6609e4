"""The files that a run of a scenario reads, by the names that the scenario has for them, and their SHA-256.

A scenario and its seed decide every event of a run only together with the content of these files. So a log names their
hashes, `check_inputs` compares them before the run is repeated, and a study does a run again when one of them changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from simnet.errors import ScenarioError
from simnet.printable import escaped
from simnet.scenario import Scenario

Hashes = dict[str, str]
"""Name in the scenario → SHA-256 of the file, in hexadecimal."""


def named_files(scenario: Scenario) -> dict[str, Path]:
    """What describes the network: graphs, traces, matrices, timetables. The key of the noise is a secret, no fact."""
    return {name: scenario.find(name) for name in scenario.files() if name != scenario.privacy.noise_key}


def row_files(scenario: Scenario) -> dict[str, Path]:
    """The file of the rows, and the test file beside it; none for rows that are generated or inside the package.

    A source that is found in SIMNET_DATA has the name of the source: where it lies is the machine's business.
    """
    source = scenario.data.source.word
    paths = scenario.data.source.paths(scenario.find)
    names = [source, *(str(Path(source).with_name(path.name)) for path in paths[1:])]
    return dict(zip(names, paths, strict=False))


def hashes(files: Mapping[str, Path], known: dict[Path, str] | None = None) -> Hashes:
    """The SHA-256 of each file; `known` remembers those that many scenarios name."""
    known = {} if known is None else known
    return {name: _hash(name, path, known) for name, path in files.items()}


def check_inputs(scenario: Scenario, files: Mapping[str, str], data: Mapping[str, str]) -> None:
    """ScenarioError unless the files that `scenario` reads here are those of a log: `files` and `data` of run.started.

    A log of a version that named no files has none of them: then there is nothing to compare. A published record tells
    nothing of its rows.
    """
    for told, here in ((files, named_files(scenario)), (data, row_files(scenario) if data else {})):
        for name, recorded in told.items():
            shown = escaped(name)
            if name not in here:
                raise ScenarioError(f"{shown}: the log says that the run read it, and its scenario does not name it")
            found = _hash(name, here[name], {})
            if found != recorded:
                raise ScenarioError(
                    f"{shown}: not the file that the run read: its SHA-256 begins with {found[:12]}, that in the log "
                    f"with {escaped(recorded[:12])}"
                )


def _hash(name: str, path: Path, known: dict[Path, str]) -> str:
    if path not in known:
        if not path.is_file():
            raise ScenarioError(f"{escaped(name)}: there is no such file")
        try:
            with path.open("rb") as file:
                known[path] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ScenarioError(f"{escaped(name)}: cannot be read ({error.strerror})") from None
    return known[path]
