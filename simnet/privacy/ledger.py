"""What was spent: charges, what a list of charges amounts to, and a ledger that refuses to go over.

A charge is made before its release leaves. A charge of kind "test" pays in advance: before its first answer the sparse
vector technique is charged for itself and for all `cap` releases that it may let pass. How many it lets pass depends on
the data, and a sum of realised costs is no guarantee under adaptive stopping; the guarantee reported is that of the
mechanism, test + cap × release, whatever happened. So a mechanism with its numbers counts as often as it was paid for
in advance or as often as it was used since then, whichever is more. What was used before, and what is used without such
a technique, adds to what was charged for tests.

An account is proven in several ways, all of them from the same charges: by Rényi curves, and by Gaussian trade-offs,
which are exact where nothing but plain Gaussian noise was used (`simnet.privacy.trade_offs`). The numbers that decide
between them are public, so the least ε holds, and the account names the proof that gave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from simnet.errors import BudgetError
from simnet.privacy import claims, curves, trade_offs
from simnet.privacy.claims import Claim
from simnet.privacy.curves import ORDERS, Curve
from simnet.privacy.mechanisms import MECHANISMS, Bound, mechanism
from simnet.privacy.trade_offs import TradeOff

ChargeKind = Literal["test", "release"]
Basis = Literal["proven", "claimed"]
Use = tuple[str, tuple[tuple[str, float], ...]]


@dataclass(frozen=True)
class Charge:
    """`times` uses of a mechanism: its name and its numbers, enough to price it again."""

    mechanism: str
    parameters: tuple[tuple[str, float], ...]
    kind: ChargeKind = "release"
    times: int = 1

    def __post_init__(self) -> None:
        """A charge that nobody can price is no charge."""
        mechanism(self.mechanism, dict(self.parameters))
        if self.times < 1:
            raise BudgetError(f"{self.mechanism}: times = {self.times}, but a charge is for at least one use")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # A charge is looked up again and again, and its numbers are many.
        return hash((self.mechanism, self.parameters, self.kind, self.times))

    def __reduce__(self) -> tuple[type[Charge], tuple[object, ...]]:
        # Without the hash: it is another one in another process.
        return Charge, (self.mechanism, self.parameters, self.kind, self.times)

    @classmethod
    def of(
        cls,
        name: str,
        parameters: Mapping[str, float],
        kind: ChargeKind = "release",
        times: int = 1,
        bound: Bound = "moments",
    ) -> Charge:
        """A charge whose parameters are checked against the mechanism's own; `bound` says which proofs price it."""
        known = dict(parameters)
        if name in MECHANISMS and bound in MECHANISMS[name].optional:
            known[bound] = 1.0
        return cls(name, tuple(sorted((key, float(value)) for key, value in known.items())), kind, times)

    @property
    def of_short_rows(self) -> bool:
        """Whether its price rests on rows of norm at most 1."""
        return MECHANISMS[self.mechanism].of_short_rows

    @property
    def declared(self) -> bool:
        """Whether its price is what the author of a method says, and not proven."""
        return MECHANISMS[self.mechanism].declared

    @property
    def use(self) -> Use:
        """The mechanism and its numbers, whatever the kind and the count."""
        return self.mechanism, self.parameters


RENYI = "Rényi composition"
TRANSPORT = "Rényi composition of transport bounds"
THEOREM_G = "Gaussian trade-offs (theorem G)"
EXACT = "exact Gaussian composition"
PURE = "composition of pure ε"

BARE = Charge.of("bare-model", {})
"""A release without noise: no finite ε."""
RECYCLED = Charge.of("recycled", {})
"""A release that is a function of what was released before: it costs nothing."""


def pays_for_release(charge: Charge) -> bool:
    """Whether a release may leave on this charge; others are for tests, and for rows that travel."""
    return charge.kind == "release" and not MECHANISMS[charge.mechanism].of_rows


