"""Numbers that a network model accepts: a refusal names the field and says what would be right."""

from __future__ import annotations

from math import inf

from simnet.errors import ScenarioError


def probability(field: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ScenarioError(f"{field} = {value}: a probability lies between 0 and 1")


def positive(field: str, value: float) -> None:
    if not 0 < value < inf:
        raise ScenarioError(f"{field} = {value}: must be finite and greater than 0")


def not_negative(field: str, value: float) -> None:
    if not 0 <= value < inf:
        raise ScenarioError(f"{field} = {value}: must be finite and at least 0")
