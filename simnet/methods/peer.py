"""What a method is to the rest of simnet once it runs: an agent's mathematics, and nothing else.

A peer owns everything that affects its model: data, dual, last released value, noise streams. It knows no clock, no
network and no log. The agent program drives it, one round after another:

    proposal = peer.propose(t)              solve, perhaps test, perhaps perturb
    peer.absorb(t, sent, known)             dual update, with what was really sent and what is known of the neighbours

It may yield local problems and measurements one by one and be sent the answers (`Work`), so that an engine can answer
those of many agents at once; `alone` answers them on the spot. A message carries `Parts`, a tuple of vectors: the model
first, then what the duals add to survive loss (`simnet.methods.duals`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeGuard, TypeVar, overload

import msgspec
import numpy as np
import scipy  # imports its parts when they are first used

from simnet.learning.objective import Measurement, Subproblem
from simnet.learning.solver import Problem
from simnet.privacy.ledger import Charge
from simnet.privacy.ready_plans import ReadyPlan
from simnet.privacy.recovered import STEEPEST, Candidate, log_density
from simnet.privacy.sparse_vector import SparseVector
from simnet.privacy.standard_noise import standard_gamma, standard_gaussian
from simnet.vectors import Parts, Vector


class Known(msgspec.Struct, frozen=True):
    """A neighbour's value and the round that the neighbour released it in; round 0 is the common start.

    `before` is the value that this one replaced, if nobody had used it yet.
    """

    peer: int
    round: int
    parts: Parts
    before: Known | None = None

    def unread(self, round: int) -> list[Known]:
        """The values of later rounds than `round`, oldest first."""
        found: list[Known] = []
        value: Known | None = self
        while value is not None and value.round > round:
            found.append(value)
            value = value.before
        return found[::-1]


class Told(msgspec.Struct, frozen=True):
    """A model, and the round that its origin released it in."""

    round: int
    model: Vector


class Test(msgspec.Struct, frozen=True):
    """The outcome of a sparse vector test; `query` is secret."""

    passed: bool
    query: float


class Proposal(msgspec.Struct, frozen=True):
    """What an agent would do this round.

    `release` is None when the round is skipped, and `skipped` says why. `charges` are written to the ledger before
    anything leaves, those of a test even if nothing does.
    """

    release: Parts | None
    gradients: int = 0
    residual: float = 0.0
    charges: tuple[Charge, ...] = ()
    test: Test | None = None
    skipped: str | None = None
    """One of "test", "exhausted", "listening", "domain", or of the method's own `silences`."""
    notes: dict[str, float] | None = None
    """Figures of the method's own, for private logs."""


OUTSIDE = Proposal(None, 0, 0.0, skipped="domain")
"""Neighbours' values have made a local problem that cannot be solved safely: nothing is computed from the data."""
LARGEST = 1e150
"""How long a vector in a message may be where no plan says less: sums and squares of such are still numbers."""


def within(parts: Parts, limits: Sequence[float]) -> bool:
    """Whether the vectors of a message are no more than expected, finite, and no longer than these limits."""
    if len(parts) == 1 and type(parts) is tuple:
        return bool(scipy.linalg.blas.dnrm2(parts[0]) <= limits[0])
    if len(parts) > len(limits):
        return False
    if type(parts) is not tuple:  # a message that leaves entries unsaid, as NaN
        parts = tuple(np.where(np.isnan(part), 0.0, part) for part in parts)
    # BLAS's norm does not overflow before the norm itself does, and a comparison with NaN is false.
    return all(scipy.linalg.blas.dnrm2(part) <= limit for part, limit in zip(parts, limits, strict=False))


Found = TypeVar("Found")
Request = Problem | Measurement
"""What a computation may leave to somebody else: its answer is a `Solution` or a number."""
Solving = Generator[Request, Any, Found]
"""A computation that yields requests and is sent the answers."""
Work = Solving[Proposal]
"""What `propose` leaves to somebody else. It may be answered late: until then the peer is asked for nothing but
`accepts` and `retell`, which look at nothing that `propose` changes."""


