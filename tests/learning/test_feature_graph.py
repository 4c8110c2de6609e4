"""The features' graph, against the conditions that define it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simnet.learning.feature_graph import correlations, fused, graphical_lasso


def test_the_graph_joins_features_that_are_dependent_given_all_others():
    """A Markov chain: neighbours are joined, features two apart are not, though they are correlated."""
    rng = np.random.default_rng(1)
    chain = np.zeros((20_000, 4))
    chain[:, 0] = rng.standard_normal(20_000)
    for i in range(1, 4):
        chain[:, i] = (-1) ** i * 0.5 * chain[:, i - 1] + 0.75**0.5 * rng.standard_normal(20_000)
    assert abs(correlations(chain)[0, 2]) > 0.2
    W = fused(chain, 0.1).toarray()
    np.testing.assert_array_equal(W, [[1, 1, 0, 0], [0, 1, -1, 0], [0, 0, 1, 1]])


def test_the_graphical_lasso_meets_its_own_optimality_conditions():
    rng = np.random.default_rng(2)
    S = correlations(rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6)))
    precision = graphical_lasso(S, 0.15)
    slope = S - np.linalg.inv(precision)
    off = ~np.eye(6, dtype=bool)
    joined = off & (precision != 0)
    np.testing.assert_allclose(slope[joined], -0.15 * np.sign(precision[joined]), atol=5e-4)
    assert np.abs(slope[off & (precision == 0)]).max() <= 0.15 + 5e-4
    np.testing.assert_allclose(np.diag(slope), 0, atol=5e-4)


def test_a_feature_that_never_varies_has_no_edges_and_sparse_rows_give_the_same_graph():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 4)) * (rng.random((500, 4)) < 0.5)
    X[:, 3] = X[:, 0] + 0.1 * rng.standard_normal(500)
    X[:, 2] = 0.25
    dense, sparse = fused(X, 0.1).toarray(), fused(sp.csr_array(X), 0.1).toarray()
    np.testing.assert_array_equal(dense, sparse)
    assert len(dense) > 0
    assert not dense[:, 2].any()
