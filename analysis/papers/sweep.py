"""Run the studies of scenarios/papers, all or the named ones, without the data sets that are not at hand.

    python -m analysis.papers.sweep [NAME ...] [--out results] [--workers 2]

A study whose every data set is there is what `simnet sweep` runs. Where a file is absent, its runs are left out and a
line says so: the data of some papers may not be passed on. A study with a run that failed is the last one. The same
command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from simnet.errors import ScenarioError, SimnetError
from simnet.learning.data_section import Data
from simnet.studies import sweep as studies
from simnet.studies.spec import Study

STUDIES = Path(__file__).parents[2] / "scenarios" / "papers"
SCENARIO = "adult"
"""The one file of the folder that is a scenario."""


def names() -> list[str]:
    """All studies, in the order of their names."""
    return sorted(path.stem for path in STUDIES.glob("*.toml") if path.stem != SCENARIO)


def present(source: str) -> bool:
    """Whether a data set is inside the package, can be generated, or has its file here."""
    data = Data(source=source)
    try:
        data.source.paths(Path)
    except ScenarioError:
        return False
    return True


def trimmed(content: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A study's file without the data sets that are absent, and what they are."""
    found = deepcopy(dict(content))
    absent: list[str] = []
    for table in (found.get("grid", {}), *found.get("zip", [])):
        data = table.get("data")
        values = data if isinstance(data, list) else (data or {}).get("source", [])
        sources = [value["source"] if isinstance(value, dict) else value for value in values]
        kept = [place for place, source in enumerate(sources) if present(source)]
        absent += [source for source in sources if not present(source)]
        if isinstance(data, list):
            table["data"] = [data[place] for place in kept]
        elif isinstance(data, dict) and "source" in data:
            table["data"]["source"] = [sources[place] for place in kept]
    return found, absent


def run(name: str, out: Path, workers: int | None) -> int:
    """Do what is missing of one study, if any of its data is here; how many runs failed."""
    content, absent = trimmed(tomllib.loads((STUDIES / f"{name}.toml").read_text(encoding="utf-8")))
    for source in absent:
        print(f"{name}: {source} is left out, there is no such file here or in SIMNET_DATA")
    if any(table.get("data") in ([], {"source": []}) for table in (content.get("grid", {}), *content.get("zip", []))):
        return 0
    plan = studies.plan_sweep(Study.of(content, folder=STUDIES), out)
    print(f"{name}: {len(plan.todo)} of {len(plan.runs)} runs to do", flush=True)
    failures = studies.sweep(plan, studies.executor(workers)).failures
    for error in failures["error"].unique(maintain_order=True):
        print(f"{name}: a run failed: {error}")
    return failures.height


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="studies; default: all")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--workers", type=int, help="processes; default: one per core")
    options = parser.parse_args()
    for name in options.names:
        if name not in names():
            sys.exit(f"{name}: no such study, choose from {', '.join(names())}")
    try:
        for name in options.names or names():
            if failed := run(name, options.out, options.workers):
                sys.exit(f"{name}: {failed} runs failed, so no figure is drawn; the same command tries them again")
    except SimnetError as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted: finished runs are kept, and the same command goes on")


if __name__ == "__main__":
    main()
