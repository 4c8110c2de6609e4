"""`simnet plan`: from a user's files and a question to a scenario and a study."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simnet.cli.options import Json, Set, changes
from simnet.cli.output import say

if TYPE_CHECKING:
    from rich.table import Table

    from simnet.planning.plan import Plan


def plan(
    data: Annotated[
        str, typer.Argument(help="A table (CSV, LIBSVM, NPZ, MAT), or a name such as adult.", metavar="TABLE")
    ],
    target: Annotated[float, typer.Option(help="The test error to reach.")],
    epsilon: Annotated[float, typer.Option(help="ε of the whole run.")] = 1.0,
    delta: Annotated[float | None, typer.Option(help="δ; default: below one over the training rows.")] = None,
    label: Annotated[str | None, typer.Option(help="The label's column; default: the last.", metavar="COLUMN")] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label that counts as +1, and all others as −1.", metavar="LABEL")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be repeated.", metavar="COLUMN")
    ] = None,
    skew: Annotated[
        float | None, typer.Option(help="Deal labels unequally: Dirichlet parameter, small is very unequal.")
    ] = None,
    graph: Annotated[str | None, typer.Option(help="GraphML, GML, CSV, JSON or an edge list.", metavar="FILE")] = None,
    agents: Annotated[int | None, typer.Option(help="Or so many agents on a random graph.")] = None,
    trace: Annotated[
        str | None, typer.Option(help="Measured delays, for links of which the graph says none.", metavar="FILE")
    ] = None,
    trace_unit: Annotated[
        str | None, typer.Option(help="What its delays count, if no heading says it: us, ms, s.", metavar="UNIT")
    ] = None,
    round_trip: Annotated[
        bool | None, typer.Option("--round-trip/--one-way", help="Whether its delays are there and back.")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="Share of lost packets, such as 5%.", metavar="SHARE")] = None,
    burst: Annotated[float | None, typer.Option(help="Mean length of a run of lost packets.")] = None,
    rounds: Annotated[int, typer.Option(help="The most rounds that an agent plays.", min=1)] = 30,
    methods: Annotated[
        str | None, typer.Option(help="Methods to try, separated by commas, or `all`; default: a good few.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs of each setting.", min=1)] = 5,
    name: Annotated[str | None, typer.Option(help="What both files are called; default: as the table.")] = None,
    sets: Set = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    json: Json = False,
) -> None:
    """Write a scenario and a study from your own files. It checks units and says what is feasible first."""
    from simnet.cli.terminal import fact_tables, show, show_json
    from simnet.planning.plan import plan as planned

    found = planned(
        data,
        target=target,
        epsilon=epsilon,
        delta=delta,
        label=_column(label),
        positive=positive,
        drop=drop or (),
        graph=graph,
        agents=agents,
        trace=trace,
        trace_unit=trace_unit,
        round_trip=round_trip,
        loss=_share(loss),
        burst=burst,
        skew=skew,
        rounds=rounds,
        methods=methods,
        seeds=seeds,
        name=name,
        sets=changes(sets, None),
    )
    scenario, study = found.write(Path(), force=force)
    if json:
        show_json(_json(found))
        return
    show(*fact_tables(found.facts), _table(found))
    for method, why in found.refused.items():
        say(f"{method} cannot run here: {why}", err=True)
    say(f"wrote {scenario} and {study}: {len(found.settings)} settings, {found.runs} runs")
    folder = Path("results", _folder(found))
    say(f"now: simnet sweep {study}; then: simnet reach {folder} for the answer, simnet report {folder} for its page")


def _json(found: Plan) -> dict[str, Any]:
    settings = [asdict(each) for each in found.settings]
    about = {"facts": found.facts, "settings": settings, "refused": found.refused, "runs": found.runs}
    return about | {"files": [*found.files], "scenario": found.scenario.content()}


def _folder(found: Plan) -> str:
    from simnet.record.folder import slug

    return slug(found.scenario.name)


def _table(found: Plan) -> Table:
    """One row per setting."""
    from rich.table import Table

    from simnet.cli.terminal import number
    from simnet.record.amounts import told_bytes

    table = Table(title=f"settings that keep ε = {found.scenario.privacy.epsilon:g}, and controls")
    for heading in ("method", "rounds", "η", "bytes at most", "seconds"):
        table.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=True)
    for each in found.settings:
        eta = each.algorithm.get("eta")
        seconds = "–" if each.seconds is None else f"{each.seconds:g}"
        told = f"{each.method}{' (no noise)' if each.control else ''}"
        table.add_row(told, number(each.rounds), "–" if eta is None else f"{eta:g}", told_bytes(each.bytes), seconds)
    return table


def _column(label: str | None) -> str | int | None:
    """A column by its name, or by its index."""
    return int(label) if label is not None and label.lstrip("-").isdigit() else label


def _share(loss: str | None) -> str | float | None:
    """A share as a number, or with its unit as it stands."""
    try:
        return None if loss is None else float(loss)
    except ValueError:
        return loss
