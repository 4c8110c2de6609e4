"""From a run folder to a file of HTML, which is there as a whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from simnet.errors import SimnetError
from simnet.record.folder import find_log
from simnet.report.run_facts import read_run
from simnet.report.run_page import run_page


def report(run: Path, output: Path | None = None) -> Path:
    """Write the page of a run folder or an event log, by default beside the log as `report.html`.

    LogError if the log is cut, altered, or breaks the laws of a run: a page never shows half a run.
    """
    target = find_log(run).with_name("report.html") if output is None else Path(output)
    _write(target, run_page(read_run(run)))
    return target


def _write(target: Path, text: str) -> None:
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        partial.replace(target)
    except OSError as error:
        raise SimnetError(f"{target}: the report cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):
            partial.unlink()
