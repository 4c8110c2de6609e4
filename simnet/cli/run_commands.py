"""The commands of one scenario: run, compare, explain, audit, report; and list and init, which help to write one.

A command that takes a scenario loads it first and imports afterwards: a wrong one is refused before simpy is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simnet.cli.options import File, Json, Out, Seed, Set, Verbose, announce, changes, load
from simnet.cli.output import say


def run(
    file: File,
    sets: Set = None,
    seed: Seed = None,
    out: Out = Path("runs"),
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Simulate a scenario: print its result, keep its run folder."""
    scenario = load(file, sets, seed)

    from simnet.cli.terminal import progress, run_table, show, show_json
    from simnet.simulate import run as simulate

    with progress(scenario.name, quiet=json or verbose) as tell:
        result = simulate(scenario, out, progress=tell)
    if json:
        show_json(result.summary)
    else:
        show(run_table(result))
        say(f"took {result.summary['time']['wall']:.2f} s; run folder: {result.folder}")


def compare(
    file: File,
    methods: Annotated[str, typer.Option(help="Methods, separated by commas, or `all`.")] = "all",
    epsilon: Annotated[float | None, typer.Option(help="The same ε for all.")] = None,
    sets: Set = None,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="Also keep the run folders here.")] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Run several methods on the same data, network, seed and ε; print one table."""
    wanted = ([f"privacy.epsilon={epsilon!r}"] if epsilon is not None else []) + (sets or [])
    scenario = load(file, wanted, seed)

    from simnet.cli.terminal import compare_table, progress, show, show_json
    from simnet.simulate import compare as simulate_all
    from simnet.simulate import method_names

    names = method_names(methods)
    announce(*(scenario.with_method(name) for name in names), told=[*scenario.foreign()])
    with progress(scenario.name, quiet=json or verbose) as tell:
        results = simulate_all(scenario, names, out, progress=tell)
    if json:
        show_json([result.summary for result in results])
    else:
        show(compare_table(results))


def explain(file: File, sets: Set = None, seed: Seed = None, json: Json = False) -> None:
    """Say what a scenario means before anything runs: noise, budget, traffic, delays, and what it leaves out."""
    scenario = load(file, sets, seed)

    from simnet.cli.explain import explain as explanation
    from simnet.cli.terminal import fact_tables, show, show_json

    found = explanation(scenario)
    if json:
        show_json(found)
    else:
        show(*fact_tables(found))


def audit(
    file: File,
    runs: Annotated[int | None, typer.Option(help="Runs on each of the two data sets.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; default: one per core.")] = None,
    sets: Set = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Where audits are kept.")] = Path("audits"),
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Try to break a scenario's promise: is the noise as it should be, and what does an eavesdropper learn of one row?

    Exit code 0 if the promise holds, 1 if it is broken, 3 if the audit saw too little to say.
    """
    import os

    from simnet.audit import audit as attack
    from simnet.audit import load_audit
    from simnet.audit.result import audit_table
    from simnet.cli.terminal import progress, show, show_json

    changed = changes(sets, seed) | ({} if runs is None else {"audit.runs": runs})
    scenario, plan = load_audit(file, changed)
    announce(scenario)
    with progress(scenario.name, quiet=json or verbose) as tell:
        result = attack(scenario, plan, workers=max(1, workers or os.cpu_count() or 1), progress=tell)
    folder = result.store(out)
    if json:
        show_json(result.summary())
    else:
        show(audit_table(result))
        say(f"audit folder: {folder}")
    raise typer.Exit(result.exit_code)


def report(
    source: Annotated[Path, typer.Argument(help="Run folder, event log or study's folder.", metavar="RUN|STUDY")],
    output: Annotated[Path | None, typer.Option(help="File to write; report.html in the folder if none.")] = None,
) -> None:
    """Write a run (charts, tables, a replay) or a study as one HTML page that needs no network to be read."""
    from simnet.report import report as write

    say(f"wrote {write(source, output)}")


def list_(
    file: Annotated[Path | None, typer.Argument(help="A Python file of your own parts; its code runs.")] = None,
) -> None:
    """Every algorithm, topology, link model, pacing and codec; or the parts of a file, with their fields."""
    import json

    from simnet.cli.terminal import fact_tables, show
    from simnet.parts.foreign import installed

    if file is not None:
        from simnet.scenario.own_parts import described

        show(*fact_tables(described(file)))
        return
    found = json.loads((Path(__file__).parents[1] / "catalogue.json").read_text(encoding="utf-8"))
    brought = {point.name: point.value for point in installed()}
    show(*fact_tables(found | ({"parts of other packages": brought} if brought else {})))


def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("scenario.toml"),
    method: Annotated[
        Path | None, typer.Option(help="Write a commented method of your own into this file instead.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
) -> None:
    """Write a commented scenario to start from, or a method."""
    if method is not None:
        from importlib.resources import files

        text = (files("simnet.check") / "starter_method.txt").read_text(encoding="utf-8")
        _write(method, text.replace("my_method.py", method.name), force=force)
        say(f"wrote {method}; now: simnet check {method}:NoisyDescent")
        return
    from simnet.scenario.reference import commented

    _write(path, commented(), force=force)
    say(f"wrote {path}; now: simnet run {path}")


def _write(path: Path, text: str, *, force: bool) -> None:
    from simnet.errors import SimnetError

    try:
        with path.open("w" if force else "x", encoding="utf-8") as handle:
            handle.write(text)
    except FileExistsError:
        raise SimnetError(f"{path} exists already: choose another name, or --force to replace it") from None
    except OSError as error:
        raise SimnetError(f"{path}: {error.strerror}") from None
