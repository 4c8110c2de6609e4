"""The command line: a thin skin over the Python API.

Modules are imported inside the commands: `simnet --help` must not wait for numpy.
A user's mistake is one sentence on stderr and exit code 2; Ctrl-C is exit code 130, SIGTERM 143.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from simnet.cli.live_commands import agent, live_app
from simnet.cli.options import File, Json, Out, Seed, Set, changes, load

app = typer.Typer(
    name="simnet",
    help="What does private decentralised learning cost on a real network?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
log_app = typer.Typer(help="Verify, replay, compare and export event logs.", no_args_is_help=True)
app.add_typer(log_app, name="log")
app.add_typer(live_app, name="live")
app.command()(agent)

Run = Annotated[Path, typer.Argument(help="Run folder or event log.", metavar="RUN")]


@app.command()
def run(file: File, sets: Set = None, seed: Seed = None, out: Out = Path("runs"), json: Json = False) -> None:
    """Simulate a scenario: print its result, keep its run folder."""
    from simnet import simulate
    from simnet.cli.terminal import progress, run_table, show, show_json

    scenario = load(file, sets, seed)
    with progress(scenario.name, quiet=json) as tell:
        result = simulate.run(scenario, out, progress=tell)
    if json:
        show_json(result.summary)
    else:
        show(run_table(result))
        typer.echo(f"took {result.summary['time']['wall']:.2f} s; run folder: {result.folder}")


@app.command()
def compare(
    file: File,
    methods: Annotated[str, typer.Option(help="Methods, separated by commas, or `all`.")] = "all",
    epsilon: Annotated[float | None, typer.Option(help="The same ε for all.")] = None,
    sets: Set = None,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Also keep the run folders here.")] = None,
    json: Json = False,
) -> None:
    """Run several methods on the same data, network, seed and ε; print one table."""
    from simnet import simulate
    from simnet.cli.terminal import compare_table, progress, show, show_json

    wanted = ([f"privacy.epsilon={epsilon!r}"] if epsilon is not None else []) + (sets or [])
    scenario = load(file, wanted, seed)
    with progress(scenario.name, quiet=json) as tell:
        results = simulate.compare(scenario, simulate.method_names(methods), out, progress=tell)
    if json:
        show_json([result.summary for result in results])
    else:
        show(compare_table(results))


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY")],
    out: Annotated[Path, typer.Option(help="Where studies' folders go.")] = Path("results"),
    workers: Annotated[int | None, typer.Option(help="Processes; default: one a core.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Dask: `local`, or a scheduler: tcp://host:8786.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is done and what would run.")] = False,
    json: Json = False,
) -> None:
    """Do all runs of a study that are not done yet. Exit code 1 if some failed."""
    from simnet.cli.terminal import progress, show, show_json
    from simnet.study import sweep as studies
    from simnet.study.tables import agenda_json, agenda_table, means_table, say_failures, sweep_json

    execute = studies.executor(workers, cluster)
    agenda = studies.agenda(studies.read(file), out)
    if dry_run:
        show_json(agenda_json(agenda)) if json else show(agenda_table(agenda))
        return
    try:
        with progress(agenda.study.name, quiet=json, rate="runs/s") as tell:
            result = studies.sweep(agenda, execute, tell)
    except Interrupted as interrupted:
        interrupted.kept = "finished runs are kept, and the same command goes on"
        raise
    if json:
        show_json(sweep_json(agenda, result))
    else:
        show(means_table(result))
        say_failures(result)
        typer.echo(f"{len(agenda.todo)} of {len(agenda.runs)} runs were done now; study's folder: {result.folder}")
    raise typer.Exit(1 if result.failures.height else 0)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="For example: select seed, test_error from runs", metavar="SQL")],
    place: Annotated[Path, typer.Argument(help="A study's folder, or a folder of studies.")] = Path("results"),
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    json: Json = False,
) -> None:
    """Ask stored studies: tables `runs` and `rounds`, columns as in summary.json and rounds.csv."""
    from simnet.cli.terminal import show, show_json
    from simnet.study.query import query as ask
    from simnet.study.tables import answer_table

    answer = ask(sql, place)
    if json:
        show_json(answer.to_dicts())
    elif csv:
        typer.echo(answer.write_csv(), nl=False)
    else:
        show(answer_table(answer))


@app.command()
def explain(file: File, sets: Set = None, seed: Seed = None, json: Json = False) -> None:
    """Say what a scenario means before anything runs: parameters, noise, budget, predicted traffic."""
    from simnet.cli.explain import explain as explanation
    from simnet.cli.terminal import explain_tables, show, show_json

    found = explanation(load(file, sets, seed))
    if json:
        show_json(found)
    else:
        show(*explain_tables(found))


@app.command()
def audit(
    file: File,
    runs: Annotated[int | None, typer.Option(help="Runs on each of the two data sets.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; default: one a core.")] = None,
    sets: Set = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Where audits are kept.")] = Path("audits"),
    json: Json = False,
) -> None:
    """Try to break a scenario's promise: what an eavesdropper learns of one row. Exit code 1 if it is broken."""
    import os

    from simnet.audit import audit as attack
    from simnet.audit import load_audit
    from simnet.audit.report import audit_table
    from simnet.cli.terminal import progress, show, show_json

    changed = changes(sets, seed) | ({} if runs is None else {"audit.runs": runs})
    scenario, plan = load_audit(file, changed)
    with progress(scenario.name, quiet=json) as tell:
        result = attack(scenario, plan, workers=max(1, workers or os.cpu_count() or 1), progress=tell)
    folder = result.store(out)
    if json:
        show_json(result.summary())
    else:
        show(audit_table(result))
        typer.echo(f"audit folder: {folder}")
    raise typer.Exit(1 if result.broken else 0)


