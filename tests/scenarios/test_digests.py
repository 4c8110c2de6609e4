"""Every shipped scenario gives the events that it always gave.

A change that is not meant to change a number must leave this list alone. One that is meant to is told in CHANGELOG.md,
with the reason, and the list is written anew by `python -m tests.scenarios.test_digests`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simnet import run
from simnet.audit import load_audit
from simnet.methods import METHODS

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[1] / "scenarios"
STORED = HERE / "digests.json"
DIGESTS: dict[str, str] = json.loads(STORED.read_text())


def digest(name: str) -> str:
    """Of a scenario by its path, or `path as method`."""
    path, _, method = name.partition(" as ")
    scenario = load_audit(SCENARIOS / path)[0]
    return run(scenario.with_method(method) if method else scenario).digest


@pytest.mark.parametrize("name", DIGESTS)
def test_a_scenario_gives_the_events_that_it_always_gave(name):
    assert digest(name) == DIGESTS[name]


def test_every_shipped_scenario_is_in_the_list():
    shipped = [*SCENARIOS.glob("*.toml"), *SCENARIOS.glob("networks/*.toml"), *SCENARIOS.glob("audit/*.toml")]
    assert {str(path.relative_to(SCENARIOS)) for path in shipped} == {name for name in DIGESTS if " as " not in name}


def test_every_method_is_in_the_list():
    assert {f"quickstart.toml as {name}" for name in METHODS} <= DIGESTS.keys()


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: digest(name) for name in DIGESTS}, indent=1) + "\n")
