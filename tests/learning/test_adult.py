from __future__ import annotations

import math
import os
import subprocess
import sys
from hashlib import sha256
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from simnet.learning.adult import COLUMNS, adult, adult_41, adult_age
from simnet.learning.dataset import Dataset, scale, split
from tests.learning.plain import error, fit

SHIPPED = resources.files("simnet.learning") / "data" / "adult.xz"
SHIPPED_SHA256 = "d6df06fba21f66416fdc0edd87f1649344e7d83d93c49efbe60afedb7d175be1"
INCOMPLETE = resources.files("simnet.learning") / "data" / "adult-incomplete.xz"
INCOMPLETE_SHA256 = "1235bab3c486be38f02502a9c7da5e8d70c1eca3aba62e791e72c0fd4a7b1315"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return scale(adult())


def feature(name: str, value: str = "") -> int:
    """The position of a feature, counted from adult.names alone."""
    start = 0
    for column in COLUMNS:
        if column.name == name:
            return start + (column.values.index(value) if value else 0)
        start += max(len(column.values), 1)
    raise KeyError(name)


def make(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis.make_adult", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_shipped_file_is_the_pinned_one_and_small():
    content = SHIPPED.read_bytes()
    assert sha256(content).hexdigest() == SHIPPED_SHA256
    assert len(content) < 300_000


def test_so_is_the_file_of_the_rows_with_a_missing_value():
    content = INCOMPLETE.read_bytes()
    assert sha256(content).hexdigest() == INCOMPLETE_SHA256
    assert len(content) < 30_000


def test_it_has_the_shape_and_the_positive_share_of_the_papers(data: Dataset):
    assert (data.rows, data.features) == (45_222, 105)
    assert int((data.y > 0).sum()) == 11_208
    assert (data.y > 0).mean() == pytest.approx(0.2478, abs=5e-5)
    # The training file comes first: 30,162 complete rows, 7,508 of them positive.
    assert int((data.y[:30_162] > 0).sum()) == 7_508


def test_no_row_is_longer_than_one_even_by_a_rounding_error(data: Dataset):
    assert isinstance(data.X, sp.csr_array)
    dense = data.X.toarray()
    assert np.linalg.norm(dense, axis=1).max() <= 1.0
    assert np.sqrt(data.X.multiply(data.X).sum(axis=1)).max() <= 1.0
    assert max(math.fsum(v * v for v in row) for row in dense[:2000]) <= 1.0
    # All raw rows are longer than 1, so all end on the sphere.
    assert np.linalg.norm(dense, axis=1).min() > 1.0 - 1e-13


def test_the_category_that_no_complete_row_has_is_an_empty_column(data: Dataset):
    assert isinstance(data.X, sp.csr_array)
    used = np.diff(data.X.tocsc().indptr)
    assert np.flatnonzero(used == 0).tolist() == [feature("workclass", "Never-worked")]


@pytest.mark.parametrize(
    ("row", "numbers", "categories", "label"),
    [
        # The first line of adult.data, and the first of adult.test.
        (
            0,
            {"age": 39, "fnlwgt": 77516, "education-num": 13, "capital-gain": 2174, "hours-per-week": 40},
            {"workclass": "State-gov", "education": "Bachelors", "marital-status": "Never-married",
             "occupation": "Adm-clerical", "relationship": "Not-in-family", "race": "White", "sex": "Male",
             "native-country": "United-States"},
            -1.0,
        ),
        (
            30_162,
            {"age": 25, "fnlwgt": 226802, "education-num": 7, "hours-per-week": 40},
            {"workclass": "Private", "education": "11th", "marital-status": "Never-married",
             "occupation": "Machine-op-inspct", "relationship": "Own-child", "race": "Black", "sex": "Male",
             "native-country": "United-States"},
            -1.0,
        ),
        # The last line of adult.test.
        (
            45_221,
            {"age": 35, "fnlwgt": 182148, "education-num": 13, "hours-per-week": 60},
            {"workclass": "Self-emp-inc", "education": "Bachelors", "marital-status": "Married-civ-spouse",
             "occupation": "Exec-managerial", "relationship": "Husband", "race": "White", "sex": "Male",
             "native-country": "United-States"},
            1.0,
        ),
    ],
)  # fmt: skip
def test_a_known_person_has_the_known_row(
    data: Dataset, row: int, numbers: dict[str, int], categories: dict[str, str], label: float
):
    maxima = {"age": 90, "fnlwgt": 1_490_400, "education-num": 16, "capital-gain": 99_999, "hours-per-week": 99}
    expected = np.zeros(105)
    for name, value in numbers.items():
        expected[feature(name)] = value / maxima[name]
    for name, value in categories.items():
        expected[feature(name, value)] = 1.0
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(data.X[[row]].toarray()[0], expected, atol=1e-13)
    assert data.y[row] == label


@pytest.mark.parametrize(("regulariser", "reference"), [(1e-3, 0.1766), (1e-4, 0.1654)])
def test_plain_logistic_regression_errs_as_often_as_the_reference(data: Dataset, regulariser: float, reference: float):
    train, test = split(data, 35_000, np.random.default_rng(0))
    assert error(fit(train, regulariser), test) == pytest.approx(reference, abs=5e-4)


def test_the_script_refuses_files_that_are_not_the_originals(tmp_path: Path):
    (tmp_path / "adult.data").write_text("39, State-gov, 77516\n")
    output = tmp_path / "adult.xz"
    refused = make(tmp_path, tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "adult.data" in refused.stderr
    assert "is not the UCI original" in refused.stderr
    assert not output.exists()


def test_the_script_says_what_it_needs_when_there_is_nothing(tmp_path: Path):
    refused = make(tmp_path / "nowhere")
    assert refused.returncode == 1
    assert "neither a folder nor a zip archive with adult.data" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_the_script_rebuilds_the_shipped_files_byte_for_byte(tmp_path: Path):
    source = Path(os.environ.get("SIMNET_DATA", "")) / "adult"
    if not (source / "adult.data").is_file():
        pytest.skip("needs the UCI files in $SIMNET_DATA/adult")
    assert make(source, tmp_path).returncode == 0
    for shipped in (SHIPPED, INCOMPLETE):
        assert (tmp_path / shipped.name).read_bytes() == shipped.read_bytes()


def test_a_plane_through_the_rest_tells_two_fifths_of_the_variance_of_ages():
    found = adult_age()
    assert (found.rows, found.features, found.labels) == (45_222, 105, "number")
    assert ((50 * found.y + 50).min(), (50 * found.y + 50).max()) == (17, 90)
    X = scale(found, bias=True).X.toarray()
    train, test = slice(0, 30_000), slice(30_000, None)
    model = np.linalg.solve(X[train].T @ X[train] + 30 * np.eye(X.shape[1]), X[train].T @ found.y[train])
    rest = np.mean((X[test] @ model - found.y[test]) ** 2) / found.y[test].var()
    assert 0.55 < rest < 0.65


def test_the_whole_of_adult_has_the_size_that_the_paper_states():
    """48,842 × 41: all rows of UCI, of which 11,687 earn more than 50,000 dollars (adult.names: 23.93 %)."""
    whole = adult_41()
    assert (whole.rows, whole.features, whole.labels) == (48_842, 41, "sign")
    assert int((whole.y > 0).sum()) == 11_687
    assert whole.y[:45_222].tobytes() == adult().y.tobytes()


def test_its_columns_are_those_of_adult_but_for_what_is_left_out():
    left_out = {"fnlwgt", "education", "native-country"}
    kept = [
        feature(column.name, value)
        for column in COLUMNS
        if column.name not in left_out
        for value in column.values or ("",)
        if not column.values or value != min(column.values)
    ]
    X = adult_41().X
    assert isinstance(X, sp.csr_array)
    np.testing.assert_array_equal(X[:45_222].toarray(), adult().X[:, kept].toarray())


def test_a_missing_value_is_no_category():
    """Who has never worked has no occupation, and 2,799 people have no workclass."""
    X = adult_41().X[45_222:].toarray()
    workclass, occupation = X[:, 1:8], X[:, 15:28]
    assert int((workclass.sum(axis=1) == 0).sum()) == 2_799 + 26
    never_worked = workclass[:, -1] == 1
    assert int(never_worked.sum()) == 10
    assert not occupation[never_worked].any()
