"""Run the commands of docs/tutorial.md, put what they print into the page, and write docs/tutorial.ipynb.

    python -m analysis.make_tutorial

The page is the source. A block `sh` is one command line, a block `toml` is the file that its first line names, a block
`python` is a program; a block `text` after them holds what was printed. In the notebook these are cells with `!`,
`%%writefile` and plain code, so that it runs wherever IPython does. Nothing here needs it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"

BLOCK = re.compile(
    r"```(?P<language>sh|toml|python)\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL
)
_TIMED = re.compile(r"│ (age|by sockets|digest|lasted) |took |│\s+│\s+│")
_DIGEST = re.compile(r"\b[0-9a-f]{12}\b")


def source(block: re.Match[str]) -> str:
    """A block of the page as a cell."""
    code = block["code"].rstrip("\n")
    if block["language"] == "sh":
        return "!" + code
    if block["language"] == "toml":
        first, _, rest = code.partition("\n")
        return f"%%writefile {first.removeprefix('# ')}\n{rest}"
    return code


def play(sources: Sequence[str], folder: Path) -> list[str]:
    """What cells print, run one after another in a folder. A command that fails ends it."""
    scripts = folder / ".bin"
    scripts.mkdir()
    command = scripts / "simnet"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from simnet.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }
    return [_played(each, folder, environment) for each in sources]


def _played(code: str, folder: Path, environment: dict[str, str]) -> str:
    if code.startswith("%%writefile "):
        first, _, rest = code.partition("\n")
        name = first.split()[1]
        (folder / name).write_text(rest + "\n", encoding="utf-8")
        return f"Writing {name}\n"
    words = ["sh", "-ec", code[1:]] if code.startswith("!") else [sys.executable, "-c", code]
    done = subprocess.run(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    if done.returncode:
        raise RuntimeError(f"{code}\n{done.stdout}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def steady(output: str) -> list[str]:
    """The lines that are the same whenever and wherever the command runs: no wall times, no digests of a run."""
    lines = (_DIGEST.sub("…", line) for line in output.splitlines() if not _TIMED.match(line))
    return sorted(lines) if "published/" in output else list(lines)  # folders are named by their digests


def kept(old: str | None, new: str) -> str:
    """What the page has, unless more than wall times and digests has changed."""
    return new if old is None or steady(old) != steady(new) else old


def filled(page: str, outputs: Sequence[str]) -> str:
    """The page with what its blocks print; a block without a place for it stays without."""
    remaining = iter(outputs)

    def put(block: re.Match[str]) -> str:
        printed = next(remaining)
        shown = "" if block["output"] is None else f"\n```text\n{printed}```\n"
        return f"```{block['language']}\n{block['code']}```\n{shown}"

    return BLOCK.sub(put, page)


def notebook(page: str, outputs: Sequence[str]) -> dict[str, Any]:
    """The page as a notebook: format 4.5."""
    cells: list[dict[str, Any]] = []
    end = 0
    for number, (block, printed) in enumerate(zip(BLOCK.finditer(page), outputs, strict=True), 1):
        cells += _prose(page[end : block.start()], len(cells))
        stream = {"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}
        cells.append(_cell("code", source(block), len(cells)) | {"execution_count": number, "outputs": [stream]})
        end = block.end()
    cells += _prose(page[end:], len(cells))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _prose(text: str, number: int) -> list[dict[str, Any]]:
    return [_cell("markdown", text.strip(), number)] if text.strip() else []


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(page))
    with tempfile.TemporaryDirectory() as folder:
        printed = play([source(block) for block in blocks], Path(folder))
    outputs = [kept(block["output"], new) for block, new in zip(blocks, printed, strict=True)]
    PAGE.write_text(filled(page, outputs), encoding="utf-8")
    made = notebook(page, outputs)
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
