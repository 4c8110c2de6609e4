"""The commands of many runs: sweep does the runs of a study, query asks what they gave."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simnet.cli.options import Interrupted, Json, Verbose, announce
from simnet.cli.output import exact, say


def sweep(
    file: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY")],
    out: Annotated[Path, typer.Option(help="Where studies' folders go.")] = Path("results"),
    workers: Annotated[int | None, typer.Option(help="Processes; default: one per core.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Dask: `local`, or a scheduler: tcp://host:8786.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is done and what would run.")] = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Do all runs of a study that are not done yet. Exit code 1 if some failed."""
    from simnet.cli.study_tables import means_table, plan_json, plan_table, say_failures, sweep_json
    from simnet.cli.terminal import progress, show, show_json
    from simnet.studies import sweep as studies

    execute = studies.executor(workers, cluster)
    plan = studies.plan_sweep(studies.read(file), out)
    announce(*(run.scenario for run in plan.runs))
    if dry_run:
        show_json(plan_json(plan)) if json else show(plan_table(plan))
        return
    try:
        with progress(plan.study.name, quiet=json or verbose, rate="runs/s") as tell:
            result = studies.sweep(plan, execute, tell)
    except Interrupted as interrupted:
        interrupted.kept = "finished runs are kept, and the same command goes on"
        raise
    if json:
        show_json(sweep_json(plan, result))
    else:
        show(means_table(result))
        say_failures(result)
        if plan.study.common_noise:
            say("the settings share their noise (common_noise): at most one of these runs may be published")
        say(f"{len(plan.todo)} of {len(plan.runs)} runs were done now; study's folder: {result.folder}")
    raise typer.Exit(1 if result.failures.height else 0)


def query(
    sql: Annotated[str, typer.Argument(help="For example: select seed, test_error from runs", metavar="SQL")],
    place: Annotated[Path, typer.Argument(help="A study's folder, or a folder of studies.")] = Path("results"),
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    json: Json = False,
) -> None:
    """Ask stored studies: tables `runs` and `rounds`, columns as in summary.json and rounds.csv."""
    from simnet.cli.study_tables import answer_csv, answer_table
    from simnet.cli.terminal import show, show_json
    from simnet.studies.results import query as ask

    answer = ask(sql, place)
    if json:
        show_json(answer.to_dicts())
    elif csv:
        exact().write(answer_csv(answer))
    else:
        show(answer_table(answer))
