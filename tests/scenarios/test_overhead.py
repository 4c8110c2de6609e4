from pathlib import Path

from benchmarks.overhead import measure
from simnet import Scenario

QUICKSTART = Path(__file__).parents[2] / "scenarios" / "quickstart.toml"


def test_network_log_and_metrics_cost_at_most_half_of_the_mathematics():
    """Beside other tests on the same machine; `make bench`, which has it alone, asks for a ratio of at most 1.3."""
    measured = measure(Scenario.load(QUICKSTART), repeats=8)
    assert 1.0 <= measured["ratio"] <= 1.5, measured
