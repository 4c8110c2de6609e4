"""Where benchmarks leave their numbers: `benchmarks/results/<name>.json`, from which pages of docs/ are filled."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def stored(name: str) -> dict[str, Any]:
    """What was written down the last time; nothing if that was never."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def publish(name: str, found: dict[str, Any], digits: int = 4) -> None:
    """Print the ratios, and write everything down with what it was measured on; a timing has four digits at most."""
    for ratio, value in found.get("ratios", {}).items():
        print(f"{value:10.2f}  {ratio}")
    RESULTS.mkdir(exist_ok=True)
    told = _rounded(found, digits) | {"python": platform.python_version(), "machine": platform.machine()}
    (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each, digits) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each, digits) for each in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
