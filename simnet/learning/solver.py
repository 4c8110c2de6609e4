"""Minimises one agent's local problem, round after round, to a certified gradient.

The problem is f(θ) + linear·θ + (quadratic/2)|θ|². From round to round only the last two terms change. So the solver
keeps the inverse Hessian that it has learned and the loss gradient at the point where it stopped. The first step of a
round then costs no product with the data, and on Adult two to four gradients per round are enough.

It needs no values of the objective. A step is taken if the gradient's norm falls below nine tenths of the smallest so
far, which can happen only finitely often above a tolerance, or else if it meets Wolfe's conditions in their form for
convex functions: the slope along the step has become flatter but has not changed its sign. With such steps BFGS
converges on strongly convex functions with a Lipschitz gradient (Byrd and Nocedal 1989; Liu and Nocedal 1989 for a few
pairs).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from simnet.errors import SimnetError
from simnet.learning.inverse_hessian import choose
from simnet.learning.row_objective import Objective
from simnet.vectors import Vector

PROGRESS = 0.9  # of the smallest norm so far; of the slope, in Wolfe's second condition
POOR = 0.5  # a step that leaves more of the gradient than this is worth a new inverse Hessian
ENOUGH = 1e-3  # an inverse Hessian whose step leaves less than this has nothing to learn
PATIENCE = 50  # gradients without progress, at a norm that rounding alone explains
_ROUNDING = 1e-14  # of the terms that add up to a gradient
_LIMIT = 20_000  # gradients, for problems too ill-conditioned to solve


class Solution(NamedTuple):
    """A point where the gradient's norm, as computed there, is within the tolerance."""

    theta: Vector
    gradient_norm: float
    gradients: int
    """Gradients of the loss that the solve computed."""
    factorisations: int
    """Cholesky factorisations of a Hessian, or of what stands for it."""


class Problem(NamedTuple):
    """A local problem, with the solver that knows it: f(θ) + linear·θ + (quadratic/2)|θ|² to be solved from `start`."""

    solver: Solver
    linear: Vector
    quadratic: float
    start: Vector
    tolerance: float

    def answer(self) -> Solution:
        """Its solution, found alone."""
        return self.solver.solve(self.linear, self.quadratic, self.start, self.tolerance)


class _Point(NamedTuple):
    theta: Vector
    loss_gradient: Vector
    gradient: Vector
    norm: float


