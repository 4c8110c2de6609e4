"""What is public about an agent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """How many rows an agent holds, and how many neighbours it has."""

    rows: int
    degree: int
