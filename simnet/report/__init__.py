"""`simnet report`: a run or a study as one HTML page that needs nothing else, neither a server nor a network."""

from __future__ import annotations

from pathlib import Path

from simnet.errors import LogError, SimnetError
from simnet.record.atomic import refusing, write_file
from simnet.record.log import find_log
from simnet.studies import PLAN


def report(source: str | Path, output: str | Path | None = None, *, beside: str | Path | None = None) -> Path:
    """Write the page of a run folder, an event log or a study's folder, by default as `report.html` in that folder.

    With `beside`, another run, the page is about both, replays them on one clock, and is `pair.html` by default.
    LogError if a log is cut, altered, or breaks the laws of a run: a page never shows half a run.
    """
    source = Path(source)
    if beside is not None:
        return _pair(source, Path(beside), output)
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
    return _written(text, folder / "report.html" if output is None else Path(output))


def _pair(first: Path, second: Path, output: str | Path | None) -> Path:
    from simnet.report.pair_page import pair_page
    from simnet.report.run_facts import read_run

    for source in (first, second):
        if (source / PLAN).is_file():
            raise SimnetError(f"--beside: {source} is a study; two runs can stand beside each other")
    runs = read_run(first), read_run(second)
    try:
        text = pair_page(*runs)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, SimnetError):
            raise
        raise LogError(f"{first}: no page can be made of figures that no run gives ({error!r})") from None
    return _written(text, find_log(first).parent / "pair.html" if output is None else Path(output))


def _written(text: str, target: Path) -> Path:
    with refusing(target, "the report cannot be written"):
        write_file(target, text.encode())
    return target