class Solver:
    """Solves one agent's local problems. The same calls give the same results: nothing is random or timed."""

    def __init__(self, objective: Objective) -> None:
        if objective.smoothness is None:
            raise SimnetError(
                f"{type(objective).__name__} states no bound on its curvature (`smoothness`), without which no local "
                "problem is solved; a method that needs gradients only would do"
            )
        self.objective = objective
        self._smoothness = objective.smoothness
        self.inverse_hessian = choose(objective)
        self.age = math.inf
        """Gradients since the inverse Hessian was last made anew."""
        self.theta: Vector = np.empty(0)
        """Where the last solve ended."""
        self.loss_gradient: Vector = np.empty(0)
        """The loss term's gradient there."""
        self._gradients = 0
        self._elsewhere: Vector | None = None

    @property
    def size(self) -> int:
        """Numbers that `leave` writes."""
        return 1 + 2 * self.objective.features + self.inverse_hessian.size

    def leave(self, desk: Vector) -> None:
        """Write down what it has learned, for a solver of the same objective that goes on in its place."""
        self._recall()
        features = self.objective.features
        desk[0] = self.age
        desk[1 : 1 + features] = self.theta
        desk[1 + features : 1 + 2 * features] = self.loss_gradient
        self.inverse_hessian.leave(desk[1 + 2 * features :])

    def follow(self, desk: Vector, theta: Vector | None = None) -> None:
        """Go on in the place of another that has left this, and stopped at `theta`; it is read when it is needed."""
        self.theta = desk[1 : 1 + self.objective.features].copy() if theta is None else theta
        self._elsewhere = desk

    @property
    def followed(self) -> bool:
        """Whether somebody else has solved its last problem."""
        return self._elsewhere is not None

    def _recall(self) -> None:
        if self._elsewhere is not None:
            desk, self._elsewhere = self._elsewhere, None
            features = self.objective.features
            self.age = float(desk[0])
            self.loss_gradient = desk[1 + features : 1 + 2 * features].copy()
            self.inverse_hessian.follow(desk[1 + 2 * features :])

    def solve(self, linear: Vector, quadratic: float, start: Vector, tolerance: float) -> Solution:
        """A θ with |∇f(θ) + linear + quadratic θ| <= tolerance; a SimnetError if rounding puts it out of reach.

        To start where the last solve ended saves a gradient.
        """
        curvature = self.objective.regulariser + quadratic
        if not curvature > 0.0:
            raise SimnetError(
                f"a local problem has curvature {curvature:g}: it must be positive, by a regulariser or by neighbours"
            )
        self._recall()
        self._gradients = 0
        if start is not self.theta and start.tobytes() != self.theta.tobytes():
            self.theta = start.astype(np.float64)
            self.loss_gradient = self._evaluate(self.theta)
        gradient = self.loss_gradient + curvature * self.theta + linear
        point = _Point(self.theta, self.loss_gradient, gradient, math.sqrt(gradient.dot(gradient)))
        if not math.isfinite(point.norm):
            raise SimnetError("a local problem's gradient is not finite: its data, start or linear term is not")
        return self._descend(point, linear, curvature, tolerance)

    def _descend(self, point: _Point, linear: Vector, curvature: float, tolerance: float) -> Solution:
        known = self.inverse_hessian
        factorisations = known.factorisations
        stale = point.norm > tolerance and (math.isinf(self.age) or not known.shift(curvature))
        best, best_at = point.norm, self._gradients
        while not point.norm <= tolerance:
            if stale:
                known.rebuild(point.theta, curvature)
                self.age = 0
            if self._gradients - best_at > PATIENCE:
                self._give_up_at_limits(point, linear, curvature, best, tolerance)
            following = self._search(point, known.apply(point.gradient), linear, curvature, best)
            if following.norm <= PROGRESS * best:
                best, best_at = following.norm, self._gradients
            if following.norm > ENOUGH * point.norm:
                self._learn(point, following, curvature)
            poor = following.norm > POOR * point.norm
            stale = math.isinf(self.age) or (poor and self.age >= known.cost)
            point = following
        if known.factorisations > factorisations:
            known.rest()
        point.theta.setflags(write=False)
        self.theta, self.loss_gradient = point.theta, point.loss_gradient
        return Solution(point.theta, point.norm, self._gradients, known.factorisations - factorisations)

    def _give_up_at_limits(
        self, point: _Point, linear: Vector, curvature: float, best: float, tolerance: float
    ) -> None:
        """Raise if rounding explains that the norm no longer falls, or if the problem has taken too long."""
        objective = self.objective
        steepest = curvature + self._smoothness
        lengths = float(np.linalg.norm(linear)) + objective.steepness
        terms = steepest * float(np.linalg.norm(point.theta)) + lengths
        if best <= _ROUNDING * terms:
            raise SimnetError(
                f"a local problem's gradient norm stays at {best:.2g}, the limit of rounding: "
                f"the tolerance {tolerance:.2g} must be larger"
            )
        if self._gradients > _LIMIT:
            raise SimnetError(
                f"a local problem is too ill-conditioned: after {self._gradients} gradients the norm is {best:.2g}, "
                f"not {tolerance:.2g}; a larger regulariser, penalty or tolerance would do"
            )

    def _search(self, point: _Point, direction: Vector, linear: Vector, curvature: float, best: float) -> _Point:
        """The first acceptable point on the way against `direction`: the full step, nearly always."""
        slope = -float(point.gradient.dot(direction))
        if not slope < 0.0:
            # Rounding has spoilt the inverse Hessian. A plain gradient step shrinks the norm, always.
            self.age = math.inf
            direction = point.gradient / (curvature + self._smoothness)
            slope = -float(point.gradient.dot(direction))
        following = self._step(point, direction, linear, curvature)
        if following.norm <= PROGRESS * best:
            return following
        size, low, high, at_low, at_high = 1.0, 0.0, math.inf, slope, 0.0
        enough = PROGRESS
        for attempt in range(PATIENCE):
            if attempt:
                following = self._step(point, size * direction, linear, curvature)
                if following.norm <= enough * best:
                    break
            ahead = -float(following.gradient.dot(direction))
            if enough * slope <= ahead <= 0.0:
                break
            if ahead < 0.0:
                low, at_low = size, ahead
            else:
                high, at_high = size, ahead
            if math.isinf(high):
                size *= 4.0
                continue
            # Interpolation is fast where the slope is nearly straight, bisection where it has a kink. One more trial is
            # cheaper than a new direction, so ask for more of it.
            share = at_low / (at_low - at_high) if attempt % 2 == 0 else 0.5
            size = low + (high - low) * min(max(0.1, share), 0.9)
            enough = POOR
        return following

    def _step(self, point: _Point, back: Vector, linear: Vector, curvature: float) -> _Point:
        theta = point.theta - back
        loss_gradient = self._evaluate(theta)
        gradient = curvature * theta
        gradient += loss_gradient
        gradient += linear
        return _Point(theta, loss_gradient, gradient, math.sqrt(gradient.dot(gradient)))

    def _learn(self, old: _Point, new: _Point, curvature: float) -> None:
        step = new.theta - old.theta
        change = new.gradient - old.gradient
        product = float(step.dot(change))
        # What lies outside these bounds is rounding: no function with this curvature and smoothness has such a pair.
        if (
            product > 0.0
            and product >= 0.99 * curvature * float(step.dot(step))
            and float(change.dot(change)) <= 1.01 * (curvature + self._smoothness) * product
        ):
            self.inverse_hessian.learn(step, change, product)

    def _evaluate(self, theta: Vector) -> Vector:
        self._gradients += 1
        self.age += 1
        return self.objective.loss_gradient(theta)
