"""`simnet check`: does a part, whoever wrote it, keep the rules?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simnet.cli.options import Json, Seed, Set, Verbose, changes
from simnet.cli.output import say

if TYPE_CHECKING:
    from rich.table import Table

    from simnet.check import CheckResult

_MARKS = {"passed": "green", "failed": "bold red", "not applicable": "dim"}


def check(
    part: Annotated[
        str,
        typer.Argument(help="my_file.py:MyMethod, package.module:MyMethod, or a word such as admm.", metavar="PART"),
    ],
    scenario: Annotated[Path | None, typer.Option(help="Try it in this scenario, not in a small world.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave live runs and audits out.")] = False,
    sets: Set = None,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Also write the verdict as an HTML page.")] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Put a method, or another part, to the test. Does it repeat, survive, pay, and run live?

    Exit code 0 if no check failed, 1 if one did.
    """
    from simnet.check import check as look
    from simnet.cli.terminal import progress, show, show_json

    changed = changes(sets, seed)
    with progress(part, quiet=json or verbose) as tell:
        result = look(part, changed, scenario=scenario, quick=quick, progress=tell)
    if json:
        show_json(result.summary())
    else:
        show(check_table(result))
    if out is not None:
        from simnet.report.check_page import write_check_page

        write_check_page(result, out)
        say(f"wrote {out}", err=json)
    raise typer.Exit(result.exit_code)


def check_table(result: CheckResult) -> Table:
    """One row per check, for 80 columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{result.reference}\n{result.verdict}", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for each in result.outcomes:
        status = "–" if each.status == "not applicable" else each.status.value
        table.add_row(each.name, Text(status, style=_MARKS[each.status]), Text(each.sentence))
    return table
