"""The command line: a thin skin over the Python API.

Commands import simnet's modules when they run: `simnet --help` must not wait for numpy.
A user's mistake is one sentence on stderr and exit code 2. Ctrl-C is exit code 130, SIGTERM 143.
"""

from __future__ import annotations

import re
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from simnet.cli import live_commands as live
from simnet.cli import log_commands as log
from simnet.cli.check_commands import check
from simnet.cli.options import Interrupted, raise_interrupted
from simnet.cli.output import say, speak_ascii_too
from simnet.cli.plan_command import plan
from simnet.cli.run_commands import audit, compare, explain, report, run
from simnet.cli.shelf_commands import init, list_, runs, scenarios, schema
from simnet.cli.study_commands import query, reach, sweep, tune
from simnet.printable import escaped
from simnet.version import VERSION


class _RunByDefault(TyperGroup):
    """`simnet live FILE` means `simnet live run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


class _InWords(TyperCommand):
    """Its help names no types of Python: typer says `RUN <list[Path]>` of an argument that may be repeated."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        formatter.buffer[:] = [re.sub(r" <list\[\w+\]>", "", piece) for piece in formatter.buffer]


app = typer.Typer(
    name="simnet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        say(f"simnet {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """What does private decentralised learning cost on a real network?"""


log_app = typer.Typer(help="Verify, replay, compare and export event logs.", no_args_is_help=True)
live_app = typer.Typer(
    cls=_RunByDefault,
    help="Run a scenario with real processes. Real sockets and real time, too: `simnet live SCENARIO`.",
    no_args_is_help=True,
)
for group, commands in (
    (
        app,
        (
            plan,
            init,
            scenarios,
            list_,
            schema,
            explain,
            run,
            compare,
            runs,
            report,
            sweep,
            tune,
            reach,
            query,
            audit,
            check,
        ),
    ),
    (app, (log.publish, log.bundle, live.agent)),
    (log_app, (log.verify, log.replay, log.diff, log.export)),
    (live_app, (live.run, live.init, live.merge)),
):
    for command in commands:
        group.command(name=command.__name__.rstrip("_"), cls=_InWords)(command)
app.add_typer(log_app, name="log")
app.add_typer(live_app, name="live")


def _sentence(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning as users see it: one of simnet's own without the line of code that it comes from."""
    from simnet.errors import ScenarioWarning

    known = issubclass(category, ScenarioWarning)
    return f"simnet: caution: {escaped(str(message))}\n" if known else _PLAIN(message, category, filename, lineno, line)


_PLAIN = warnings.formatwarning


def main() -> None:
    """The `simnet` command."""
    from simnet.errors import SimnetError

    raise_interrupted()
    speak_ascii_too()
    warnings.formatwarning = _sentence
    try:
        app()
    except SimnetError as error:
        say(f"simnet: {error}", err=True)
        sys.exit(2)
    except Interrupted as interrupted:
        say(f"simnet: interrupted; {interrupted.kept}", err=True)
        sys.exit(128 + interrupted.number)
