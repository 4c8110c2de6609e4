"""The methods in a few plain lines each, for comparison: nothing here imports simnet.

Synchronous rounds, exact solves by Newton's method, dense matrices. Noise is handed in.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def logistic(z):
    """l' and l'' of log(1 + exp(-z))."""
    p = 1 / (1 + np.exp(z))
    return -p, p * (1 - p)


def smoothed_hinge(z):
    """l' and l'' of the hinge that is a parabola for |1 - z| <= 1/2."""
    return -np.clip(1.5 - z, 0, 1), (np.abs(1 - z) <= 0.5).astype(float)


def newton(X, y, regulariser, linear, quadratic, weight=1.0, loss=logistic):
    """argmin weight mean l(y x·θ) + regulariser/2 |θ|² + linear·θ + quadratic/2 |θ|²."""
    theta = np.zeros(X.shape[1])
    curvature = regulariser + quadratic
    for _ in range(100):
        slope, bend = loss(y * (X @ theta))
        gradient = weight * X.T @ (y * slope) / len(y) + curvature * theta + linear
        if np.linalg.norm(gradient) < 1e-13:
            break
        hessian = weight * (X.T * bend) @ X / len(y) + curvature * np.eye(len(theta))
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta


def snapped(x, sigma):
    """The nearest multiple of the power of 2 that is at most sigma/64; x itself without noise."""
    if not sigma:
        return x
    step = 2.0 ** np.floor(np.log2(sigma / 64))
    return step * np.round(x / step)


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


def ipp_admm(
    parts, neighbours, rounds, eta, regulariser, b1, b2, cap, clip, threshold, bar_noise, query_noise, tested="paper"
):
    """Algorithm 2: models of every round, and who broadcast when.

    `tested` is the perturbed minimiser and its objective ("paper"), its loss alone ("shared-noise"), or the loss of the
    minimiser without noise, which is not what is released then ("noise-free").
    """
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
            looked_at = candidate
            if tested == "noise-free":
                looked_at = newton(X, y, regulariser, linear - b1[t, i], 2 * eta * len(neighbours[i]))
            counted = regulariser if tested == "paper" else 0.0
            gain = clipped_objective(X, y, counted, theta[i], clip) - clipped_objective(X, y, counted, looked_at, clip)
            if gain + query_noise[t, i] >= threshold + bar_noise[t, i]:
                count[i] += 1
                sent[t, i] = True
                new[i] = candidate + b2[t, i]
        theta = new
        dual = dual + eta / 2 * np.array([sum(theta[i] - theta[j] for j in neighbours[i]) for i in range(agents)])
        history.append(theta)
    return np.array(history), sent


def m_admm(
    parts, neighbours, rounds, eta, dual_step, regulariser, n, b2, spread, weight=1.0, loss=logistic, where="penalty"
):
    """Algorithm 1 of M-ADMM with eta[t, i] and a dual step that is one number or dual_step[t, i].

    `where` the noise n goes: inside the penalty, or onto the primal (pvp). spread[t, i] is that of what is added last.
    """
    agents, d = len(parts), parts[0][0].shape[1]
    theta, dual, history = np.zeros((agents, d)), np.zeros((agents, d)), []
    for t in range(rounds):
        new = np.empty_like(theta)
        for i, (X, y) in enumerate(parts):
            linear, penalty = 2 * dual[i], eta[t, i]
            for j in neighbours[i]:
                # penalty |θ + n − ½(θ_i + θ_j)|², without its constant
                linear = linear - penalty * (theta[i] + theta[j])
                linear = linear + (2 * penalty * n[t, i] if where == "penalty" else 0)
            new[i] = newton(X, y, regulariser, linear, 2 * penalty * len(neighbours[i]), weight, loss) + b2[t, i]
            new[i] += n[t, i] if where == "primal" else 0
            new[i] = snapped(new[i], spread[t, i])
        theta = new
        step = np.broadcast_to(dual_step, (rounds, agents))[t][:, None]
        dual = dual + step / 2 * np.array([sum(theta[i] - theta[j] for j in neighbours[i]) for i in range(agents)])
        history.append(theta)
    return np.array(history)


