"""Archives of arrays from strangers: sizes are looked at before anything is allocated."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from simnet.allowance import resident
from simnet.errors import DataError
from simnet.learning import file_formats


def refusal(reader, path: Path) -> str:
    before = resident()
    with pytest.raises(DataError) as refused:
        reader(path)
    assert resident() - before < 100_000_000
    assert "\n" not in str(refused.value)
    return str(refused.value)


def header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": descr, "fortran_order": False, "shape": shape})
    return out.getvalue()


def archive(path: Path, content: bytes, how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as packed:
        packed.writestr("X.npy", content)
        packed.writestr("y.npy", header((2,)) + bytes(16))
    return path


def test_zeros_that_pack_well_are_refused_by_their_shape(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1000, 20_000)), y=np.arange(1000) % 2)
    assert (tmp_path / "a.npz").stat().st_size < 200_000
    assert "an array of 1,000 × 20,000 would take more than 64 MB" in refusal(file_formats.npz, tmp_path / "a.npz")


@pytest.mark.parametrize("shape", [(10**6, 10**6), (10**18, 10**18), (2**62,)])
def test_a_header_that_lies_costs_nothing(tmp_path, shape):
    assert "would take more than 64 MB" in refusal(file_formats.npz, archive(tmp_path / "a.npz", header(shape)))


def test_an_array_of_which_there_is_less_than_stated_is_damaged(tmp_path):
    assert "damaged" in refusal(file_formats.npz, archive(tmp_path / "a.npz", header((1000, 2)) + bytes(100)))


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(tmp_path, how):
    path = archive(tmp_path / "a.npz", header((2, 2)) + bytes(32), how)
    assert "packed in a way that NumPy does not use" in refusal(file_formats.npz, path)


def test_a_long_list_of_members_is_not_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as packed:
        for number in range(25_000):
            packed.writestr(f"{number}", b"")
    assert "its list of members is too long" in refusal(file_formats.npz, tmp_path / "a.npz")


def test_members_that_nobody_asked_for_are_not_read(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2)), y=np.arange(2), other=np.array([{}], dtype=object))
    assert file_formats.npz(tmp_path / "a.npz")[0].shape == (2, 2)


def test_a_packed_matlab_matrix_is_refused_by_what_it_unpacks_to(tmp_path):
    zeros = {"X": np.zeros((1000, 10_000)), "y": np.arange(1000) % 2}
    scipy.io.savemat(tmp_path / "a.mat", zeros, do_compression=True)
    assert (tmp_path / "a.mat").stat().st_size < 100_000
    assert "what it unpacks to would take more than 64 MB" in refusal(file_formats.mat, tmp_path / "a.mat")


def test_a_sparse_matlab_matrix_of_billions_of_rows_is_refused(tmp_path):
    wide = sp.csc_matrix(([1.0], ([0], [0])), shape=(2**31 - 5, 1))
    scipy.io.savemat(tmp_path / "a.mat", {"X": wide, "y": np.arange(2)})
    assert "an array of 2,147,483,643 × 1 would take" in refusal(file_formats.mat, tmp_path / "a.mat")


def test_cells_and_structures_are_no_matrices(tmp_path):
    nested = np.array([1.0])
    for _ in range(50):
        outer = np.zeros(1, dtype=object)
        outer[0] = nested
        nested = outer
    scipy.io.savemat(tmp_path / "a.mat", {"X": nested, "y": np.arange(2)})
    assert "X is no matrix of numbers, but of the class cell" in refusal(file_formats.mat, tmp_path / "a.mat")
