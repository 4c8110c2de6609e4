"""[limits]: how much memory and time a run may need, by the estimate that is made before anything is built."""

from __future__ import annotations

from pydantic import Field

from simnet.parts.fields import PositiveSeconds, Size
from simnet.parts.part import Section

MEMORY = 16 * 2**30
TIME = 30 * 86400.0


class SizeLimits(Section):
    """How large a run may be. A run whose estimate is above is refused, on every machine alike."""

    memory: Size = Field(MEMORY, description="most memory in bytes, by a rough estimate")
    time: PositiveSeconds = Field(TIME, description="longest time of computing in seconds, by a rough estimate")
