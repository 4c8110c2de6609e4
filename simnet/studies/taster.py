"""A table that somebody else may have made is read by another process first.

The reader of Parquet takes what memory a file asks for, and may end its process over one wrong byte. So a process that
has nothing to lose, and that may not grow, reads the table before this one does, and tells how large it is.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

from simnet.allowance import Allowance

_PATIENCE = 60.0
"""Seconds for a table: the largest that may be read takes less than one."""
_BESIDES = 128
"""Megabytes that the reader may need beside the table: a part of it as it was packed, and threads."""
_NUMBER, _TEXT = 8, 16
"""Bytes of a number, and of a text beside its letters."""


def taste(content: bytes, allowance: Allowance, name: str) -> None:
    """Take what the table in a Parquet file needs; ValueError if no process can read it in this memory."""
    # Only this simnet, and nothing from the current folder, which may be the stranger's.
    here = str(Path(__file__).parents[2])
    found = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    most = allowance.bytes + _BESIDES * 1_000_000
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "simnet.studies.taster", str(most)],
            input=content,
            capture_output=True,
            timeout=_PATIENCE,
            env={**os.environ, "PYTHONPATH": found, "POLARS_MAX_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"reading it takes more than {_PATIENCE:g} s") from None
    if done.returncode == -signal.SIGABRT:  # how the reader ends where it gets no memory
        raise allowance.refusal(f"what {name} lists")
    told = done.stdout.split()
    if done.returncode or len(told) != 1 or not told[0].isdigit():
        raise ValueError("a process that read it for a try did not survive it, or found no table")
    allowance.take(int(told[0]), f"what {name} lists")


def _main() -> None:
    content = sys.stdin.buffer.read()
    import polars as pl

    _stay_below(int(sys.argv[1]))
    size = 0
    found = pl.read_parquet(io.BytesIO(content))
    for column in found.iter_columns():
        told = column.len() * _NUMBER
        if column.dtype == pl.String:
            # A text that stands in many rows is stored once, and printed once per row.
            told = column.len() * _TEXT + int(column.str.len_bytes().sum() or 0)
        size += max(told, int(column.estimated_size()))
    print(size)


def _stay_below(growth: int) -> None:
    """Let this process take so many bytes more and no core file, where the system can be told."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as handle:
            now = int(handle.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError):
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (now + growth, now + growth))


if __name__ == "__main__":
    _main()
