"""The commands of many runs: sweep does the runs of a study, reach and query ask what they gave."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simnet.cli.options import Interrupted, Json, Verbose, Workers, announce
from simnet.cli.output import exact, say
from simnet.errors import SimnetError

KEPT = "finished runs are kept, and the same command goes on"
"""What becomes of the runs of a study that was stopped."""


def sweep(
    file: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY")],
    out: Annotated[Path, typer.Option(help="Where studies' folders go.")] = Path("results"),
    workers: Workers = None,
    cluster: Annotated[str | None, typer.Option(help="Dask: `local`, or a scheduler: tcp://host:8786.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is done and what would run.")] = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Do all runs of a study that are not done yet. Exit code 1 if some failed."""
    from simnet.cli.study_tables import means_table, plan_json, plan_table, say_failures, sweep_json
    from simnet.cli.terminal import progress, say_caveats, show, show_json
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
        if json:
            show_json(sweep_json(plan, result))
        else:
            show(means_table(result))
            say_caveats(result.caveats)
            say_failures(result)
            if plan.study.common_noise:
                say("the settings share their noise (common_noise): at most one of these runs may be published")
            say(f"{len(plan.todo)} of {len(plan.runs)} runs were done now; study's folder: {result.folder}")
    except Interrupted as interrupted:
        interrupted.kept = KEPT
        raise
    raise typer.Exit(1 if result.failures.height else 0)


def tune(
    file: Annotated[Path, typer.Argument(help="Study file (TOML), on rows set aside.", metavar="STUDY")],
    out: Annotated[Path, typer.Option(help="Where studies' folders go.")] = Path("results"),
    by: Annotated[str, typer.Option(help="The figure whose least mean wins.", metavar="FIGURE")] = "test_error",
    most_bytes: Annotated[float, typer.Option("--bytes", help="Most bytes on the wire.", min=0)] = float("inf"),
    seconds: Annotated[float, typer.Option(help="Most simulated seconds.", min=0)] = float("inf"),
    write: Annotated[Path | None, typer.Option(help="Where the scenario that reports goes (TOML).")] = None,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Choose one setting of a study within a budget. It learns and tests on rows that no report touches."""
    from simnet.cli.study_tables import means_table
    from simnet.cli.terminal import progress, say_caveats, show, show_json
    from simnet.record.atomic import refusing, write_file
    from simnet.studies import sweep as studies
    from simnet.studies.tuning import Budget, choose, refuse_rows_that_reports_touch

    plan = studies.plan_sweep(studies.read(file), out)
    refuse_rows_that_reports_touch(plan.runs)
    announce(*(run.scenario for run in plan.runs))
    try:
        with progress(plan.study.name, quiet=json, rate="runs/s") as tell:
            result = studies.sweep(plan, studies.executor(workers), tell)
    except Interrupted as interrupted:
        interrupted.kept = KEPT
        raise
    found = choose(plan.runs, result, Budget(most_bytes, seconds), by)
    if write is not None:
        with refusing(write, "the scenario cannot be written"):
            write_file(write, found.scenario.to_toml().encode())
    if json:
        show_json({"settings": found.settings, found.figure: found.mean, "seed": found.scenario.seed})
        return
    show(means_table(result))
    say_caveats(result.caveats)
    say(str(found))
    say(f"report it from seed {found.scenario.seed} on" + ("" if write is None else f": simnet run {write}"))
    say(f"no report's ε covers the rows set aside: the choice tells of them what {found.runs} runs tell together")


def reach(
    place: Annotated[Path, typer.Argument(help="A study's folder.", metavar="STUDY")],
    target: Annotated[float | None, typer.Option(help="The test error to reach; default: the study's own.")] = None,
    by: Annotated[
        str, typer.Option(help="Rank by bytes, seconds, rounds, joules or epsilon.", metavar="COST")
    ] = "bytes",
    seeds: Annotated[bool, typer.Option("--seeds", help="Also each seed's first round that reaches it.")] = False,
    json: Json = False,
) -> None:
    """Say what each setting of a study costs to reach an error. The error is a test error, at most `--target`."""
    from simnet.cli.reach_table import reach_json, reach_table, seeds_table
    from simnet.cli.terminal import say_caveats, show, show_json
    from simnet.studies.reaching import first_hits
    from simnet.studies.reaching import reach as ask
    from simnet.studies.results import StudyResult

    study = StudyResult.load(place)
    target = study.target if target is None else target
    if target is None:
        raise SimnetError("--target: the study names none; say which test error is to be reached, such as 0.2")
    found = ask(study, target, by)
    hits = first_hits(study.rounds, [*study.fields, "seed"], target, "round")
    if json:
        show_json(reach_json(found, hits))
        return
    show(reach_table(study.name, found), *([seeds_table(found, hits)] if seeds else []))
    say(found.answer())
    say_caveats(found.caveats)


def query(
    sql: Annotated[str, typer.Argument(help="For example: select seed, test_error from runs", metavar="SQL")],
    place: Annotated[Path, typer.Argument(help="A study's folder, or a folder of studies.")] = Path("results"),
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    json: Json = False,
) -> None:
    """Ask stored studies in SQL. Tables `runs` and `rounds`; columns as in summary.json and rounds.csv."""
    from simnet.cli.study_tables import answer_csv, answer_json, answer_table
    from simnet.cli.terminal import show
    from simnet.studies.results import query as ask

    answer = ask(sql, place)
    if json or csv:
        for piece in (answer_json if json else answer_csv)(answer):
            exact().write(piece)
    else:
        show(answer_table(answer))
