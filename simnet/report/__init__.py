"""`simnet report`: a run or a study as one HTML page that needs nothing else, neither a server nor a network."""

from __future__ import annotations

from pathlib import Path

from simnet.record.atomic import refusing, write_file
from simnet.record.log import find_log
from simnet.study import PLAN


def report(source: Path, output: Path | None = None) -> Path:
    """Write the page of a run folder, an event log or a study's folder, by default as `report.html` in that folder.

    LogError if a log is cut, altered, or breaks the laws of a run: a page never shows half a run.
    """
    source = Path(source)
    if (source / PLAN).is_file():
        folder, text = source, _study_page(source)
    else:
        folder, text = find_log(source).parent, _run_page(source)
    target = folder / "report.html" if output is None else Path(output)
    with refusing(target, "the report cannot be written"):
        write_file(target, text.encode())
    return target


def _run_page(source: Path) -> str:
    from simnet.report.run_facts import read_run
    from simnet.report.run_page import run_page

    return run_page(read_run(source))


def _study_page(folder: Path) -> str:
    # Polars is loaded only for those who have a study.
    from simnet.report.study_facts import read_study
    from simnet.report.study_page import study_page

    return study_page(read_study(folder))
