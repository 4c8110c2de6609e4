"""The scenario in a log's first line: whether it is one, and whether it is that of the run which the line begins.

Logs come from strangers. What stands there is checked as a scenario file is, and no code and no file that it names is
loaded.
"""

from __future__ import annotations

from pathlib import Path

from simnet.errors import LogError, ScenarioError
from simnet.record.events import RunStarted
from simnet.scenario import Scenario
from simnet.scenario.stored import stored


def embedded_scenario(start: RunStarted, folder: Path | None = None) -> Scenario:
    """The scenario of a log; LogError, in one sentence, if a run of this simnet cannot have had it.

    `folder` is where files that it names are looked up first, by whoever runs it again. Parts of its author's own are
    never loaded: something of ours stands in their place.
    """
    try:
        scenario = stored(start.scenario, start.foreign, folder)
    except ScenarioError as error:
        raise LogError(f"the scenario in its first line is none: {error}") from None
    agents = getattr(scenario.topology, "agents", None)
    if agents is not None and agents != len(start.rows):
        raise LogError(f"its scenario has {agents} agents, and its first line {len(start.rows)}")
    return scenario
