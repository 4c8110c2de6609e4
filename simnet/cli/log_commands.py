"""The commands of event logs: log verify, log replay, log diff, log export; publish and bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from simnet.cli.options import Json
from simnet.cli.output import exact, say

Run = Annotated[Path, typer.Argument(help="Run folder or event log.", metavar="RUN")]


def verify(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, event logs or bundles (.zip).", metavar="RUN")],
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Also run its scenario again, with the files that it names, and compare.")
    ] = False,
    json: Json = False,
) -> None:
    """Check logs: schema, order, seal, scenario, conservation laws. Exit code 1 if anything is wrong."""
    from simnet.cli.terminal import show_json
    from simnet.errors import SimnetError

    verdicts, code = [], 0
    for run in runs:
        try:
            look = _verified_bundle if run.suffix == ".zip" and run.is_file() else _verified
            verdicts.append(look(run, rerun, not json))
        except SimnetError as error:
            if len(runs) == 1:
                raise
            verdicts.append({"run": str(run), "refused": str(error)})
            say(f"simnet: {error}", err=True)
        code = max(code, 2 if "refused" in verdicts[-1] else bool(verdicts[-1]["findings"]))
    if json:
        show_json(verdicts)
    raise typer.Exit(code)


def _verified_bundle(run: Path, rerun: bool, tell: bool) -> dict[str, Any]:
    """The same of an archive: its list of files, and the log inside with its tables."""
    from simnet.bundle import opened
    from simnet.record.verify import replay as recompute
    from simnet.scenario.embedded import embedded_scenario

    with opened(run) as (folder, findings):
        if not findings:
            findings = [*recompute(folder, embedded_scenario).findings]
        return _verified(folder, rerun, tell, findings, run)


def _verified(
    run: Path, rerun: bool, tell: bool, before: Sequence[str] = (), shown: Path | None = None
) -> dict[str, Any]:
    """What a log proves, printed on the way if that is asked for; `before` was found out before."""
    from simnet.agent.pacing import ALIGNED
    from simnet.cli.terminal import number, say_findings
    from simnet.record.verify import verify as check
    from simnet.rerun import rerun as run_again
    from simnet.scenario.embedded import embedded_scenario

    report = check(run, ALIGNED, embedded_scenario)
    spent, findings, fine = report.privacy, [*before, *report.findings], "the log holds"
    told = run if shown is None else shown
    if rerun and not findings:
        findings, fine = [*run_again(run)], "the log holds, and a second run gives the same digest"
    if tell:
        for note in report.notes:
            say(f"{told}: {note}")
        privacy = ""
        if spent:
            say(f"{told}: ε by {spent.basis}")
            privacy = f", ε proven {number(spent.proven_epsilon)}, claimed {number(spent.claimed_epsilon)}"
            if spent.declared_epsilon is not None:
                privacy += f", declared {number(spent.figures()['declared_epsilon'])}"
        say_findings(f"{told}: {report.events} events, digest {report.digest[:12]}{privacy}", fine, findings)
    return {
        "run": str(told),
        "events": report.events,
        "digest": report.digest,
        "privacy": None if spent is None else spent.figures(),
        "notes": [*report.notes],
        "findings": findings,
    }


def replay(run: Run, json: Json = False) -> None:
    """Recompute summary and tables from the log alone. Exit code 1 if they do not match those that are stored."""
    from simnet.cli.terminal import say_findings, show_json
    from simnet.record.verify import replay as recompute
    from simnet.scenario.embedded import embedded_scenario

    report = recompute(run, embedded_scenario)
    if json:
        show_json({"run": str(run), "events": report.events, "findings": [*report.findings]})
    else:
        say_findings(f"{run}: {report.events} events", "summary.json, rounds.csv and agents.csv match", report.findings)
    raise typer.Exit(1 if report.findings else 0)


def diff(a: Run, b: Run, json: Json = False) -> None:
    """The first event that differs between two logs, in words. Exit code 1 if there is one."""
    from simnet.cli.terminal import show_json
    from simnet.record.diff import diff as compare_logs

    difference = compare_logs(a, b)
    if json:
        show_json({"same": difference is None, "sentences": [] if difference is None else [*difference.sentences]})
    else:
        for sentence in ("the logs hold the same events",) if difference is None else difference.sentences:
            say(sentence)
    raise typer.Exit(0 if difference is None else 1)


def export(
    run: Run,
    kind: Annotated[str | None, typer.Option(help="Only this kind of event, as CSV.")] = None,
    perfetto: Annotated[bool, typer.Option("--perfetto", help="A timeline for ui.perfetto.dev, as JSON.")] = False,
    parquet: Annotated[
        Path | None, typer.Option(help="Write one Parquet file per kind into this folder.", metavar="FOLDER")
    ] = None,
) -> None:
    """Write a log as JSON lines, CSV, a timeline or Parquet. To stdout: JSON lines, one kind of event as CSV, or a
    timeline; into a folder: one Parquet file per kind."""
    from simnet.errors import SimnetError
    from simnet.record.formats import export_csv, export_jsonl

    if (kind is not None) + perfetto + (parquet is not None) > 1:
        raise SimnetError("--kind, --perfetto and --parquet: choose one of them")
    if perfetto:
        from simnet.record.timeline import export_trace

        export_trace(run, exact())
    elif parquet is not None:
        from simnet.record.parquet import export_parquet

        say(f"wrote {len(export_parquet(run, parquet))} tables into {parquet}")
    elif kind is None:
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
    """Make a record that may be given away. Nothing in it saw rows without noise: no losses, no gradient counts."""
    from simnet.record.publication import publish as strip
    from simnet.scenario.embedded import embedded_scenario

    say(f"wrote {strip(run, out, public_rows=public_rows, accept=embedded_scenario)}")


def bundle(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="File to write; default: <name>-<digest>.zip here.")] = None,
    date: Annotated[
        str | None, typer.Option(help="Day of publication; default: when the log was stored.", metavar="YYYY-MM-DD")
    ] = None,
    inputs: Annotated[bool, typer.Option("--inputs", help="Also copy the files that the run read.")] = False,
    public_rows: Annotated[bool, typer.Option("--public-rows", help="The rows are no secret.")] = False,
) -> None:
    """Put a run, its report and a citation into one archive. `simnet log verify` checks it."""
    from datetime import UTC, datetime

    from simnet.bundle import bundle as write
    from simnet.record.log import find_log

    if date is None:
        log = find_log(run)
        stored = log.stat().st_mtime if log.is_file() else 0.0
        date = datetime.fromtimestamp(stored, UTC).date().isoformat()
    path = write(run, out, date=date, public_rows=public_rows, inputs=inputs)
    say(f"wrote {path}; a reader checks it by: simnet log verify {path.name}")
