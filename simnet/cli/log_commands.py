"""The commands of event logs: log verify, log replay, log diff, log export, and publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simnet.cli.output import exact, say

Run = Annotated[Path, typer.Argument(help="Run folder or event log.", metavar="RUN")]


def verify(
    run: Run,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Also run its scenario again, with the files that it names, and compare.")
    ] = False,
) -> None:
    """Check a log: schema, order, seal, scenario, conservation laws. Exit code 1 if anything is wrong."""
    from simnet.agent.pacing import ALIGNED
    from simnet.cli.terminal import number, say_findings
    from simnet.record.verify import verify as check
    from simnet.scenario.embedded import embedded_scenario

    report = check(run, ALIGNED, embedded_scenario)
    spent = report.privacy
    privacy = f", ε proven {number(spent.proven_epsilon)}, claimed {number(spent.claimed_epsilon)}" if spent else ""
    if spent and spent.declared_epsilon is not None:
        privacy += f", declared {number(spent.figures()['declared_epsilon'])}"
    what = f"{run}: {report.events} events, digest {report.digest[:12]}{privacy}"
    for note in report.notes:
        say(f"{run}: {note}")
    if spent:
        say(f"{run}: ε by {spent.basis}")
    if not rerun or report.findings:
        say_findings(what, "the log holds", report.findings)
        return

    from simnet.rerun import rerun as run_again

    say_findings(what, "the log holds, and a second run gives the same digest", run_again(run))


def replay(run: Run) -> None:
    """Recompute summary and tables from the log alone, and say whether they match. Exit code 1 if not."""
    from simnet.cli.terminal import say_findings
    from simnet.record.verify import replay as recompute
    from simnet.scenario.embedded import embedded_scenario

    report = recompute(run, embedded_scenario)
    say_findings(f"{run}: {report.events} events", "summary.json, rounds.csv and agents.csv match", report.findings)


def diff(a: Run, b: Run) -> None:
    """The first event that differs between two logs, in words. Exit code 1 if there is one."""
    from simnet.record.diff import diff as compare_logs

    difference = compare_logs(a, b)
    for sentence in ("the logs hold the same events",) if difference is None else difference.sentences:
        say(sentence)
    raise typer.Exit(0 if difference is None else 1)


def export(run: Run, kind: Annotated[str | None, typer.Option(help="Only this kind of event, as CSV.")] = None) -> None:
    """Write the log to stdout as JSON lines, or one kind of event as CSV."""
    from simnet.record.formats import export_csv, export_jsonl

    if kind is None:
        export_jsonl(run, exact())
    else:
        export_csv(run, kind, exact())


def publish(
    run: Run,
    out: Annotated[Path, typer.Option(help="Where the published record goes.")] = Path("published"),
    public_rows: Annotated[
        bool, typer.Option("--public-rows", help="The rows are no secret: noise from the seed may be told.")
    ] = False,
) -> None:
    """Make a record that may be given away: without losses, gradient counts and all that sees rows without noise."""
    from simnet.record.publication import publish as strip
    from simnet.scenario.embedded import embedded_scenario

    say(f"wrote {strip(run, out, public_rows=public_rows, accept=embedded_scenario)}")
