from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from simnet.errors import DataError
from simnet.learning import file_formats


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def refusal(reader, path: Path, *arguments: object) -> str:
    """What a person is told: one sentence that names the file."""
    with pytest.raises(DataError) as caught:
        reader(path, *arguments)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence.removeprefix(str(path))


tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 6)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(tables)
def test_libsvm_text_is_read_back_to_the_last_bit(tmp_path_factory, X):
    lines = [
        f"{row % 2} " + " ".join(f"{k + 1}:{float(v)!r}" for k, v in enumerate(X[row]) if v != 0.0)
        for row in range(len(X))
    ]
    path = written(tmp_path_factory.getbasetemp(), "written.libsvm", "\n".join(lines))
    matrix, labels = file_formats.libsvm(path, X.shape[1])
    np.testing.assert_array_equal(matrix.toarray(), X)
    np.testing.assert_array_equal(labels, np.arange(len(X)) % 2)


@pytest.mark.parametrize(("suffix", "module"), [("xz", lzma), ("bz2", bz2), ("gz", gzip)])
def test_compressed_text_is_read_like_plain_text(tmp_path, suffix, module):
    libsvm = tmp_path / f"small.{suffix}"
    libsvm.write_bytes(module.compress(b"1 2:5\n-1 1:7\n"))
    np.testing.assert_array_equal(file_formats.libsvm(libsvm)[0].toarray(), [[0.0, 5.0], [7.0, 0.0]])
    libsvm.write_bytes(libsvm.read_bytes()[:-9])
    assert "the file cannot be read" in refusal(file_formats.libsvm, libsvm)
    libsvm.write_bytes(b"1 2:5\n")
    assert "the file cannot be read" in refusal(file_formats.libsvm, libsvm)


