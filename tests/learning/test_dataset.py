"""-"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from simnet.errors import DataError
from simnet.learning import data_files
from simnet.learning.dataset import (
    BREAK_EVEN_DENSITY,
    Dataset,
    bound_rows,
    compact,
    joined,
    longest_row,
    scale,
    scale_columns,
    split,
)
from tests.learning.plain import error, fit


def with_density(share: float) -> np.ndarray:
    X = np.zeros((40, 25))
    X.flat[: int(share * X.size)] = 2.0
    return X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_matrix_is_kept_sparse_only_below_the_break_even_density(form):
    thin, thick = with_density(BREAK_EVEN_DENSITY - 0.01), with_density(BREAK_EVEN_DENSITY + 0.01)
    assert isinstance(compact(form(thin)), sp.csr_array)
    assert isinstance(compact(form(thick)), np.ndarray)
    np.testing.assert_array_equal(compact(form(thin)).toarray(), thin)
    np.testing.assert_array_equal(compact(form(thick)), thick)


def test_zeros_that_a_sparse_matrix_stores_do_not_count():
    X = sp.csr_array(np.ones((10, 10)))
    X.data[10:] = 0.0
    assert isinstance(compact(X), sp.csr_array)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_taking_rows_takes_their_labels_along_in_the_same_order(form):
    data = Dataset("four", form(np.arange(8.0).reshape(4, 2)), np.array([1.0, -1.0, -1.0, 1.0]))
    taken = data.take(np.array([3, 1]))
    assert (taken.name, taken.rows, taken.features) == ("four", 2, 2)
    np.testing.assert_array_equal(taken.X if form is np.asarray else taken.X.toarray(), [[6.0, 7.0], [2.0, 3.0]])
    np.testing.assert_array_equal(taken.y, [1.0, -1.0])


def test_labels_other_than_minus_one_and_one_are_refused():
    with pytest.raises(DataError, match=r"coins: labels must be -1 or \+1"):
        Dataset("coins", np.zeros((2, 1)), np.array([0.0, 1.0]))


def test_a_label_for_every_row():
    with pytest.raises(DataError, match="coins: 2 rows need as many labels"):
        Dataset("coins", np.zeros((2, 1)), np.ones(3))


def test_joined_parts_are_sparse_only_if_all_are():
    dense = Dataset("first", np.array([[1.0, 0.0]]), np.array([1.0]))
    sparse = Dataset("second", sp.csr_array(np.array([[0.0, 2.0]])), np.array([-1.0]))
    assert isinstance(joined([sparse, sparse]).X, sp.csr_array)
    mixed = joined([dense, sparse])
    assert isinstance(mixed.X, np.ndarray)
    assert (mixed.name, mixed.X.tolist(), mixed.y.tolist()) == ("first", [[1.0, 0.0], [0.0, 2.0]], [1.0, -1.0])


needs_data = pytest.mark.skipif("SIMNET_DATA" not in os.environ, reason="needs the data folder: set SIMNET_DATA")

finite = st.floats(allow_nan=False, allow_infinity=False)
ordinary = st.floats(-1e3, 1e3)
shapes = st.tuples(st.integers(1, 6), st.integers(1, 40))
matrices = st.one_of(hnp.arrays(np.float64, shapes, elements=elements) for elements in (finite, ordinary))


def dense(X) -> np.ndarray:
    return X.toarray() if isinstance(X, sp.csr_array) else X


def true_square(row: np.ndarray) -> Fraction:
    """The squared norm without any rounding."""
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


@given(matrices, st.randoms(use_true_random=False))
def test_a_bounded_row_is_at_most_one_long_exactly_and_in_every_order_of_summation(X, random):
    bounded = bound_rows(X)
    for row in bounded:
        assert true_square(row) <= 1
        shuffled = row.tolist()
        random.shuffle(shuffled)
        assert np.sqrt(sum(v * v for v in shuffled)) <= 1.0
    assert np.linalg.norm(bounded, axis=1).max() <= 1.0


@given(matrices)
def test_bounding_again_changes_nothing(X):
    once = bound_rows(X)
    np.testing.assert_array_equal(bound_rows(once), once)


@given(matrices)
def test_dense_and_sparse_matrices_are_bounded_alike(X):
    np.testing.assert_allclose(dense(bound_rows(sp.csr_array(X))), bound_rows(X), rtol=1e-13, atol=0)
    for row in dense(bound_rows(sp.csr_array(X))):
        assert true_square(row) <= 1


def test_rows_shorter_than_one_are_left_alone_and_longer_ones_keep_their_direction():
    X = np.array([[0.3, 0.4], [0.0, 0.0], [3.0, 4.0], [0.0, -1e300]])
    bounded = bound_rows(X)
    np.testing.assert_array_equal(bounded[:2], X[:2])
    np.testing.assert_allclose(bounded[2:], [[0.6, 0.8], [0.0, -1.0]], rtol=1e-14)


@given(matrices)
def test_scaled_columns_reach_one_and_columns_of_zeros_stay(X):
    expected = [np.abs(column).max() > 0 for column in X.T]
    for scaled in (scale_columns(X, X), dense(scale_columns(sp.csr_array(X), sp.csr_array(X)))):
        np.testing.assert_array_equal(np.abs(scaled).max(axis=0), np.where(expected, 1.0, 0.0))
        assert np.all(scaled * X >= 0.0)


@given(matrices, st.booleans(), st.booleans(), st.booleans())
def test_scaling_does_what_it_is_asked_for_and_nothing_else(X, columns, rows, bias):
    data = Dataset("any", X, np.ones(len(X)))
    for form in (X, sp.csr_array(X)):
        found = dense(scale(Dataset("any", form, data.y), columns=columns, rows=rows, bias=bias).X)
        expected = scale_columns(X, X) if columns else X
        expected = np.hstack([expected, np.ones((len(X), 1))]) if bias else expected
        if rows:
            assert all(sum(Fraction(entry) ** 2 for entry in row) <= 1 for row in found.tolist())
            expected = bound_rows(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_bound_on_the_longest_row_is_one():
    X = np.array([[3.0, -4.0], [0.0, 1.0]])
    assert 5.0 <= longest_row(X) == longest_row(sp.csr_array(X)) == pytest.approx(4 * np.sqrt(2))


def test_the_bias_column_counts_in_the_norm():
    data = Dataset("two", np.array([[0.0, 2.0], [4.0, 0.0]]), np.array([1.0, -1.0]))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(scale(data, bias=True).X, [[0.0, half, half], [half, 0.0, half]], rtol=1e-14)


def test_a_sparse_data_set_stays_sparse_through_preparation():
    X = np.zeros((30, 50))
    X[np.arange(30), np.arange(30)] = 5.0
    prepared = scale(Dataset("thin", sp.csr_array(X), np.ones(30)), bias=True)
    assert isinstance(prepared.X, sp.csr_array)
    assert prepared.features == 51
    np.testing.assert_allclose(prepared.X.toarray()[:, 50], np.sqrt(0.5), rtol=1e-13)


def test_a_test_set_is_scaled_with_the_peaks_of_its_training_set_and_still_bounded():
    train = Dataset("train", np.array([[2.0, 10.0], [4.0, 5.0]]), np.array([1.0, -1.0]))
    test = Dataset("test", np.array([[1.0, 1.0], [400.0, 0.0]]), np.array([1.0, -1.0]))
    np.testing.assert_allclose(scale(test, like=train).X, [[0.25, 0.1], [1.0, 0.0]], rtol=1e-14)
    with pytest.raises(DataError, match="2 features cannot be prepared like train with 1"):
        scale(test, like=Dataset("train", np.ones((1, 1)), np.ones(1)))


@given(st.integers(2, 60), st.data())
def test_a_split_has_every_row_once(rows, data):
    train = data.draw(st.integers(1, rows - 1))
    numbered = Dataset("numbered", np.arange(rows, dtype=np.float64)[:, None], np.ones(rows))
    first, second = split(numbered, train, np.random.default_rng(rows))
    assert (first.rows, second.rows) == (train, rows - train)
    np.testing.assert_array_equal(np.sort(np.concatenate([first.X, second.X]).ravel()), np.arange(rows))


def test_a_fraction_is_a_share_of_the_rows_and_the_split_follows_the_generator():
    numbered = Dataset("numbered", np.arange(100.0)[:, None], np.ones(100))
    first, second = split(numbered, 0.7, np.random.default_rng(1))
    assert (first.rows, second.rows) == (70, 30)
    again, _ = split(numbered, 0.7, np.random.default_rng(1))
    other, _ = split(numbered, 0.7, np.random.default_rng(2))
    np.testing.assert_array_equal(again.X, first.X)
    assert not np.array_equal(other.X, first.X)
    assert not np.array_equal(np.sort(first.X.ravel()), np.arange(70))


@pytest.mark.parametrize("train", [10, 11, 0, -3, 0.999, 1.0, 1.5, -0.5])
def test_a_split_without_training_or_test_rows_is_refused(train):
    data = Dataset("ten", np.zeros((10, 1)), np.ones(10))
    with pytest.raises(DataError, match="ten: "):
        split(data, train, np.random.default_rng(0))


@needs_data
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("twonorm", 0.025),
        ("ringnorm", 0.238),
        ("waveform", 0.124),
        ("image", 0.166),
        ("german", 0.233),
        ("splice", 0.165),
        ("banana", 0.434),
    ],
)
def test_the_benchmarks_prepared_with_bias_err_as_often_as_the_reference(name, reference):
    path = data_files.named(name)
    assert path is not None
    train, test = split(scale(data_files.read(path), bias=True), 0.7, np.random.default_rng(0))
    assert error(fit(train, 1e-5), test) == pytest.approx(reference, abs=1e-3)


@needs_data
@pytest.mark.parametrize(("name", "bias", "reference"), [("a8a", False, 0.1477), ("ijcnn1", True, 0.0848)])
def test_data_sets_with_a_test_file_err_as_often_as_the_reference(name, bias, reference):
    path = data_files.named(name)
    assert path is not None
    beside = data_files.test_file(path)
    assert beside is not None
    train = data_files.read(path)
    test = data_files.read(beside, features=train.features)
    w = fit(scale(train, bias=bias), 1e-4)
    assert error(w, scale(test, bias=bias, like=train)) == pytest.approx(reference, abs=2e-4)


def test_labels_may_be_signs_classes_or_numbers_and_are_checked():
    X = np.eye(3)
    assert Dataset("a", X, np.array([0.0, 2.0, 1.0]), "class").classes == 3
    assert Dataset("a", X, np.array([0.5, -7.0, 1.0]), "number").classes == 1
    assert Dataset("a", X, np.array([1.0, -1.0, 1.0])).classes == 2
    for labels, kind in (([0.0, 1.5, 1.0], "class"), ([0.0, -1.0, 1.0], "class"), ([np.nan, 0.0, 0.0], "number")):
        with pytest.raises(DataError, match="labels must be"):
            Dataset("a", X, np.array(labels), kind)
    with pytest.raises(DataError, match="labels must be classes, counted from 0"):
        Dataset("a", X, np.array([np.nan, 0.0, 1.0]), "class")
    with pytest.raises(DataError, match="labels must be -1 or \\+1"):
        Dataset("a", X, np.array([0.0, 2.0, 1.0]))


def test_rows_that_are_taken_joined_or_scaled_keep_the_kind_of_their_labels():
    whole = Dataset("a", 3.0 * np.eye(4), np.array([0.0, 1.0, 2.0, 0.0]), "class")
    part = whole.take(np.array([0, 3]))
    assert (part.labels, part.classes) == ("class", 3), "a part may lack a class, and knows that there is one"
    assert (joined([part, whole]).labels, scale(whole).classes) == ("class", 3)
    train, test = split(whole, 2, np.random.default_rng(1))
    assert train.classes == test.classes == 3


def test_signs_are_classes_and_numbers_and_nothing_else_is_another_kind():
    signs = Dataset("a", np.eye(3), np.array([1.0, -1.0, 1.0]))
    assert signs.labelled("class").y.tolist() == [1.0, 0.0, 1.0]
    assert signs.labelled("number").y.tolist() == [1.0, -1.0, 1.0]
    assert signs.labelled("sign") is signs
    with pytest.raises(DataError, match="its labels are classes, counted from 0, and finite numbers are needed"):
        signs.labelled("class").labelled("number")


def test_a_row_could_have_had_another_label():
    classes = Dataset("a", np.eye(3), np.array([0.0, 1.0, 2.0]), "class")
    assert [classes.other_label(label) for label in classes.y] == [1.0, 2.0, 0.0]
    assert Dataset("a", np.eye(1), np.array([-1.0])).other_label(-1.0) == 1.0
