"""The arithmetic of many small local problems at once: full steps of the solver, and mean losses, in stacks.

Each operation is called once for all problems of one shape, and gives what it would give for each alone, to the last
bit:

- elementwise functions do not look beyond their element;
- sums along the last axis add in the same order;
- numpy's product of two stacks calls for each matrix the routine that a single product calls. (A matrix of one row or
  one column is the exception; `LocalObjective.batch_key` leaves it out.)

A problem goes on as long as everything goes as it nearly always does: the solver's inverse Hessian fits, and every full
step is accepted. One that needs more is given up, and left as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simnet.learning.inverse_hessian import NEAR, triangle_places, update
from simnet.learning.objective import Loss, Stack
from simnet.learning.solver import ENOUGH, PATIENCE, POOR, PROGRESS
from simnet.vectors import Vector

Mask = npt.NDArray[np.bool_]
ROOM = 2**16
"""Entries of a stack of matrices: enough agents to share the cost of a call, few enough to stay in the cache."""


def batch_size(rows: int, features: int) -> int:
    """How many problems of one shape are worth a stack."""
    return max(4, ROOM // (features * max(rows, features)))


class Batch(NamedTuple):
    """Problems of one shape, one per entry of each array: what is given, and the point that each has reached."""

    place: npt.NDArray[np.intp]
    rows: Stack
    """Aᵀ."""
    inverse: Stack
    """K, the only array that is changed in place."""
    linear: Stack
    scale: Stack
    curvature: Stack
    smoothness: Stack
    tolerance: Stack
    age: Stack
    cost: Stack
    theta: Stack
    loss_gradient: Stack
    gradient: Stack
    norm: Stack
    best: Stack

    def only(self, which: Mask) -> Batch:
        return Batch._make(array[which] for array in self)

    def solved(self, which: Mask, gradients: int) -> Solved:
        """What the solvers of these problems keep, after so many gradients."""
        of_triangle, _ = triangle_places(self.inverse.shape[1])
        triangles = self.inverse.reshape(len(which), -1)[np.ix_(which, of_triangle)]
        kept = self.theta[which], self.loss_gradient[which], triangles
        return Solved(self.place[which], self.norm[which], *kept, gradients)


class Solved(NamedTuple):
    """Problems that are solved, by their places in the batch that was begun."""

    place: npt.NDArray[np.intp]
    norm: Stack
    theta: Stack
    loss_gradient: Stack
    triangles: Stack
    """The upper triangle of each K."""
    gradients: int
    """Gradients that each of them took."""


class Memory:
    """The largest arrays, used again and again: to get fresh pages costs more than the arithmetic in them."""

    def __init__(self) -> None:
        self._of: dict[str, Vector] = {}

    def empty(self, name: str, *shape: int) -> Stack:
        """An array of that name and shape; what the last one of that name held is gone."""
        size = math.prod(shape)
        memory = self._of.get(name)
        if memory is None or memory.size < size:
            memory = self._of[name] = np.empty(size)
        return memory[:size].reshape(shape)

    def inverses(self, triangles: Stack, features: int) -> Stack:
        """Each K, made of its triangle."""
        _, of_matrix = triangle_places(features)
        stack = self.empty("inverses", len(triangles), *of_matrix.shape)
        return np.take(triangles, of_matrix, axis=1, out=stack, mode="clip")


def begin(
    rows: Stack,
    inverse: Stack,
    linear: Stack,
    numbers: tuple[Stack, Stack, Stack, Stack, Stack, Stack, Stack],
    theta: Stack,
    loss_gradient: Stack,
) -> tuple[Batch, Mask]:
    """Problems at the points where their solvers ended, and which of them have a finite gradient and a K that fits.

    `numbers` are scale, curvature, smoothness, tolerance, age, cost, and the curvature that K was made for.
    """
    scale, curvature, smoothness, tolerance, age, cost, made_for = numbers
    gradient = loss_gradient + curvature[:, None] * theta + linear
    norm = np.sqrt(np.vecdot(gradient, gradient))
    batch = Batch(
        np.arange(len(linear)),
        rows,
        inverse,
        *(linear, scale, curvature, smoothness, tolerance, age, cost, theta, loss_gradient, gradient, norm, norm),
    )
    return batch, np.isfinite(norm) & (np.abs(curvature - made_for) <= NEAR * curvature)


def descend(batch: Batch, accepted: Mask, loss: Loss, memory: Memory) -> Iterator[Solved]:
    """`Solver._descend` for problems of one shape; what is never found needs more than full steps."""
    fresh = accepted
    for gradients in range(PATIENCE + 1):
        done = accepted & (batch.norm <= batch.tolerance)
        if done.any():
            yield batch.solved(done, gradients)
        going = accepted & fresh & ~done
        if not going.any():
            break
        batch, accepted, fresh = step(batch if going.all() else batch.only(going), loss, memory)


def step(batch: Batch, loss: Loss, memory: Memory) -> tuple[Batch, Mask, Mask]:
    """The full step of each problem; which problems may take it, and which need no new K after it."""
    direction = np.matmul(batch.inverse, batch.gradient[:, :, None])[:, :, 0]
    slope = -np.vecdot(batch.gradient, direction)
    theta = batch.theta - direction
    reached = margins(batch.rows, theta)
    loss_gradient = np.matmul(batch.rows, loss.slope(reached, reached)[:, :, None])[:, :, 0]
    loss_gradient *= batch.scale[:, None]
    gradient = batch.curvature[:, None] * theta
    gradient += loss_gradient
    gradient += batch.linear
    norm = np.sqrt(np.vecdot(gradient, gradient))
    ahead = -np.vecdot(gradient, direction)
    progress = norm <= PROGRESS * batch.best
    accepted = (slope < 0.0) & (progress | ((PROGRESS * slope <= ahead) & (ahead <= 0.0)))
    _learn(batch, theta - batch.theta, gradient - batch.gradient, accepted & (norm > ENOUGH * batch.norm), memory)
    age = batch.age + 1.0
    fresh = (norm <= POOR * batch.norm) | (age < batch.cost)
    best = np.where(progress, norm, batch.best)
    following = batch._replace(
        age=age, theta=theta, loss_gradient=loss_gradient, gradient=gradient, norm=norm, best=best
    )
    return following, accepted, fresh


def _learn(batch: Batch, step: Stack, change: Stack, worth: Mask, memory: Memory) -> None:
    """`Solver._learn` where that is worth it."""
    product = np.vecdot(step, change)
    worth &= product > 0.0
    worth &= product >= 0.99 * batch.curvature * np.vecdot(step, step)
    worth &= np.vecdot(change, change) <= 1.01 * (batch.curvature + batch.smoothness) * product
    space = memory.empty("updates", 2, int(np.count_nonzero(worth)), *batch.inverse.shape[1:])
    if worth.all():
        update(batch.inverse, step, change, product, space)
    elif worth.any():
        some = batch.inverse[worth]
        update(some, step[worth], change[worth], product[worth], space)
        batch.inverse[worth] = some


def margins(rows: Stack, thetas: Stack) -> Stack:
    """Aθ of each problem."""
    found: Stack = np.matmul(rows.swapaxes(1, 2), thetas[:, :, None])[:, :, 0]
    return found


def mean_losses(loss: Loss, rows: Stack, thetas: Stack, ceilings: Stack) -> Stack:
    """The mean loss of each model over its rows, each row's counted from 0 to the ceiling if that is finite."""
    losses = loss.value(margins(rows, thetas))
    np.minimum(losses, ceilings[:, None], out=losses)
    np.maximum(losses, np.where(ceilings < np.inf, 0.0, -np.inf)[:, None], out=losses)
    found: Stack = np.add.reduce(losses, axis=1) / rows.shape[2]
    return found
