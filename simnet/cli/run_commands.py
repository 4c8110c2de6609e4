"""The commands of one scenario: run, compare, explain, audit, report.

A command that takes a scenario loads it first and imports afterwards: a wrong one is refused before simpy is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simnet.cli.options import File, Json, Out, Seed, Set, Verbose, Workers, announce, changes, load
from simnet.cli.output import say
from simnet.errors import ScenarioError

if TYPE_CHECKING:
    from simnet.scenario import Scenario


def run(
    file: File,
    sets: Set = None,
    seed: Seed = None,
    out: Out = Path("runs"),
    workers: Annotated[int | None, typer.Option(help="Processes; default: one per core, if that pays.")] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Simulate a scenario: print its result, keep its run folder."""
    scenario = load(file, sets, seed)

    from simnet.cli.terminal import progress, run_table, show, show_json
    from simnet.simulate import run as simulate

    with progress(scenario.name, quiet=json or verbose) as tell:
        result = simulate(scenario, out, progress=tell, workers=workers)
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
    """Compare methods on the same data, network, seed and ε. Prints one table."""
    wanted = ([f"privacy.epsilon={epsilon!r}"] if epsilon is not None else []) + (sets or [])
    scenario = load(file, wanted, seed)

    from simnet.cli.terminal import compare_table, progress, say_caveats, show, show_json
    from simnet.simulate import compare as simulate_all
    from simnet.simulate import control, method_names

    names = method_names(methods)
    announce(*_fitting(scenario, names), told=[*scenario.foreign()])
    with progress(scenario.name, quiet=json or verbose) as tell:
        results = simulate_all(scenario, names, out, progress=tell)
    stopped = [control(scenario, result, results) for result in results]
    if json:
        told = [each.summary | ({"control": asdict(c)} if c else {}) for each, c in zip(results, stopped, strict=True)]
        show_json([*told, *({"algorithm": name, "refused": why} for name, why in results.refused.items())])
    else:
        show(compare_table(results, [each for each in stopped if each is not None]))
        say_caveats(results.caveats)
        for name, why in results.refused.items():
            say(f"{name} cannot run here: {why}", err=True)


def _fitting(scenario: Scenario, methods: list[str]) -> Iterator[Scenario]:
    """The scenario under each of the methods with which it makes sense."""
    for name in methods:
        with suppress(ScenarioError):
            yield scenario.with_method(name)


def explain(
    file: File,
    sets: Set = None,
    seed: Seed = None,
    agents: Annotated[bool, typer.Option("--agents", help="The noise of every agent, however many differ.")] = False,
    json: Json = False,
) -> None:
    """Say what a scenario means before anything runs. Noise, budget, traffic, delays, and what it leaves out."""
    scenario = load(file, sets, seed)

    from simnet.cli.explain import explain as explanation
    from simnet.cli.terminal import fact_tables, show, show_json

    found = explanation(scenario, agents=agents or json)
    if json:
        show_json(found)
    else:
        show(*fact_tables(found))


def audit(
    file: File,
    runs: Annotated[int | None, typer.Option(help="Runs on each of the two data sets.")] = None,
    workers: Workers = None,
    sets: Set = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="Where audits are kept.")] = Path("audits"),
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Try to break a scenario's promise. Is the noise as it should be, and what does an eavesdropper learn of one row?

    Exit code 0 if the promise holds, 1 if it is broken, 3 if the audit saw too little to say.
    """
    from simnet.audit import audit as attack
    from simnet.audit import load_audit
    from simnet.audit.result import audit_table
    from simnet.cli.terminal import progress, show, show_json
    from simnet.sim.workers import cores

    changed = changes(sets, seed) | ({} if runs is None else {"audit.runs": runs})
    scenario, plan = load_audit(file, changed)
    announce(scenario)
    with progress(scenario.name, quiet=json or verbose) as tell:
        result = attack(scenario, plan, workers=max(1, workers or cores()), progress=tell)
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
    beside: Annotated[
        Path | None, typer.Option(help="Another run: one page replays both on one clock.", metavar="RUN")
    ] = None,
    json: Json = False,
) -> None:
    """Write a run or a study as one HTML page. Charts, tables, a replay; it needs no network to be read."""
    from simnet.report import report as write

    page = write(source, output, beside=beside)
    if json:
        from simnet.cli.terminal import show_json  # here: what draws tables takes memory that a reader may need

        show_json({"page": str(page)})
    else:
        say(f"wrote {page}")
