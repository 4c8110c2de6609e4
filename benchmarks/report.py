"""Where benchmarks leave their numbers: `benchmarks/results/<name>.json`, from which pages of docs/ are filled."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def publish(name: str, found: dict[str, Any]) -> None:
    """Print the ratios, and write everything down with what it was measured on."""
    for ratio, value in found.get("ratios", {}).items():
        print(f"{value:10.2f}  {ratio}")
    RESULTS.mkdir(exist_ok=True)
    told = _rounded(found) | {"python": platform.python_version(), "machine": platform.machine()}
    (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Four digits: a timing has no more."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