@dataclass(frozen=True)
class Account:
    """What charges amount to at δ: ε by the papers, ε by proof (None: no finite one), and the theorems used.

    The last of the theorems is the composition that gave the least proven ε.

    `label_epsilon` is the local guarantee of the labels alone, where they were randomised before anybody saw them.

    `declared_epsilon` holds if what the author of a method declares is true. It is None where nothing is declared, and
    infinite where even so no finite ε holds. Where something is declared, nothing is proven.
    """

    claimed_epsilon: float | None
    proven_epsilon: float | None
    basis: str
    label_epsilon: float | None = None
    declared_epsilon: float | None = None

    def figures(self, *, declares: bool | None = None) -> dict[str, float | None]:
        """The columns of every table of ε; the third is there if the run `declares` something, by default this account.

        What declares nothing in such a run has the same ε in both.
        """
        found = {"claimed_epsilon": self.claimed_epsilon, "proven_epsilon": self.proven_epsilon}
        declared = self.declared_epsilon
        if (declares is None and declared is None) or declares is False:
            return found
        return found | {"declared_epsilon": self.proven_epsilon if declared is None else _finite(declared)}


def account(charges: Iterable[Charge], delta: float) -> Account:
    """Price charges again from their numbers alone: the least ε that is proven of all of them at δ, for any δ."""
    return _after_all(_NOTHING, charges).account(delta)


def claimed(charges: Iterable[Charge], delta: float) -> float | None:
    """The papers' price alone, without the work of a proof: for calibrations that ask for nothing else."""
    return _claimed([(claim_of(use), count) for use, count in _after_all(_NOTHING, charges).uses], delta)


def network(accounts: Iterable[Account]) -> Account:
    """The guarantee of the whole network: one row lives at one agent, so it is that of the worst agent."""
    every = list(dict.fromkeys(accounts))
    labels = [a.label_epsilon for a in every if a.label_epsilon is not None]
    return Account(
        claimed_epsilon=_worst([a.claimed_epsilon for a in every]),
        proven_epsilon=_worst([a.proven_epsilon for a in every]),
        basis="; ".join(dict.fromkeys(part for a in every for part in a.basis.split("; "))),
        label_epsilon=max(labels) if labels else None,
        declared_epsilon=_declared_by_all(every),
    )


def _declared_by_all(every: list[Account]) -> float | None:
    """The worst agent's, those that declare nothing by proof; None if nobody declares anything."""
    if all(a.declared_epsilon is None for a in every):
        return None
    proven = [math.inf if a.proven_epsilon is None else a.proven_epsilon for a in every]
    return max(p if a.declared_epsilon is None else a.declared_epsilon for a, p in zip(every, proven, strict=True))


class Ledger:
    """One agent's spending at δ against a budget in ε, which a proof has to keep.

    Agents with equal charges share all the arithmetic: a state of spending is computed once, and only if asked for.
    """

    def __init__(self, delta: float, budget: float = math.inf) -> None:
        self.delta = delta
        self.budget = budget
        self.state = _NOTHING
        """What has been spent: one object for all who made the same charges in the same order."""

    def account(self) -> Account:
        """What has been spent so far."""
        return self.state.account(self.delta)

    @property
    def paid(self) -> bool:
        """Whether anything was charged that later releases can be computed from."""
        return any(use != RECYCLED.use for use, _ in self.state.uses)

    @property
    def tested(self) -> bool:
        """Whether a test was paid for that may be asked any number of times."""
        return self.state.tested

    def spend(self, *charges: Charge) -> None:
        """Make these charges, all or none; a ledger never goes over its budget."""
        if not self.afford(*charges):
            raise BudgetError(
                f"these charges would go over the budget of ε = {self.budget:g} at δ = {self.delta:g}; "
                "nothing more may be released"
            )

    def afford(self, *charges: Charge) -> bool:
        """Make these charges if the budget allows all of them; whether it did."""
        state = _after_all(self.state, charges)
        if charges and math.isfinite(self.budget):
            spent = state.account(self.delta).proven_epsilon
            if spent is None or spent > self.budget:
                return False
        self.state = state
        return True


