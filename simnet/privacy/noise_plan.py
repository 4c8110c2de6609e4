"""One agent's noise and its price, both known before anything runs: what a calibration hands to a method's peer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from simnet.privacy.ledger import Charge, account
from simnet.privacy.sparse_vector import SvtPlan

Facts = dict[str, float | int | str]
"""What `simnet explain` shows: fact → value."""


BARE_TOLERANCE = 1e-6
"""Where a local solve without noise may stop."""


class NoisePlan(ABC):
    """How much noise an agent adds, and what it is charged for its releases."""

    opening: tuple[Charge, ...]
    """Charged before the first round."""
    test: SvtPlan | None = None
    """The test that decides about releases, if there is one."""

    @property
    @abstractmethod
    def charges(self) -> tuple[Charge, ...]:
        """Everything that a whole run may be charged."""

    @abstractmethod
    def amounts(self) -> Facts:
        """The noise, for people."""

    @abstractmethod
    def halved(self) -> Self:
        """Half of the noise at the full price: the plan of a liar, by which an audit is tested."""

    def facts(self, delta: float) -> Facts:
        """The noise and what it comes to at δ."""
        total = account(self.charges, delta)
        claimed, proven = total.claimed_epsilon, total.proven_epsilon
        return self.amounts() | {
            "ε claimed": "no paper covers this" if claimed is None else claimed,
            "ε proven": "no finite one" if proven is None else proven,
            "by": total.basis,
        }


def span(values: Sequence[float]) -> str:
    """The smallest and the largest of some numbers, or the one that all are."""
    low, high = min(values), max(values)
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"
