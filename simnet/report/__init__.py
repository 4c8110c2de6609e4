"""`simnet report`: a run or a study as one HTML page that needs nothing else, neither a server nor a network."""

from __future__ import annotations

from pathlib import Path

from simnet.errors import LogError
from simnet.record.atomic import refusing, write_file
from simnet.record.log import find_log
from simnet.studies import PLAN


def report(source: Path, output: Path | None = None) -> Path:
    """Write the page of a run folder, an event log or a study's folder, by default as `report.html` in that folder.

    LogError if a log is cut, altered, or breaks the laws of a run: a page never shows half a run.
    """
    source = Path(source)
    # Each page has its own libraries: a run needs no tables of studies, a study no drawing of a graph.
    if (source / PLAN).is_file():
        from simnet.report.study_page import read_study, study_page

        folder, text = source, study_page(read_study(source))
    else:
        from simnet.report.run_facts import read_run
        from simnet.report.run_page import run_page

        folder, run = find_log(source).parent, read_run(source)
        try:
            text = run_page(run)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise LogError(f"{source}: no page can be made of figures that no run gives ({error!r})") from None
    target = folder / "report.html" if output is None else Path(output)
    with refusing(target, "the report cannot be written"):
        write_file(target, text.encode())
    return target
