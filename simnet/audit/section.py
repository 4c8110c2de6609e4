"""[audit]: how `simnet audit` attacks a scenario. No other command accepts the section.

That is on purpose: `lie` makes a method break its promise, and a file that says so must not run anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from simnet.audit.lies import LIES
from simnet.errors import ScenarioError
from simnet.parts.fields import NonNegative, Number, Share, Whole
from simnet.parts.part import Section, WordOf
from simnet.scenario import Scenario
from simnet.scenario.messages import sentence
from simnet.scenario.overrides import set_path
from simnet.scenario.toml import parse

Runs = Annotated[int, BeforeValidator(Number("a whole number of at least 4", 4, 2**53, whole=True))]
"""Half of them choose an event and half count it, and a count of one says nothing."""


class _Coalition:
    """Accepts an agent, or a list of agents."""

    what = "an agent's number, or a list of them"
    _agent = Number(what, 0, 2**53, whole=True)

    def __call__(self, value: object) -> tuple[int, ...]:
        every = value if isinstance(value, (list, tuple)) else [value]
        return tuple(sorted({int(self._agent(agent)) for agent in every}))


Canary = Literal["label-flip", "worst-case", "adversarial", "alternating", "absorber"]


class Audit(Section):
    """An eavesdropper who knows everything but one row, and how hard it tries."""

    runs: Runs = Field(2000, description="runs on each of the two neighbouring data sets")
    canary: Canary = Field(
        "worst-case",
        description="the row in question: its label flipped; a unit row whose label changes; a pair of rows that an "
        "adversarial neighbour makes as influential as a row can be, in every round or in every other one "
        "(`alternating`); or a unit row whose label changes beside a neighbour that drives the model so far that "
        "rounding would absorb the noise",
    )
    victim: Whole = Field(0, description="the agent whose row it is")
    row: Whole = Field(0, description="the row, counted from 0 in the victim's data")
    links: list[tuple[Whole, Whole]] = Field([], description="links that are overheard; empty: all")
    observer: Annotated[tuple[int, ...], BeforeValidator(_Coalition())] = Field(
        (),
        description="who attacks: an agent, or a list of agents who join, with what they see and know, against the ε "
        "that holds for them; default: an eavesdropper; only for methods whose messages are linear in Gaussian noise",
    )
    evidence: Literal["all", "rounds", "tests"] = Field(
        "all",
        description="what counts: everything heard; all but the rows that are reported before the first round (PDML, a "
        "trusted hub); or only the silence before IPP-ADMM's first release, against what the test alone promises (with "
        "max_releases = 1)",
    )
    confidence: Share = Field(0.95, description="of the lower bound on ε")
    drive: NonNegative = Field(
        20.0, description="how far a hostile neighbour drives the victim's model; `absorber` needs about 4e14"
    )
    lie: Annotated[str, WordOf(LIES)] | None = Field(
        None, description="how the victim is made to break its promise: one of the lies that docs/audit.md lists"
    )


class _File(Section):
    """A scenario file, as far as the audit is concerned."""

    audit: Audit = Field(Audit(), description="")


def load_audit(path: str | Path, changes: Mapping[str, Any] | None = None) -> tuple[Scenario, Audit]:
    """Read a scenario file with or without an [audit] section; `changes` are dotted paths into either part."""
    text = Scenario.read(path)
    return audit_of(parse(text, str(path)), changes, folder=Path(path).parent)


def audit_of(
    content: Mapping[str, Any], changes: Mapping[str, Any] | None = None, *, folder: Path | None = None
) -> tuple[Scenario, Audit]:
    """Validate plain dictionaries shaped like the file."""
    rest = dict(content)
    mine = {"audit": rest.pop("audit")} if "audit" in rest else {}
    theirs = {}
    for name, value in (changes or {}).items():
        if name.partition(".")[0].strip() == "audit":
            set_path(mine, name, value, _File)
        else:
            theirs[name] = value
    try:
        plan = _File.model_validate(mine).audit
    except ValidationError as error:
        raise ScenarioError(sentence(error, _File, mine)) from None
    scenario = Scenario.of(rest, folder=folder)
    return scenario.with_(**theirs) if theirs else scenario, plan
