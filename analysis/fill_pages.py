"""Put the real output of commands, and stored tables, into README.md and the pages of docs/ that show them.

    python -m analysis.fill_pages

A block after `<!-- output of: simnet … -->` holds what that command prints. After
`<!-- output of: simnet …; only: a; b -->` it holds the command, and those lines alone that begin with one of these
words, with the deeper lines that follow each. Run folders go to a temporary place; the line with the wall time is left
out, so that what remains is the same on every machine. Between `<!-- table: file -->` and `<!-- /table -->`
stands that file.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md", ROOT / "docs" / "sharp_edges.md")
BLOCK = re.compile(r"<!-- output of: (?P<command>[^\n]*?) -->\n```text\n(?P<output>.*?)```", re.DOTALL)
TABLE = re.compile(r"<!-- table: (?P<file>\S+) -->\n(?P<table>.*?)<!-- /table -->", re.DOTALL)


def stored(file: str) -> str:
    """A table that was stored with the results."""
    return f"\n{(ROOT / file).read_text(encoding='utf-8')}\n"


def output(command: str) -> str:
    """What a `simnet` command prints, cautions included, but for the wall time; or those lines that are asked for."""
    command, *wanted = (part.strip() for part in re.split(r"; only:|; ", command))
    lines = printed(command)
    return "\n".join([f"$ {command}", *chosen(lines, wanted)] if wanted else lines) + "\n"


@cache
def printed(command: str) -> list[str]:
    """The lines of a command, which several blocks may show."""
    words = shlex.split(command)
    with tempfile.TemporaryDirectory() as folder:
        storing = ["--out", folder] if words[1] == "run" else []
        done = subprocess.run(
            [sys.executable, "-c", "from simnet.cli import main; main()", *words[1:], *storing],
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=True,
        )
    return [line.rstrip() for line in done.stdout.splitlines() if not line.startswith("took ")]


def chosen(lines: list[str], words: list[str]) -> list[str]:
    """The lines that begin with one of the words, without a table's frame, each with the deeper ones that follow."""
    found, deeper = [], None
    for line in (line.replace("│", " ").rstrip() for line in lines):
        label, indent = re.split(r" {2,}", line.strip())[0], len(line) - len(line.lstrip())
        if label in words or any(label.startswith((f"{word}:", f"{word} ")) for word in words):
            deeper = None if label.startswith("simnet:") else indent  # a caution is one line, whatever comes next
            found.append(line)
        elif deeper is not None and indent > deeper:
            found.append(line)
        else:
            deeper = None
    missing = [word for word in words if not any(line.strip().startswith(word) for line in found)]
    if missing:
        raise ValueError(f"no line begins with {missing}")
    indent = min(len(line) - len(line.lstrip()) for line in found)
    return [line[indent:] for line in found]


def filled(text: str) -> str:
    """The text with every block filled anew."""
    text = TABLE.sub(lambda m: f"<!-- table: {m['file']} -->\n{stored(m['file'])}<!-- /table -->", text)
    return BLOCK.sub(lambda m: f"<!-- output of: {m['command']} -->\n```text\n{output(m['command'])}```", text)


def main() -> None:
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
