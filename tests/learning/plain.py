"""Logistic regression in a few lines, independent of simnet's own losses and solver."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from simnet.learning.dataset import Dataset


def fit(train: Dataset, regulariser: float) -> np.ndarray:
    """The minimiser of the mean logistic loss plus regulariser/2 |w|²."""
    X, XT, y = train.X, train.X.T, train.y

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = y * (X @ w)
        slope = -y / (1.0 + np.exp(z)) / len(y)
        return np.logaddexp(0.0, -z).mean() + regulariser / 2 * w @ w, XT @ slope + regulariser * w

    options = {"maxiter": 2000, "gtol": 1e-7, "ftol": 1e-14}
    return minimize(loss, np.zeros(train.features), jac=True, method="L-BFGS-B", options=options).x


def error(w: np.ndarray, test: Dataset) -> float:
    """The share of rows on the wrong side."""
    return float(np.mean(test.y * (test.X @ w) <= 0.0))
