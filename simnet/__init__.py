"""simnet: what does private decentralised learning cost on a real network?

The public API is flat: `from simnet import Scenario, run, compare, study`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simnet.version import VERSION as __version__

if TYPE_CHECKING:
    from simnet.errors import BudgetError, DataError, FrameError, LogError, ScenarioError, ScenarioWarning, SimnetError
    from simnet.planning.plan import Plan, plan
    from simnet.scenario import Scenario
    from simnet.simulate import Comparison, Result, compare, run
    from simnet.studies.sweep import study

_HOMES = {
    "Scenario": "simnet.scenario",
    "Result": "simnet.simulate",
    "Comparison": "simnet.simulate",
    "run": "simnet.simulate",
    "compare": "simnet.simulate",
    "study": "simnet.studies.sweep",
    "Plan": "simnet.planning.plan",
    "plan": "simnet.planning.plan",
    **dict.fromkeys(
        ("SimnetError", "ScenarioError", "ScenarioWarning", "DataError", "BudgetError", "LogError", "FrameError"),
        "simnet.errors",
    ),
}

__all__ = [
    "BudgetError",
    "Comparison",
    "DataError",
    "FrameError",
    "LogError",
    "Plan",
    "Result",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "SimnetError",
    "__version__",
    "compare",
    "plan",
    "run",
    "study",
]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `simnet --help` waits neither for numpy nor for pydantic.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'simnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
