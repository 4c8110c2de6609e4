"""SimPy's own tests, on the environment that an engine makes.

They are part of SimPy's source package only, which `make .venv/simpy-tests` (and with it `make test`) fetches.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = Path(sys.prefix, "simpy-tests", f"simpy-{version('simpy')}", "tests")
OURS_NOT_TO_TEST = ("test_rt.py", "test_benchmark.py")
"""A clock of real time, and benchmarks."""
NAMES_ITS_FILE = "tests/test_exceptions.py::test_exception_chaining"
"""It compares a traceback word by word, and the last line of it names the file and the source of `step`."""


def outcomes(*options: str) -> dict[str, str]:
    """What becomes of each test of the suite."""
    command = [sys.executable, "-m", "pytest", "-v", "--color=no", "-p", "no:cacheprovider", "-p", "no:xdist", *options]
    command += [f"--ignore={SUITE / name}" for name in OURS_NOT_TO_TEST]
    done = subprocess.run(
        [*command, str(SUITE)],
        cwd=SUITE.parent,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}"},
        capture_output=True,
        text=True,
    )
    return dict(re.findall(r"^(\S+::\S+) (PASSED|FAILED|ERROR|SKIPPED)", done.stdout, re.MULTILINE))


@pytest.mark.skipif(
    not SUITE.exists(), reason="SimPy's source package is not here: `make .venv/simpy-tests` fetches it"
)
def test_simpys_own_tests_come_out_as_on_simpys_own_environment():
    stock, ours = outcomes(), outcomes("-p", "simpy_on_engine")
    assert len(stock) > 100
    assert ours.pop(NAMES_ITS_FILE) == "FAILED"
    assert stock.pop(NAMES_ITS_FILE) == "PASSED"
    assert ours == stock
