"""Proof instead of consistency: run the scenario of a log again, and compare.

Seals and laws say that a log was not altered and is one that a run could have written. Only a second run says that it
is the one that this scenario gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simnet.errors import LogError, SimnetError
from simnet.record.atomic import temporary_folder
from simnet.record.diff import diff
from simnet.record.events import RunFinished, RunStarted, SocketsCounted
from simnet.record.folder import load_summary
from simnet.record.formats import flat
from simnet.record.log import find_log, read
from simnet.record.verify import same
from simnet.scenario import Scenario
from simnet.scenario.embedded import embedded_scenario
from simnet.simulate import run
from simnet.version import VERSION


def rerun(path: Path) -> list[str]:
    """Run the scenario of a run folder or a log again; what differs, in words, nothing if the digests are equal.

    LogError if that cannot be done here, with what is missing.
    """
    log = find_log(path)
    start, live, digest = _told(log)
    if start.foreign:
        theirs = ", ".join(start.foreign)
        raise LogError(
            f"{path} cannot be run again by a reader: its scenario runs code of its author's own ({theirs}); "
            "if you trust that, `simnet run` its scenario.toml beside the code, and compare the digests"
        )
    scenario = embedded_scenario(start, log.parent)
    if reason := _unrepeatable(start, scenario, live=live):
        raise LogError(f"{path} cannot be run again: {reason}")
    with temporary_folder("the second run") as place:
        try:
            result = run(scenario, place)
        except SimnetError as error:
            raise LogError(f"{path} cannot be run again here: {error}") from None
        if result.digest == digest:
            return _other_yardsticks(path, result.summary)
        assert result.folder is not None
        found = diff(log, result.folder)
    versions = "" if start.version == VERSION else f"; it was written by simnet {start.version}, and this is {VERSION}"
    first = f"; A is the log, B the second run: {found.sentence}" if found is not None else ""
    return [f"a second run gives another digest, {result.digest[:12]}{versions}{first}"]


def _other_yardsticks(path: Path, again: dict[str, Any]) -> list[str]:
    """Where a run folder tells other yardsticks than a second run: they are in no log, and in no folder of old."""
    stored = load_summary(path).get("yardsticks") if path.is_dir() else None
    if not isinstance(stored, dict):
        return []
    told, found = flat({"yardsticks": stored}), flat({"yardsticks": again["yardsticks"]})
    return [
        f"summary.json says {name} = {told.get(name)}, a second run {found.get(name)}"
        for name in {**found, **told}
        if not same(told.get(name), found.get(name))
    ]


def _told(log: Path) -> tuple[RunStarted, bool, str]:
    """The first event, whether sockets were counted, and the digest."""
    start, live, digest = None, False, ""
    for _, _, event in read(log):
        if isinstance(event, RunStarted):
            start = event
        elif isinstance(event, SocketsCounted):
            live = True
        elif isinstance(event, RunFinished):
            digest = event.digest
    assert start is not None  # `read` checked that there is a first line
    return start, live, digest


def _unrepeatable(start: RunStarted, scenario: Scenario, *, live: bool) -> str:
    """Why nobody can repeat this run here; nothing if somebody can."""
    missing = [name for name in scenario.files() if not scenario.find(name).is_file()]
    for is_so, reason in (
        (live, "it was a live run, and real time does not come again"),
        (start.published, "it is a published record, and what was taken out of it is missing"),
        (
            start.attached,
            f"processes of its author took part that are not in the scenario: {', '.join(start.attached)}",
        ),
        (scenario.privacy.noise == "fresh", "its noise was drawn anew (privacy.noise = 'fresh') and is kept nowhere"),
        (missing, f"there is no file {', '.join(missing)}, which its scenario names"),
    ):
        if is_so:
            return reason
    return ""
