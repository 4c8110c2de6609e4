"""What several commands of the command line share: options, and the scenario that they come to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from simnet.scenario import Scenario

File = Annotated[Path, typer.Argument(help="Scenario file (TOML).", metavar="SCENARIO")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a field: algorithm.eta=0.05; a value is TOML, a bare word a string."),
]
Seed = Annotated[int | None, typer.Option(help="Override the seed.")]
Out = Annotated[Path, typer.Option(help="Where run folders go.")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable results and nothing else.")]


def _diagnose(verbose: bool) -> bool:
    if verbose:
        from simnet import diagnostics

        diagnostics.to_stderr()
    return verbose


Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Say on stderr what happens, a line per happening.", callback=_diagnose),
]


def changes(sets: list[str] | None, seed: int | None) -> dict[str, Any]:
    """What `--set` and `--seed` change, by field."""
    from simnet.scenario.overrides import parse_override

    found: dict[str, Any] = dict(parse_override(text) for text in sets or [])
    if seed is not None:
        found["seed"] = seed
    return found


def load(file: Path, sets: list[str] | None, seed: int | None) -> Scenario:
    """The scenario of a file, with these changes."""
    from simnet.scenario import Scenario

    changed = changes(sets, seed)
    scenario = Scenario.load(file)
    return scenario.with_(**changed) if changed else scenario