class _Spending:
    """How often each use was paid in advance and made; equal only to itself, so that it is cheap as a key."""

    def __init__(self, advance: dict[Use, int], free: dict[Use, int], gated: dict[Use, int]) -> None:
        self.advance = advance
        self.free = free
        """Made before a test was paid for: no test lets these pass, and they use up nothing."""
        self.gated = gated
        self.tested = any(MECHANISMS[name].gate for name, _ in advance)
        """Whether a test decides what is released: only then do releases use up what was paid in advance."""
        uses = advance | free | gated
        self.uses = tuple((use, free.get(use, 0) + max(advance.get(use, 0), gated.get(use, 0))) for use in uses)
        self._accounts: dict[float, Account] = {}

    def account(self, delta: float) -> Account:
        if delta not in self._accounts:
            self._accounts[delta] = _account(self.uses, delta)
        return self._accounts[delta]


_NOTHING = _Spending({}, {}, {})


def _after_all(state: _Spending, charges: Iterable[Charge]) -> _Spending:
    for charge in charges:
        state = _after(state, charge)
    return state


@lru_cache(maxsize=1 << 16)
def _after(state: _Spending, charge: Charge) -> _Spending:
    advance, free, gated = dict(state.advance), dict(state.free), dict(state.gated)
    counts = advance if charge.kind == "test" else gated if state.tested else free
    counts[charge.use] = counts.get(charge.use, 0) + charge.times
    return _Spending(advance, free, gated)


@lru_cache(maxsize=1 << 16)
def _account(uses: tuple[tuple[Use, int], ...], delta: float) -> Account:
    if not uses:
        return Account(0.0, 0.0, "nothing was released")
    epsilon, composition = _composed(uses, delta)
    declared = any(MECHANISMS[use[0]].declared for use, _ in uses)
    proven = math.inf if declared else epsilon
    theorems = dict.fromkeys(mechanism(use[0], dict(use[1])).theorem for use, _ in uses)
    prices = [(claim_of(use), count) for use, count in uses]
    label = sum(count * claim.label for claim, count in prices if claim is not None)
    return Account(
        claimed_epsilon=_claimed(prices, delta),
        proven_epsilon=_finite(proven),
        basis="; ".join([*theorems, composition] if proven else theorems),
        label_epsilon=label or None,
        declared_epsilon=epsilon if declared else None,
    )


def _composed(uses: tuple[tuple[Use, int], ...], delta: float) -> tuple[float, str]:
    """The least ε that follows from the prices of these uses, and the composition that gave it."""
    spent = sum((count * curve_of(use) for use, count in uses), start=0.0 * ORDERS)
    by_curves = curves.epsilon(spent, delta)
    traded = TradeOff()
    for use, count in uses:
        one = trade_off_of(use)
        if one is None:
            return by_curves, RENYI
        traded += one.times(count)
    by_trade_offs = trade_offs.epsilon(traded, delta)
    if by_trade_offs < by_curves:
        return by_trade_offs, EXACT if traded.exact else THEOREM_G if traded.square else PURE
    return by_curves, TRANSPORT if traded.leak else RENYI


def _claimed(prices: list[tuple[Claim | None, int]], delta: float) -> float | None:
    """Pure losses add, ρ adds and converts (Lemmas 2 and 4 of PP-ADMM); the two kinds add as ε."""
    pure = rho = label = 0.0
    for claim, count in prices:
        if claim is None:
            return None
        pure += count * claim.pure
        rho += count * claim.rho
        label += count * claim.label
    return _finite(pure + label + claims.epsilon_of(rho, delta))


@lru_cache(maxsize=1 << 12)
def curve_of(use: Use) -> Curve:
    """What one use costs, over `ORDERS`: by proof, or by what its author declares."""
    numbers = dict(use[1])
    curve = mechanism(use[0], numbers).curve(ORDERS, numbers)
    curve.setflags(write=False)
    return curve


@lru_cache(maxsize=1 << 12)
def trade_off_of(use: Use) -> TradeOff | None:
    """What one use costs as a Gaussian trade-off; None if Rényi curves alone price it."""
    numbers = dict(use[1])
    return mechanism(use[0], numbers).trade_off(numbers)


def claim_of(use: Use) -> Claim | None:
    """What one use costs by its own paper."""
    numbers = dict(use[1])
    return mechanism(use[0], numbers).claim(numbers)


def _worst(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known, default=0.0) if len(known) == len(values) else None


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
