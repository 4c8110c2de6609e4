"""All benchmarks, one after another: `make bench`. Each is a process of its own and leaves its numbers in a file.

Under ten minutes on a machine that does nothing else. The audit (`benchmarks.audit`), what each trick buys
(`benchmarks.tricks`) and the largest network (`make scale`) take longer and are not among them.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from time import perf_counter

ALL = {
    "work": [],
    "profile": [],
    "start": [],
    "kernel": [],
    "link": [],
    "solver": [],
    "whole_run": [],
    "overhead": [],
    "cores": [],
    "scale": [],
    "memory": [],
    "study": [],
}
"""Modules, with their arguments."""


def main() -> None:
    failed = []
    for name, arguments in ALL.items():
        if importlib.util.find_spec(f"benchmarks.{name}") is None:
            continue
        print(f"\n== {name}", flush=True)
        began = perf_counter()
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments])
        print(f"   {perf_counter() - began:.0f} s", flush=True)
        if done.returncode:
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
