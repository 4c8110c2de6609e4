from pathlib import Path

from benchmarks.overhead import measure
from simnet import Scenario

QUICKSTART = Path(__file__).parents[2] / "scenarios" / "quickstart.toml"


def test_network_log_and_metrics_cost_at_most_a_third_of_the_mathematics():
    """CPU time is noisy on a busy machine, so the best of a few attempts counts."""
    scenario = Scenario.load(QUICKSTART)
    ratios = []
    for _ in range(5):
        ratios.append(measure(scenario, repeats=3)["ratio"])
        if ratios[-1] <= 1.3:
            break
    assert min(ratios) <= 1.3, ratios
