"""Build simnet/learning/data/digits.xz from the copy of the UCI test set that scikit-learn ships.

    python -m analysis.make_digits WHEEL_OR_FOLDER [OUTPUT]

The file digits.csv.gz is taken from a folder, or from anywhere inside a zip archive such as the wheel of scikit-learn.
The same file gives the same bytes.
"""

from __future__ import annotations

import gzip
import lzma
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np

NAME = "digits.csv.gz"
SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
OUTPUT = Path(__file__).parent.parent / "simnet" / "learning" / "data" / "digits.xz"


def fetch(source: Path) -> str:
    """The text of the table, refused unless it is the original."""
    try:
        if source.is_dir():
            content = (source / NAME).read_bytes()
        else:
            with zipfile.ZipFile(source) as archive:
                content = archive.read(next(entry for entry in archive.namelist() if Path(entry).name == NAME))
    except (OSError, zipfile.BadZipFile, StopIteration):
        sys.exit(f"{source} is neither a folder nor a zip archive with {NAME} in it.")
    if sha256(content).hexdigest() != SHA256:
        sys.exit(f"{NAME} in {source} is not the original: its sha256 is {sha256(content).hexdigest()}.")
    return gzip.decompress(content).decode("ascii")


def pack(text: str) -> bytes:
    """Row after row of 64 pixels, then all digits, a byte each, as digits.py reads them."""
    table = np.array([[float(cell) for cell in line.split(",")] for line in text.splitlines()]).astype("u1")
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 0, "pb": 0}]
    body = table[:, :-1].tobytes() + table[:, -1].tobytes()
    return lzma.compress(body, check=lzma.CHECK_CRC32, filters=filters)


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        sys.exit("usage: python -m analysis.make_digits WHEEL_OR_FOLDER [OUTPUT]")
    Path(arguments[1] if len(arguments) == 2 else OUTPUT).write_bytes(pack(fetch(Path(arguments[0]))))


if __name__ == "__main__":
    main(sys.argv[1:])
