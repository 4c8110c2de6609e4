"""Every shipped scenario gives the events that it always gave.

A change that is not meant to change a number must leave this list alone. One that is meant to is told in CHANGELOG.md,
with the reason, and the list is written anew by `python -m tests.scenarios.test_digests`.

The last bits of a matrix product depend on the processor, and a long run without noise has so many numbers that one of
them is turned by rounding. Such a scenario has one digest per kind of processor (OpenBLAS's Haswell and SkylakeX).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simnet import run
from simnet.audit import load_audit
from simnet.methods import METHODS

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[1] / "scenarios"
STORED = HERE / "digests.json"
DIGESTS: dict[str, list[str]] = json.loads(STORED.read_text())


def digest(name: str) -> str:
    """Of a scenario by its path, or `path as method`."""
    path, _, method = name.partition(" as ")
    scenario = load_audit(SCENARIOS / path)[0]
    return run(scenario.with_method(method) if method else scenario).digest


@pytest.mark.parametrize("name", DIGESTS)
def test_a_scenario_gives_the_events_that_it_always_gave(name):
    assert digest(name) in DIGESTS[name]


def test_every_shipped_scenario_is_in_the_list():
    shipped = [*SCENARIOS.glob("*.toml"), *SCENARIOS.glob("networks/*.toml"), *SCENARIOS.glob("audit/*.toml")]
    assert {str(path.relative_to(SCENARIOS)) for path in shipped} == {name for name in DIGESTS if " as " not in name}


def test_every_method_is_in_the_list():
    assert {f"quickstart.toml as {name}" for name in METHODS} <= DIGESTS.keys()


KERNELS = ("Haswell", "SkylakeX")


def shipped() -> list[str]:
    """Every scenario of the list, and those that are not in it yet."""
    paths = [path for folder in (".", "networks", "audit") for path in sorted((SCENARIOS / folder).glob("*.toml"))]
    methods = [f"quickstart.toml as {name}" for name in METHODS]
    return list(dict.fromkeys([*DIGESTS, *(str(path.relative_to(SCENARIOS)) for path in paths), *methods]))


def written_anew() -> dict[str, list[str]]:
    """The list as it is now, by a process for each kind of processor."""
    found: dict[str, list[str]] = {name: [] for name in shipped()}
    for kernel in KERNELS:
        done = subprocess.run(
            [sys.executable, "-m", "tests.scenarios.test_digests", "print"],
            env={**os.environ, "OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            check=True,
        )
        for name, told in json.loads(done.stdout).items():
            found[name] = sorted({*found[name], told})
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["print"]:
        print(json.dumps({name: digest(name) for name in shipped()}))
    else:
        STORED.write_text(json.dumps(written_anew(), indent=1) + "\n")
