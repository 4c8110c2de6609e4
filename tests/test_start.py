"""What a user waits for before the first line of output: modules are counted, for seconds depend on the machine."""

import subprocess
import sys

import pytest

HEAVY = (
    *("numpy", "scipy", "networkx", "simpy", "structlog", "msgspec", "zstandard", "matplotlib", "polars", "pandas"),
    *("dp_accounting", "dask", "distributed", "cryptography", "asyncio"),
)
SCRIPT = """
import sys
before = set(sys.modules)
from simnet.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*(set(sys.modules) - before), file=sys.stderr)
"""


def modules(*arguments: str) -> set[str]:
    """All modules that a command imports."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize(("command", "most"), [(("--help",), 250), (("run", "--help"), 250), (("list",), 300)])
def test_help_and_lists_wait_for_nothing_heavy(command, most):
    found = modules(*command)
    assert not {name.split(".")[0] for name in found} & set(HEAVY)
    assert "simnet.scenario" not in found
    assert len(found) <= most


def test_a_run_does_not_wait_for_what_it_does_not_use(tmp_path):
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(
        'rounds = 1\n[data]\nsource = "synthetic"\nrows = 100\n[topology]\nkind = "ring"\nagents = 3\n'
        '[algorithm]\nname = "admm"\n'
    )
    found = modules("run", str(scenario), "--out", str(tmp_path), "--json")
    assert not {name.split(".")[0] for name in found} & {"dp_accounting", "matplotlib", "polars", "pandas", "dask"}
