"""The command line: a thin skin over the Python API.

Commands import simnet's modules when they run: `simnet --help` must not wait for numpy.
A user's mistake is one sentence on stderr and exit code 2. Ctrl-C is exit code 130, SIGTERM 143.
"""

from __future__ import annotations

import sys

import typer

from simnet.cli.live_commands import agent, live_app
from simnet.cli.log_commands import log_app
from simnet.cli.options import Interrupted, raise_interrupted
from simnet.cli.run_commands import audit, compare, explain, init, list_, report, run
from simnet.cli.study_commands import query, sweep

app = typer.Typer(
    name="simnet",
    help="What does private decentralised learning cost on a real network?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (agent, run, compare, sweep, query, explain, audit, report, list_, init):
    app.command(name=command.__name__.rstrip("_"))(command)
app.add_typer(log_app, name="log")
app.add_typer(live_app, name="live")


def main() -> None:
    """The `simnet` command."""
    from simnet.errors import SimnetError

    raise_interrupted()
    try:
        app()
    except SimnetError as error:
        typer.echo(f"simnet: {error}", err=True)
        sys.exit(2)
    except Interrupted as interrupted:
        typer.echo(f"simnet: interrupted; {interrupted.kept}", err=True)
        sys.exit(128 + interrupted.number)
