from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simnet.errors import DataError
from simnet.learning.dataset import BREAK_EVEN_DENSITY, Dataset, compact, joined


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