@overload
def alone(work: Proposal | Work) -> Proposal: ...
@overload
def alone(work: Solving[Found]) -> Found: ...
def alone(work: Any) -> Any:
    """The outcome of a computation whose requests, if it has any, are answered one by one."""
    if isinstance(work, Proposal):
        return work
    try:
        request = next(work)
        while True:
            request = work.send(request.answer())
    except StopIteration as end:
        return end.value


def in_objective(
    problem: Subproblem,
    released: Vector,
    weight: float,
    kind: str,
    scale: float,
    output_sigma: float = 0.0,
    tolerance: float = 0.0,
) -> Candidate:
    """Noise n that entered the objective as w n·θ, `released` the approximate minimiser with noise on top.

    A gradient of norm `tolerance` at the minimiser and noise of `output_sigma` on it are part of what is recovered.
    """
    noise = -problem.gradient(released) / weight
    hessian = problem.hessian(released)
    log_jacobian = float(np.linalg.slogdet(hessian)[1])
    density = log_density(noise, kind, scale) + log_jacobian
    if scale == 0.0:
        return Candidate(noise, density)
    blur = output_sigma / weight * hessian
    if kind == "gaussian":
        return Candidate(noise, density, standard_gaussian(noise, scale, blur), tolerance / (weight * scale))
    spread = float(np.linalg.norm(blur)) / math.sqrt(len(noise))
    return Candidate(noise, density, standard_gamma(noise, scale, spread), STEEPEST * tolerance * scale / weight)


class Mortal(Protocol):
    """A peer that can lose its state in a crash and begin again."""

    def forget(self) -> None:
        """Model and dual are gone. What was spent stays spent, and what was tested stays tested."""

    def recall(self, answers: Sequence[Known]) -> None:
        """Take over what the neighbours last heard from this agent, the newest of it."""

    def retell(self, last: Known) -> Parts:
        """What a neighbour in that position is told; `last` is the last message from it."""


def mortal(peer: object) -> TypeGuard[Mortal]:
    """Whether a peer is one; `isinstance` looks at each method of the protocol anew, which takes ten times as long."""
    return hasattr(peer, "forget") and hasattr(peer, "recall") and hasattr(peer, "retell")


