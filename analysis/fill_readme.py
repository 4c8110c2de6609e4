"""Put the real output of commands, and stored tables, into README.md.

    python analysis/fill_readme.py

A block after `<!-- output of: simnet … -->` holds what that command prints. Run folders go to a temporary place; the
line with the wall time is left out, so that what remains is the same on every machine. Between `<!-- table: file -->`
and `<!-- /table -->` stands that file.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"<!-- output of: (?P<command>[^\n]*?) -->\n```text\n(?P<output>.*?)```", re.DOTALL)


TABLE = re.compile(r"<!-- table: (?P<file>\S+) -->\n(?P<table>.*?)<!-- /table -->", re.DOTALL)


def stored(file: str) -> str:
    """A table that was stored with the results."""
    return f"\n{(ROOT / file).read_text(encoding='utf-8')}\n"


def output(command: str) -> str:
    """What a `simnet` command prints, but for the wall time."""
    words = shlex.split(command)
    with tempfile.TemporaryDirectory() as folder:
        storing = ["--out", folder] if words[1] == "run" else []
        done = subprocess.run(
            [sys.executable, "-c", "from simnet.cli import main; main()", *words[1:], *storing],
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    lines = [line.rstrip() for line in done.stdout.splitlines() if not line.startswith("took ")]
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """The text with every block filled anew."""
    text = TABLE.sub(lambda m: f"<!-- table: {m['file']} -->\n{stored(m['file'])}<!-- /table -->", text)
    return BLOCK.sub(lambda m: f"<!-- output of: {m['command']} -->\n```text\n{output(m['command'])}```", text)


def main() -> None:
    path = ROOT / "README.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