def r_admm(parts, neighbours, rounds, eta, gamma, regulariser, n, b2, spread, weight=1.0, loss=logistic, dual=None):
    """Algorithm 2 of R-ADMM with eta[t] and gamma[t], or eta[t, i] and gamma[t, i] and the dual steps dual[t].

    n[k], b2[k] and its spread[k] belong to the odd rounds.
    """
    agents, d = len(parts), parts[0][0].shape[1]
    eta, gamma = (np.broadcast_to(np.reshape(each, (rounds, -1)), (rounds, agents)) for each in (eta, gamma))
    steps = eta[:, 0] if dual is None else dual
    theta, dual, history = np.zeros((agents, d)), np.zeros((agents, d)), []
    for t in range(rounds):
        new = np.empty_like(theta)
        if t % 2 == 0:
            before, before_dual = theta, dual
            for i, (X, y) in enumerate(parts):
                linear = 2 * dual[i] + n[t // 2, i] - eta[t, i] * sum(theta[i] + theta[j] for j in neighbours[i])
                new[i] = newton(X, y, regulariser, linear, 2 * eta[t, i] * len(neighbours[i]), weight, loss)
                new[i] = snapped(new[i] + b2[t // 2, i], spread[t // 2, i])
            apart = np.array([sum(new[i] - new[j] for j in neighbours[i]) for i in range(agents)])
            dual = dual + steps[t] / 2 * apart
        else:
            for i in range(agents):
                recycled = -2 * before_dual[i]
                for j in neighbours[i]:
                    recycled = recycled - eta[t - 1, i] * (2 * theta[i] - before[i] - before[j])
                slope = recycled + 2 * dual[i] + eta[t, i] * sum(theta[i] - theta[j] for j in neighbours[i])
                new[i] = theta[i] - slope / (2 * eta[t, i] * len(neighbours[i]) + gamma[t, i])
        theta = new
        history.append(theta)
    return np.array(history)


def optimum(parts, regulariser, shares=None, weight=1.0):
    """argmin over one θ of the sum of all agents' logistic objectives, each times its share, by an outside solver."""
    shares = np.ones(len(parts)) if shares is None else np.asarray(shares) / np.mean(shares)

    def total(theta):
        value, gradient = 0.0, np.zeros_like(theta)
        for share, (X, y) in zip(shares, parts, strict=True):
            z = y * (X @ theta)
            value += share * (weight * np.logaddexp(0, -z).mean() + regulariser / 2 * theta @ theta)
            gradient += share * (weight * X.T @ (y * logistic(z)[0]) / len(y) + regulariser * theta)
        return value, gradient

    start = np.zeros(parts[0][0].shape[1])
    return minimize(total, start, jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 10_000}).x


def unbiased_logistic(epsilon):
    """l' and l'' of (e^ε l(z) − l(−z))/(e^ε − 1), written out."""

    def loss(z):
        e = np.exp(epsilon)
        (slope, bend), (mirrored, bent) = logistic(z), logistic(-z)
        return (e * slope + mirrored) / (e - 1), (e * bend - bent) / (e - 1)

    return loss


def pdml(parts, neighbours, rounds, beta, regulariser, epsilon, tilts, noise, spread):
    """Equations (15) to (17) of PDML among servers that hold reported labels; tilts are η_i/n.

    ε is one number, or an array of each server's users' own.
    """
    n, d = len(parts), parts[0][0].shape[1]
    sent, gamma, history = np.zeros((n, d)), np.zeros((n, d)), []
    for t in range(rounds):
        new = np.empty_like(sent)
        for i, (X, y) in enumerate(parts):
            linear = gamma[i] + tilts[i] - beta * sum(sent[i] + sent[j] for j in neighbours[i])
            own = epsilon if np.isscalar(epsilon) else epsilon[i]
            loss = unbiased_logistic(own) if np.isfinite(own).all() else logistic
            new[i] = newton(X, y, regulariser, linear, 2 * beta * len(neighbours[i]), loss=loss)
        sent = np.array([snapped(new[i] + noise[t, i], spread[t, i]) for i in range(n)])
        gamma = gamma + beta * np.array([sum(sent[i] - sent[j] for j in neighbours[i]) for i in range(n)])
        history.append(sent)
    return np.array(history)


def dp_admm(parts, rounds, A, eta, gamma, rho, lam, noise, sigma, accelerated=False, loss=logistic):
    """Algorithms 2 and 3 of DP-ADMM; noise[t, i] with sigma[t, i] is added to the gradient of part i's mean loss."""
    n = sum(len(y) for _, y in parts)
    x, u = np.zeros(A.shape[1]), np.zeros(A.shape[0])
    x_hat, u_hat, theta, history = x, u, 1.0, []
    for t in range(rounds):
        z = A @ x_hat + u_hat
        y_t = np.sign(z) * np.maximum(np.abs(z) - lam / rho, 0)
        gradient = 0.0
        for i, (X, y) in enumerate(parts):
            mean = X.T @ (y * loss(y * (X @ x_hat))[0]) / len(y)
            gradient = gradient + len(y) / n * snapped(mean + noise[t, i], sigma[t, i])
        x_new = x_hat - eta / gamma * (gradient + rho * A.T @ (A @ x_hat - y_t + u_hat))
        u_new = u_hat + A @ x_new - y_t
        following = (1 + np.sqrt(1 + 4 * theta**2)) / 2
        weight = (theta - 1) / following if accelerated else 0.0
        x_hat, u_hat = x_new + weight * (x_new - x), u_new + weight * (u_new - u)
        x, u, theta = x_new, u_new, following
        history.append(x)
    return np.array(history)


def fused_lasso_optimum(parts, A, lam):
    """argmin mean logistic loss + lam |Ax|_1 by an outside solver: the 1-norm as bounds −s <= Ax <= s."""
    X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    rows, d = A.shape

    def value(v):
        return np.logaddexp(0, -y * (X @ v[:d])).mean() + lam * v[d:].sum()

    def gradient(v):
        return np.concatenate([X.T @ (y * logistic(y * (X @ v[:d]))[0]) / len(y), np.full(rows, lam)])

    above = {
        "type": "ineq",
        "fun": lambda v: np.concatenate([v[d:] - A @ v[:d], v[d:] + A @ v[:d]]),
        "jac": lambda v: np.block([[-A, np.eye(rows)], [A, np.eye(rows)]]),
    }
    options = {"maxiter": 2000, "ftol": 1e-15}
    found = minimize(value, np.zeros(d + rows), jac=gradient, constraints=[above], method="SLSQP", options=options)
    return found.x[:d]