class Peer(ABC):
    """An agent's mathematics: `propose` and `absorb` are all that a method must write."""

    role: ClassVar[Literal["agent", "leaf", "hub"]] = "agent"
    """Who speaks when: agents all at once; of a star whose hub waits for its leaves, the leaves before the hub."""
    recycles: ClassVar[bool] = False
    """Whether some rounds release what is computed from earlier releases alone."""
    silences: tuple[str, ...] = ()
    """The method's own reasons to skip a round."""
    private_silences: tuple[str, ...] = ()
    """Those of them that depend on the data."""

    def __init__(self, start: int | Vector) -> None:
        """Begin at `objective.start`; a number stands for a zero model of that length."""
        self.theta: Vector = np.zeros(start) if isinstance(start, int) else start.copy()
        """The model that counts: the last one released."""
        self.limits: tuple[float, ...] = (LARGEST, LARGEST, LARGEST)
        """How long each vector of a neighbour's message may be, known before anything runs."""

    @property
    def dual(self) -> Vector:
        """The dual variable λ_i; zero for a method without one."""
        return np.zeros_like(self.theta)

    def initial(self) -> Parts:
        """What the neighbours take for this agent's value before its first release."""
        return (self.theta.copy(),)

    def accepts(self, round: int, parts: Parts) -> bool:
        """Whether a neighbour's message about its `round` may be used; others are refused, as if they were lost."""
        return within(parts, self.limits)

    @abstractmethod
    def propose(self, t: int) -> Proposal | Work:
        """Round t's local work: what comes out of it, or the work itself, to be seen through by the caller."""

    def settled(self, *, accepted: bool) -> None:
        """The ledger has taken the last proposal's charges, or refused them and let nothing out.

        Mostly nothing depends on it: a refused release was never made.
        """
        return

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        """What round t's message carries beside the `model`, which is given as the neighbours decode it."""
        return ()

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        """What each neighbour alone is sent instead of the model; None if all are sent the same."""
        return None

    @abstractmethod
    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        """The end of round t: `sent` is what the neighbours decode (with letters: the model), None after a skip."""

    # What outputs are made of (`simnet.agent.outputs`), asked after `absorb`: functions of what was released and heard.

    def own_model(self, t: int, sent: Parts | None, known: Sequence[Known]) -> Told | None:
        """The model that round t adds to the agent's own releases; None if it adds none."""
        return None if sent is None else Told(t, sent[0])

    def model_heard(self, value: Known) -> Vector | None:
        """The model that a neighbour's message tells of this neighbour; None if it tells none."""
        return value.parts[0]

    def known_models(self) -> Mapping[int, Told]:
        """The newest model that it has learnt of every agent, itself included, by origin; asked where `Method.floods`.

        An agent of which nothing is known yet is left out.
        """
        return {}

    # What an auditor asks of a peer that has absorbed all rounds before t and holds the data of one hypothesis.

    @property
    def noise_source(self) -> np.random.Generator | None:
        """Where the noise of its releases comes from; None if it has none."""
        return None

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        """The noise that must have made a release of round t; None if that did not use the data."""
        return None

    @property
    def sparse_vector(self) -> SparseVector | None:
        """Its test, if it has one."""
        return None

    def asks(self, t: int) -> bool:
        """Whether round t may ask the test; what its answers may cost is paid before the first of them."""
        return True

    def price(self, t: int) -> tuple[Charge, ...] | None:
        """What the ledger must be charged for a release of round t; None if the peer does not say."""
        return None

    def recycled(self, t: int) -> Vector | None:
        """What a release of round t must be, bit by bit, where it is computed from earlier releases alone."""
        return None

    def question(self, released: Vector | None) -> float | None:
        """What this round's test was asked, if there was one; `released` is the model that it let pass, if it did."""
        return None

    @property
    def clean(self) -> Vector:
        """The model without its noise, where a method is `linear_gaussian`."""
        raise NotImplementedError(f"{type(self).__name__} does not perturb a model once")

    def draws_again(self, releases: int) -> tuple[Vector, list[Vector]]:
        """The first model of a fresh peer, and the noise on each of so many messages: what the agent itself knows."""
        raise NotImplementedError(f"{type(self).__name__} does not perturb a model once")

    def gradient_distance(self, t: int, released: Vector) -> float:
        """How far a recycled release is from a step along the gradient of this peer's own data."""
        raise NotImplementedError(f"{type(self).__name__} recycles nothing")

    def step_by_data(self, t: int) -> Proposal:
        """What a recycling round t would release if it went along the gradient of this peer's own data."""
        raise NotImplementedError(f"{type(self).__name__} recycles nothing")


class PrivatePeer(Peer):
    """A peer whose noise and charges are those of a ready plan (`simnet.privacy.ready_plans`).

    `test` is that of the plan's gate, if it has one: its answer goes into the proposal.
    """

    def __init__(self, start: int | Vector, plan: ReadyPlan, rng: np.random.Generator) -> None:
        super().__init__(start)
        self.plan = plan
        self.rng = rng
        self.limits = (plan.limit,) * 3
        self.test = None if plan.gate is None else plan.gate.begin(rng)
        self._unpaid = plan.opening

    def charges(self, t: int, *, released: bool = True) -> tuple[Charge, ...]:
        """What round t costs: what is paid in advance and was not yet, and its release if there is one."""
        return (*self._unpaid, self.plan.charge(t)) if released else self._unpaid

    def settled(self, *, accepted: bool) -> None:
        """A test that was never paid for is never asked again."""
        if not accepted and self.test is not None:
            self.test.positives = self.test.cap
        self._unpaid = ()

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    @property
    def sparse_vector(self) -> SparseVector | None:
        return self.test

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.plan.charge(t),)


class Hub(Peer):
    """The centre of a star."""

    role: ClassVar[Literal["agent", "leaf", "hub"]] = "hub"

    @property
    @abstractmethod
    def waits(self) -> bool:
        """Whether a step needs what the leaves send."""

    @abstractmethod
    def gather(self, known: Sequence[Known]) -> None:
        """Take what the leaves have sent."""
