"""What a user waits for before the first line of output: wall seconds, the best of several, beside a bare interpreter.

python -m benchmarks.start
"""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

from benchmarks.report import publish

COMMANDS = {
    "python": ["-c", "pass"],
    "simnet --help": ["-c", "from simnet.cli import main; main()", "--help"],
    "simnet list": ["-c", "from simnet.cli import main; main()", "list"],
}
REPEATS = 5


def main() -> None:
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(REPEATS):
        for name, arguments in COMMANDS.items():
            began = perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            best[name] = min(best[name], perf_counter() - began)
    goals = {f"seconds of {name} (goal: at most 0.4)": best[name] for name in COMMANDS if name != "python"}
    publish("start", {"seconds": best, "ratios": goals | {"seconds of a bare interpreter": best["python"]}})


if __name__ == "__main__":
    main()
