"""Run the commands of docs/first_study.md and put what they print into the page.

python -m analysis.make_first_study
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from analysis.make_tutorial import BLOCK, ROOT, filled, kept, play, source

PAGE = ROOT / "docs" / "first_study.md"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(page))
    with tempfile.TemporaryDirectory() as folder:
        printed = play([source(block) for block in blocks], Path(folder))
    outputs = [kept(block["output"], new) for block, new in zip(blocks, printed, strict=True)]
    PAGE.write_text(filled(page, outputs), encoding="utf-8")


if __name__ == "__main__":
    main()