@app.command()
def report(
    source: Annotated[Path, typer.Argument(help="Run folder, event log or study's folder.", metavar="RUN|STUDY")],
    output: Annotated[Path | None, typer.Option(help="File to write; report.html in the folder if none.")] = None,
) -> None:
    """Write a run (charts, tables, a replay) or a study as one HTML page that needs no network to be read."""
    from simnet.report import report as write

    typer.echo(f"wrote {write(source, output)}")


@app.command(name="list")
def list_() -> None:
    """Every algorithm, topology, link model, pacing and codec."""
    from simnet.cli.terminal import catalogue_tables, show

    stored = Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8")
    show(*catalogue_tables(json.loads(stored)))


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("scenario.toml"),
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
) -> None:
    """Write a commented scenario to start from."""
    from simnet.errors import SimnetError
    from simnet.scenario.reference import commented

    try:
        with path.open("w" if force else "x", encoding="utf-8") as handle:
            handle.write(commented())
    except FileExistsError:
        raise SimnetError(f"{path} exists already: choose another name, or --force to replace it") from None
    except OSError as error:
        raise SimnetError(f"{path}: {error.strerror}") from None
    typer.echo(f"wrote {path}; now: simnet run {path}")


@log_app.command()
def verify(run: Run) -> None:
    """Check a log: schema, order, seal, conservation laws. Exit code 1 if anything is wrong."""
    from simnet.cli.terminal import number, say_findings
    from simnet.record.verify import verify as check

    report = check(run)
    spent = report.privacy
    privacy = f", ε proven {number(spent.proven_epsilon)}, claimed {number(spent.claimed_epsilon)}" if spent else ""
    what = f"{run}: {report.events} events, digest {report.digest[:12]}{privacy}"
    for note in report.notes:
        typer.echo(f"{run}: {note}")
    say_findings(what, "the log holds", report.findings)


@log_app.command()
def replay(run: Run) -> None:
    """Recompute summary and tables from the log alone, and say whether they match. Exit code 1 if not."""
    from simnet.cli.terminal import say_findings
    from simnet.record.replay import replay as recompute

    report = recompute(run)
    say_findings(f"{run}: {report.events} events", "summary.json, rounds.csv and agents.csv match", report.findings)


@log_app.command()
def diff(a: Run, b: Run) -> None:
    """The first event that differs between two logs, in words. Exit code 1 if there is one."""
    from simnet.record.diff import diff as compare_logs

    difference = compare_logs(a, b)
    typer.echo(difference if difference is not None else "the logs hold the same events")
    raise typer.Exit(0 if difference is None else 1)


@log_app.command()
def export(run: Run, kind: Annotated[str | None, typer.Option(help="Only this kind of event, as CSV.")] = None) -> None:
    """Write the log to stdout as JSON lines, or one kind of event as CSV."""
    from simnet.record.export import export_csv, export_jsonl

    if kind is None:
        export_jsonl(run, sys.stdout)
    else:
        export_csv(run, kind, sys.stdout)


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM. Not a KeyboardInterrupt, which typer would swallow in silence."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.kept = "nothing was kept"


def _interrupt(number: int, _frame: object) -> None:
    # An impatient user sends a second signal, and so does `timeout`: it must not cut short what answers the first.
    _heed(signal.SIG_IGN)
    raise Interrupted(number)


def _heed(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def main() -> None:
    """The `simnet` command."""
    from simnet.errors import SimnetError

    _heed(_interrupt)
    try:
        app()
    except SimnetError as error:
        typer.echo(f"simnet: {error}", err=True)
        sys.exit(2)
    except Interrupted as interrupted:
        typer.echo(f"simnet: interrupted; {interrupted.kept}", err=True)
        sys.exit(128 + interrupted.number)
