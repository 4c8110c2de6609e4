"""Does a part say what it is? Its docstring, its fields, their defaults, and whether a scenario can be written back."""

from __future__ import annotations

import tomllib

from simnet.check.outcome import Failing
from simnet.check.subject import Subject
from simnet.errors import ScenarioError
from simnet.network.codec_faults import codec_faults
from simnet.scenario import Scenario


def described(subject: Subject) -> str:
    """A docstring, and a description of every field."""
    part = subject.part
    if not (part.__doc__ or "").strip():
        raise Failing(f"{part.__name__} has no docstring; its first line is what users read about it")
    own = {name: info for name, info in part.model_fields.items() if name != subject.place.one_of.tag}
    bare = [name for name, info in own.items() if not info.description]
    if bare:
        raise Failing(f"{bare[0]} has no description; write {bare[0]}: … = Field(…, description=…)")
    return f"a docstring, and {len(own)} described field{'' if len(own) == 1 else 's'}"


def defaults(subject: Subject) -> str:
    """A scenario that sets nothing is valid: every field has a default, it is a valid one, and noise can be planned."""
    try:
        _ = subject.world
    except ScenarioError as error:
        needed = [name for name, info in subject.part.model_fields.items() if info.is_required()]
        needed = [name for name in needed if name != subject.place.one_of.tag]
        hint = f"; give it a default, or --set {subject.place.path}.{needed[0]}=…" if needed else ""
        raise Failing(f"{error}{hint}") from None
    return "the small world takes it with its defaults"


def codec(subject: Subject) -> str:
    """What a codec says of itself is tried: it has no memory but what it tells, and survives loss if it says so."""
    if faults := codec_faults(subject.scenario.network.codec):
        raise Failing(faults[0])
    return "it keeps its word about loss and memory"


def comes_back(subject: Subject) -> str:
    """A scenario that is written down loads to the same one."""
    scenario = subject.scenario
    again = Scenario.of(tomllib.loads(scenario.to_toml()), folder=subject.folder)
    if again.resolved() != scenario.resolved():
        lost = _differences(scenario.resolved(), again.resolved())
        raise Failing(f"{lost} is another value once it is written down and read; let its check accept what it gives")
    return "resolved() loads back to the same scenario"


def _differences(one: object, other: object, at: str = "") -> str:
    """The first field that two resolved scenarios do not have in common."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            if one.get(name) != other.get(name):
                return _differences(one.get(name), other.get(name), f"{at}.{name}" if at else name)
    return at
