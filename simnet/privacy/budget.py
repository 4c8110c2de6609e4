"""[privacy]: the budget, and what a calibration makes of it for one agent: its noise, and what that noise costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simnet.parts.fields import FileName, Name, NamesFile, Number, Positive
from simnet.parts.part import Section
from simnet.privacy.ledger import Charge, account
from simnet.privacy.mechanisms import Bound
from simnet.privacy.sparse_vector import SvtPlan

Delta = Annotated[
    float, BeforeValidator(Number("a number strictly between 0 and 1", 0, 1, open_low=True, open_high=True))
]
Facts = dict[str, float | int | str]
"""What `simnet explain` shows: fact → value."""
BARE_TOLERANCE = 1e-6
"""Where a local solve without noise may stop."""


class _Observer:
    """Accepts the word for an observer, or the agents of a coalition."""

    what = "`eavesdropper`, `agent`, or a list of agents"
    _agent = Number(what, 0, 2**53, whole=True)

    def __call__(self, value: object) -> str | tuple[int, ...]:
        if isinstance(value, (list, tuple)) and value:
            return tuple(sorted({int(self._agent(agent)) for agent in value}))
        if value not in ("eavesdropper", "agent"):
            raise ValueError(self.what)
        return str(value)


Observer = Annotated[str | tuple[int, ...], BeforeValidator(_Observer())]


class Privacy(Section):
    """The budget of every agent's data, against an eavesdropper on all links."""

    epsilon: Positive = Field(1.0, description="ε, the budget for the whole run")
    delta: Delta = Field(1e-4, description="δ, the probability with which ε may fail")
    calibration: Literal["proven", "paper", "none"] = Field(
        "proven", description="noise that meets ε by a proof, noise by the paper's formulas, or no noise at all"
    )
    bound: Bound = Field(
        "least",
        description="which proof prices an account: the `least` of all that is proven; or Rényi curves alone, with "
        "Gaussian objective perturbation by the `moments` of its noise or by the sharper `transport`; docs/proofs.md "
        "has all of them",
    )
    noise: Literal["seed", "key", "fresh"] = Field(
        "seed",
        description="where noise comes from: the seed, so that everybody can repeat the run and nothing is protected; "
        "a key of its owner's; or a key that is drawn for this run and forgotten",
    )
    noise_key: Annotated[FileName | None, NamesFile()] = Field(
        None, description="file with the key, 64 hexadecimal digits that only its owner may read; with noise = 'key'"
    )
    noise_name: Name | None = Field(
        None, description="gives noise from the seed a name, so that it is not that of other runs with this seed"
    )

    observers: tuple[Observer, ...] = Field(
        (),
        description="against whom ε is told, from the log: `eavesdropper` (on all links), `agent` (any single one), or "
        "a list of agents who join; a method whose messages are not linear in its noise has one ε for all of them",
    )

    @model_validator(mode="after")
    def _a_key_if_it_is_asked_for(self) -> Privacy:
        if (self.noise == "key") != (self.noise_key is not None):
            raise ValueError("noise_key: names the key's file, and goes with noise = 'key'")
        return self


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
    def weakened(self, factor: float) -> Self:
        """Noise times a factor below 1 at the full price: the plan of a liar, by which an audit is tested."""

    def facts(self, delta: float) -> Facts:
        """The noise and what it comes to at δ."""
        total = account(self.charges, delta)
        claimed, proven = total.claimed_epsilon, total.proven_epsilon
        declared = total.figures().get("declared_epsilon")
        return (
            self.amounts()
            | {
                "ε claimed": "no paper covers this" if claimed is None else claimed,
                "ε proven": "no finite one" if proven is None else proven,
            }
            | ({} if declared is None else {"ε declared": declared})
            | {"by": total.basis}
        )


def span(values: Sequence[float]) -> str:
    """The smallest and the largest of some numbers, or the one that all are."""
    low, high = min(values), max(values)
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"
