"""The methods in a few plain lines each, for comparison: nothing here imports simnet.

Synchronous rounds, exact solves by Newton's method, dense matrices. Noise is handed in.
"""

from __future__ import annotations

import numpy as np


def newton(X, y, regulariser, linear, quadratic):
    """argmin mean log(1+exp(-y x·θ)) + regulariser/2 |θ|² + linear·θ + quadratic/2 |θ|²."""
    theta = np.zeros(X.shape[1])
    curvature = regulariser + quadratic
    for _ in range(100):
        p = 1 / (1 + np.exp(y * (X @ theta)))
        gradient = -X.T @ (y * p) / len(y) + curvature * theta + linear
        if np.linalg.norm(gradient) < 1e-13:
            break
        hessian = (X.T * (p * (1 - p))) @ X / len(y) + curvature * np.eye(len(theta))
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta


def clipped_objective(X, y, regulariser, theta, clip):
    losses = np.log1p(np.exp(-y * (X @ theta)))
    return np.minimum(losses, clip).mean() + regulariser / 2 * theta @ theta


def pp_admm(parts, neighbours, rounds, eta, regulariser, b1, b2):
    """Algorithm 1; with b1 = b2 = 0 plain ADMM. Returns every round's models, (rounds, agents, features)."""
    agents, d = len(parts), parts[0][0].shape[1]
    theta, dual, history = np.zeros((agents, d)), np.zeros((agents, d)), []
    for t in range(rounds):
        new = np.empty_like(theta)
        for i, (X, y) in enumerate(parts):
            linear = 2 * dual[i] + b1[t, i] - eta * sum(theta[i] + theta[j] for j in neighbours[i])
            new[i] = newton(X, y, regulariser, linear, 2 * eta * len(neighbours[i])) + b2[t, i]
        theta = new
        dual = dual + eta / 2 * np.array([sum(theta[i] - theta[j] for j in neighbours[i]) for i in range(agents)])
        history.append(theta)
    return np.array(history)


def ipp_admm(parts, neighbours, rounds, eta, regulariser, b1, b2, cap, clip, threshold, bar_noise, query_noise):
    """Algorithm 2: models of every round, and who broadcast when."""
    agents, d = len(parts), parts[0][0].shape[1]
    theta, dual = np.zeros((agents, d)), np.zeros((agents, d))
    count, history, sent = [0] * agents, [], np.zeros((rounds, agents), dtype=bool)
    for t in range(rounds):
        new = theta.copy()
        for i, (X, y) in enumerate(parts):
            if count[i] == cap:
                continue
            linear = 2 * dual[i] + b1[t, i] - eta * sum(theta[i] + theta[j] for j in neighbours[i])
            candidate = newton(X, y, regulariser, linear, 2 * eta * len(neighbours[i]))
            gain = clipped_objective(X, y, regulariser, theta[i], clip)
            gain -= clipped_objective(X, y, regulariser, candidate, clip)
            if gain + query_noise[t, i] >= threshold + bar_noise[t, i]:
                count[i] += 1
                sent[t, i] = True
                new[i] = candidate + b2[t, i]
        theta = new
        dual = dual + eta / 2 * np.array([sum(theta[i] - theta[j] for j in neighbours[i]) for i in range(agents)])
        history.append(theta)
    return np.array(history), sent