def test_libsvm_comments_blank_lines_and_rows_of_zeros_are_understood(tmp_path):
    path = written(tmp_path, "a", "# made by hand\r\n+1 1:2 3:4 # note\r\n\r\n-1\r\n+1 2:1\r\n")
    matrix, labels = file_formats.libsvm(path)
    np.testing.assert_array_equal(matrix.toarray(), [[2.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(labels, [1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 1:2\n-1 1:x\n", ", line 2, entry 1:x: 'x' is not a number"),
        ("1 1:2\n\n-1 1:2:3\n", ", line 3, entry 1:2:3: '2:3' is not a number"),
        ("1 1:2\n-1 7\n", ", line 2, entry 7:: '' is not a number"),
        ("1 1:1\n1 1:nan\n", ", line 2, entry 1:nan: 'nan' is not a finite number"),
        ("1 1:nan\n", ", line 1, entry 1: not a finite number"),
        ("1 1:1\n-1 1:1e999\n", ", line 2, entry 1:1e999: '1e999' is not a finite number"),
        ("1 1:1\n1 qid:3 1:1\n", ", line 2, entry qid:3: 'qid' is not a number"),
        ("1 1:1\n1:5 2:3\n", ", line 2, label: '1:5' is not a number"),
        ("inf 2:3\n", ", line 1, label: not a finite number"),
        ("1 1:1\n1 0:5\n", ", line 2, entry 0:5: indices are whole numbers from 1 upwards"),
        ("1 1:1\n1 1.5:5\n", ", line 2, entry 1.5:5: indices are whole numbers from 1 upwards"),
        ("1 1:1 99999999999:5\n", ", line 1, entry 2: indices are whole numbers from 1 upwards"),
        ("1 1:1 3:1\n\n1 3:1 2:5\n", ", line 3, entry 2:5: the indices of a line ascend"),
        ("1 2:1 2:5\n", ", line 1, entry 2: the indices of a line ascend"),
        ("1 2:1\n-1\n1 1:1 1:2", ", line 3, entry 1:2: the indices of a line ascend"),
    ],
)
def test_what_is_wrong_with_libsvm_text_is_said_with_line_and_entry(tmp_path, text, complaint):
    assert refusal(file_formats.libsvm, written(tmp_path, "a.svm", text)) == complaint


def test_libsvm_text_can_be_widened_but_not_cut(tmp_path):
    path = written(tmp_path, "a.t", "1 2:1\n-1 1:1\n")
    assert file_formats.libsvm(path, 5)[0].shape == (2, 5)
    assert refusal(file_formats.libsvm, path, 1) == ": column 2 is used, so it cannot have 1 features"


def test_an_npz_archive_gives_x_and_y(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.array([[1, 2], [3, 4]], dtype=np.int16), y=np.array(["no", "yes"]))
    matrix, labels = file_formats.npz(path)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, [[1.0, 2.0], [3.0, 4.0]])
    assert labels.tolist() == ["no", "yes"]


@pytest.mark.parametrize(("matrix", "vector"), [("X", "y"), ("x", "t"), ("X", "labels"), ("data", "target")])
def test_a_matlab_file_gives_its_matrix_and_labels_by_any_usual_name(tmp_path, matrix, vector):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {matrix: np.array([[1, 2], [3, 4]], dtype=np.uint8), vector: np.array([[-1], [1]])})
    X, labels = file_formats.mat(path)
    np.testing.assert_array_equal(X, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(labels, [-1.0, 1.0])


def test_a_sparse_matlab_matrix_stays_sparse(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"X": sp.csc_array([[0.0, 2.0], [3.0, 0.0]]), "y": np.array([0, 1])})
    X, labels = file_formats.mat(path)
    assert isinstance(X, sp.csr_array)
    np.testing.assert_array_equal(X.toarray(), [[0.0, 2.0], [3.0, 0.0]])
    np.testing.assert_array_equal(labels, [0.0, 1.0])


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"X": np.ones((2, 2))}, "labels called y or t or labels or target are needed"),
        ({"y": np.ones(2)}, ": a matrix called X or x or data and"),
        ({"X": np.ones((2, 2, 2)), "y": np.ones(2)}, "not a two-dimensional array of numbers"),
        ({"X": np.ones((2, 2), dtype=complex), "y": np.ones(2)}, "not a two-dimensional array of numbers"),
        ({"X": np.ones((2, 2)), "y": np.ones(3)}, ": 2 rows need as many labels, not "),
        ({"X": np.array([[1.0, 2.0], [3.0, np.nan]]), "y": np.ones(2)}, ", row 2, column 2: nan is not a finite"),
        ({"X": np.array([[1.0, np.inf], [3.0, 1.0]]), "y": np.ones(2)}, ", row 1, column 2: inf is not a finite"),
    ],
)
def test_arrays_that_are_no_data_set_are_refused(tmp_path, arrays, complaint):
    np.savez(tmp_path / "a.npz", **arrays)
    scipy.io.savemat(tmp_path / "a.mat", arrays)
    assert complaint in refusal(file_formats.npz, tmp_path / "a.npz")
    assert complaint in refusal(file_formats.mat, tmp_path / "a.mat")


def test_a_value_that_is_not_finite_in_a_sparse_matrix_is_found(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"X": sp.csc_array([[0.0, 2.0], [np.inf, 0.0]]), "y": np.array([0, 1])})
    assert ", row 2, column 1: inf is not a finite number" in refusal(file_formats.mat, path)


def test_an_archive_of_python_objects_is_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[{}]], dtype=object), y=np.ones(1))
    assert "damaged or of another format" in refusal(file_formats.npz, tmp_path / "a.npz")


def test_binary_files_of_another_kind_are_refused(tmp_path):
    for name, reader in (("a.npz", file_formats.npz), ("a.mat", file_formats.mat)):
        assert "damaged or of another format" in refusal(reader, written(tmp_path, name, "1,2,3\n" * 100))
    np.save(tmp_path / "b.npy", np.ones(3))
    (tmp_path / "b.npy").rename(tmp_path / "b.npz")
    assert "damaged or of another format" in refusal(file_formats.npz, tmp_path / "b.npz")


@pytest.mark.parametrize("reader", [file_formats.libsvm, file_formats.npz, file_formats.mat])
def test_a_missing_file_is_a_sentence(tmp_path, reader):
    with pytest.raises(DataError, match=r"there is no data file .*nowhere"):
        reader(tmp_path / "nowhere")


def test_a_folder_is_not_a_file(tmp_path):
    assert "cannot be read" in refusal(file_formats.libsvm, tmp_path)
