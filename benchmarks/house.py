"""How much of simnet a reader meets who follows a quickstart run and its report: files and functions that are entered.

python -m benchmarks.house          the two numbers
python -m benchmarks.house --list   and what is entered, by file

Everything counts that has code of its own: functions, comprehensions and bodies of classes, but not bodies of modules.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_FILES, MOST_FUNCTIONS = 80, 700

_WATCH = """
import json, sys
codes = set()
def watch(frame, event, _):
    if event == "call":
        codes.add(frame.f_code)
place = sys.argv.pop(1)
sys.setprofile(watch)
from simnet.cli import main
try:
    main()
finally:
    sys.setprofile(None)
    import simnet
    home = simnet.__path__[0] + "/"
    found = [(code.co_filename, code.co_qualname, code.co_firstlineno) for code in codes]
    found = [(file.removeprefix(home), *rest) for file, *rest in found if file.startswith(home)]
    with open(place, "w") as file:
        json.dump(found, file)
"""


def entered(*words: str, root: Path = ROOT) -> dict[str, list[str]]:
    """By file, the functions of simnet that a command enters, each with its line."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "codes.json"
        subprocess.run(
            [sys.executable, "-c", _WATCH, str(place), *words],
            env={**os.environ, "PYTHONPATH": str(root)},
            cwd=root,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        found: dict[str, list[str]] = {}
        for file, name, line in sorted(json.loads(place.read_text())):
            if name != "<module>":
                found.setdefault(file, []).append(f"{name}:{line}")
        return found


def quickstart(root: Path = ROOT) -> dict[str, list[str]]:
    """What `simnet run scenarios/quickstart.toml` and `simnet report` of that run enter."""
    with tempfile.TemporaryDirectory() as out:
        run = entered("run", "scenarios/quickstart.toml", "--out", out, root=root)
        (folder,) = (path.parent for path in Path(out).rglob("summary.json"))
        report = entered("report", str(folder), root=root)
    return {file: sorted({*run.get(file, ()), *report.get(file, ())}) for file in sorted({*run, *report})}


def main() -> None:
    root = next((Path(word).resolve() for word in sys.argv[1:] if not word.startswith("-")), ROOT)
    found = quickstart(root)
    if "--list" in sys.argv:
        for file, names in found.items():
            print(f"{len(names):4}  {file}: {', '.join(names)}")
    print(f"{len(found)} files and {sum(map(len, found.values()))} functions (goal: {MOST_FILES} and {MOST_FUNCTIONS})")


if __name__ == "__main__":
    main()
