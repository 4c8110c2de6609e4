"""Which features go together: the graph of a graph-guided fused lasso."""

from __future__ import annotations

import numpy as np
import scipy

from simnet.learning.dataset import Matrix
from simnet.vectors import Square

_STEPS = 1000
_CLOSE = 1e-5


def fused(X: Matrix, penalty: float) -> scipy.sparse.csr_array:
    """W: one row per edge of the features' graph, x_i − s x_j, with s the sign of the partial correlation.

    The edges are the support of a sparse inverse correlation matrix (`graphical_lasso`): features that are dependent
    given all others. Features that never vary have no edges.
    """
    precision = graphical_lasso(correlations(X), penalty)
    first, second = np.nonzero(np.triu(precision, 1))
    edges = np.arange(first.size)
    signs = np.sign(precision[first, second])
    entries = np.concatenate([np.ones(first.size), signs])
    places = (np.concatenate([edges, edges]), np.concatenate([first, second]))
    return scipy.sparse.csr_array((entries, places), shape=(first.size, precision.shape[0]))


def correlations(X: Matrix) -> Square:
    """The features' correlation matrix; a feature that never varies is uncorrelated with everything."""
    rows = X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = X.T @ X
    products = square.toarray() if scipy.sparse.issparse(square) else np.asarray(square)
    covariance = products / rows - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = spread > 1e-9
    scale = np.where(varies, spread, 1.0)
    found = np.where(np.outer(varies, varies), covariance / np.outer(scale, scale), 0.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def graphical_lasso(correlation: Square, penalty: float) -> Square:
    """argmin tr(SΘ) − log det Θ + penalty Σ_{i≠j} |Θ_ij|, by ADMM; its zeros are exact.

    Boyd, Parikh, Chu, Peleato, Eckstein, "Distributed Optimization and Statistical Learning via ADMM" (2011), section
    6.5, with ρ = 1 and the diagonal free.
    """
    features = correlation.shape[0]
    sparse = np.eye(features)
    scaled = np.zeros_like(sparse)
    for _ in range(_STEPS):
        values, vectors = np.linalg.eigh(sparse - scaled - correlation)
        dense = (vectors * ((values + np.sqrt(values * values + 4.0)) / 2.0)) @ vectors.T
        before = sparse
        target = dense + scaled
        sparse = np.sign(target) * np.maximum(np.abs(target) - penalty, 0.0)
        np.fill_diagonal(sparse, np.diag(target))
        scaled = scaled + dense - sparse
        moved = max(np.linalg.norm(dense - sparse), np.linalg.norm(sparse - before))
        if moved <= _CLOSE * features:
            break
    return np.asarray(sparse)
