"""Arithmetic and memory that give way under a scenario, told in a sentence that names the field.

Fields have bounds, and what can be foreseen is refused where it is known. This is for the rest: a combination of
values, each within its bounds, whose product is no number any more. A bug that has nothing to do with extreme values
keeps its traceback.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from simnet.errors import ScenarioError
from simnet.scenario import Scenario
from simnet.scenario.sizes import estimate
from simnet.scenario.toml import dotted

_ORDINARY = 6.0
"""Decades from 1: what is nearer is not blamed."""
_NO_QUANTITIES = frozenset({"seed"})


@contextmanager
def within_numbers(scenario: Scenario) -> Iterator[None]:
    """Turn errors of arithmetic and of memory inside into a ScenarioError, with the error as its cause."""
    try:
        yield
    except MemoryError as error:
        worst = max(estimate(scenario).needs, key=lambda need: need.memory).field
        raise ScenarioError(f"{worst}: memory is not enough ({error or 'the system gives no more'})") from error
    except ArithmeticError as error:
        found = most_extreme(scenario)
        if found is None:
            raise
        field, value = found
        raise ScenarioError(
            f"{field} = {value:g}: with it a number leaves the range of arithmetic ({_reason(error)}); nearer to 1 "
            "would do"
        ) from error


def most_extreme(scenario: Scenario) -> tuple[str, float] | None:
    """The field that the scenario sets farthest from 1; None if all are ordinary."""
    found = [(field, value) for field, value in _numbers(scenario.content(), ()) if _decades(value) > _ORDINARY]
    return max(found, key=lambda each: _decades(each[1]), default=None)


def _decades(value: float) -> float:
    return abs(math.log10(abs(value))) if value else 0.0


def _numbers(content: Any, at: tuple[str | int, ...]) -> Iterator[tuple[str, float]]:
    inside: Any = ()
    if isinstance(content, Mapping):
        inside = content.items()
    elif isinstance(content, (list, tuple)):
        inside = enumerate(content)
    elif isinstance(content, (int, float)) and not isinstance(content, bool) and at[-1] not in _NO_QUANTITIES:
        yield dotted(at), float(content)
    for name, value in inside:
        yield from _numbers(value, (*at, name))


def _reason(error: ArithmeticError) -> str:
    return str(error.args[-1]).lower() if error.args else type(error).__name__
