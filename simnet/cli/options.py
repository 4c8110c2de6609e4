"""What several commands of the command line share: options, the scenario that they come to, and interruptions."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simnet.cli.output import say

if TYPE_CHECKING:
    from simnet.parts.foreign import Foreign
    from simnet.scenario import Scenario

File = Annotated[Path, typer.Argument(help="Scenario file (TOML).", metavar="SCENARIO")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Override a field: algorithm.eta=0.05. A value is TOML; a bare word is a string.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Override the seed.")]
Out = Annotated[Path, typer.Option(help="Where run folders go.")]
Workers = Annotated[int | None, typer.Option(help="Processes; default: one per core.")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable results and nothing else.")]


def _diagnose(verbose: bool) -> bool:
    if verbose:
        from simnet import diagnostics

        diagnostics.to_stderr()
    return verbose


Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Say on stderr what happens, line by line.", callback=_diagnose),
]


def changes(sets: list[str] | None, seed: int | None) -> dict[str, Any]:
    """What `--set` and `--seed` change, by field."""
    found: dict[str, Any] = {}
    if sets:
        from simnet.scenario.overrides import parse_override

        found = dict(map(parse_override, sets))
    return found if seed is None else found | {"seed": seed}


def load(file: Path, sets: list[str] | None, seed: int | None) -> Scenario:
    """The scenario of a file, with these changes."""
    from simnet.scenario import Scenario

    changed = changes(sets, seed)
    scenario = Scenario.load(file)
    if changed:
        from simnet.scenario.overrides import with_other_parts

        changed, dropped = with_other_parts(scenario, changed)
        scenario = scenario.with_(**changed)
        if dropped:
            say(f"simnet: left out, because what is chosen now does not have it: {', '.join(dropped)}", err=True)
    announce(scenario)
    return scenario


def announce(*scenarios: Scenario, told: Iterable[Foreign] = ()) -> None:
    """Say whose code runs: a scenario that names a part of its author's own runs it."""
    for part in dict.fromkeys(part for scenario in scenarios for part in scenario.foreign() if part not in told):
        say(f"simnet: runs code that is not simnet's: {part.reference} (SHA-256 {part.sha256[:16]}…)", err=True)


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM. Not a KeyboardInterrupt, which typer would swallow in silence."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.kept = "nothing was kept"
        """what the user is told about the work so far"""


def raise_interrupted() -> None:
    """From now on both signals raise `Interrupted`."""
    _handle(_interrupt)


def _interrupt(number: int, _frame: object) -> None:
    # An impatient user sends a second signal, and so does `timeout`: it must not cut short what answers the first.
    _handle(signal.SIG_IGN)
    raise Interrupted(number)


def _handle(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
