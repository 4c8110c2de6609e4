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
    code = end.code or 0
else:
    code = 0
print(*(set(sys.modules) - before))
sys.exit(code)
"""


def modules(*arguments: str, code: int = 0) -> set[str]:
    """All modules that a command imports which ends with this code."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    *output, last = done.stdout.splitlines()
    assert output or done.stderr
    return set(last.split())


@pytest.mark.parametrize(("command", "most"), [(("--help",), 250), (("run", "--help"), 250), (("list",), 312)])
def test_help_and_lists_wait_for_nothing_heavy(command, most):
    found = modules(*command)
    assert not {name.split(".")[0] for name in found} & set(HEAVY)
    assert "simnet.scenario" not in found
    assert len(found) <= most


@pytest.mark.parametrize("command", ["run", "compare", "explain"])
def test_a_wrong_scenario_is_refused_without_waiting_for_what_a_run_needs(command, tmp_path):
    scenario = tmp_path / "wrong.toml"
    scenario.write_text('rounds = -1\n[algorithm]\nname = "admm"\n')
    found = modules(command, str(scenario), code=2)
    assert not {name.split(".")[0] for name in found} & (set(HEAVY) - {"numpy", "scipy", "msgspec"})
    assert not {f"scipy.{part}" for part in ("linalg", "optimize", "sparse", "spatial", "special")} & found


def test_a_run_does_not_wait_for_what_it_does_not_use(tmp_path):
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(
        'rounds = 1\n[data]\nsource = "synthetic"\nrows = 100\n[topology]\nkind = "ring"\nagents = 3\n'
        '[algorithm]\nname = "admm"\n'
    )
    found = modules("run", str(scenario), "--out", str(tmp_path), "--json")
    assert not {name.split(".")[0] for name in found} & {
        *("dp_accounting", "matplotlib", "polars", "pandas", "dask", "structlog"),
    }
