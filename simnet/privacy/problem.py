"""What privacy needs to know of an agent's local problem: a few numbers, no data."""

from __future__ import annotations

from dataclasses import dataclass

from simnet.errors import BudgetError


@dataclass(frozen=True)
class LocalProblem:
    """min over θ of (C/m) Σ l(y θ·x) + (public convex terms), rows x of norm at most 1.

    `rows` is m (public), `curvature` μ the strong convexity of the whole problem, λ̂/N + 2ηV; `lipschitz` L bounds |l'|,
    `smoothness` c1 bounds l'' (l twice continuously differentiable and convex), `weight` is C, `regulariser` λ̂/N.
    `features` is the length of θ, which rounding errors depend on; `linear` is how long a linear term an honest agent
    may have, with room to spare.
    Neighbouring data sets differ by replacing one row.
    """

    rows: int
    curvature: float
    lipschitz: float = 1.0
    smoothness: float = 0.25
    weight: float = 1.0
    regulariser: float = 0.0
    features: int = 1
    linear: float = 100.0

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise BudgetError(f"rows = {self.rows}: an agent needs at least one row of data")
        if not self.curvature > 0.0:
            raise BudgetError(
                f"curvature = {self.curvature}: the local problem must be strongly convex; "
                "give the agent a neighbour or a regulariser above 0"
            )

    @classmethod
    def of(
        cls,
        rows: int,
        neighbours: int,
        eta: float,
        regulariser: float,
        *,
        lipschitz: float = 1.0,
        smoothness: float = 0.25,
        weight: float = 1.0,
        features: int = 1,
    ) -> LocalProblem:
        """The problem of an agent with V neighbours and penalty η: μ = λ̂/N + 2ηV."""
        curvature = regulariser + 2.0 * eta * neighbours
        return cls(rows, curvature, lipschitz, smoothness, weight, regulariser, features)

    @property
    def gradient_shift(self) -> float:
        """How far one replaced row moves the gradient at any fixed point: |C(p x − q x')/m| <= 2CL/m."""
        return 2.0 * self.weight * self.lipschitz / self.rows

    @property
    def kappa(self) -> float:
        """κ = C c1/(m μ): one row's share of the curvature."""
        return self.weight * self.smoothness / (self.rows * self.curvature)

    def minimiser_shift(self, tolerance: float) -> float:
        """How far one replaced row moves a point whose gradient is certified to be at most `tolerance`.

        The exact minimisers are at most (2CL/m)/μ apart (strong convexity), each point at most β/μ from its own.
        """
        return (self.gradient_shift + 2.0 * tolerance) / self.curvature

    def query_shift(self, clip: float, tolerance: float, *, model_is_released: bool) -> float:
        """Sensitivity of the mean clipped loss at a public model minus that at the tested model.

        The replaced row itself counts at most clip/m at each model: 2 clip/m. At the other m − 1 rows the clipped loss
        is L-Lipschitz in θ, so they add (1 − 1/m) L times the distance of the two tested models: `minimiser_shift` if
        the tested model is the (approximate) minimiser of the data, 2β/μ if it is within β/μ of a point that has been
        accounted for as released (the test on the perturbed minimiser).
        """
        distance = 2.0 * tolerance / self.curvature if model_is_released else self.minimiser_shift(tolerance)
        return 2.0 * clip / self.rows + (1.0 - 1.0 / self.rows) * self.lipschitz * distance
