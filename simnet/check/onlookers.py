"""Peers with somebody who looks on: what they propose, what they do with what they get, and who can follow them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from simnet.check.outcome import Failing, Inapplicable
from simnet.check.subject import Subject, played
from simnet.methods.peer import Known, Peer, Proposal, Work
from simnet.simulate import peers_of
from simnet.vectors import Parts, Vector


class Onlooker:
    """Does what the peer does, and is told of it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.peer, name)

    def propose(self, t: int) -> Proposal | Work:
        self.begins(t)
        work = self.peer.propose(t)
        if isinstance(work, Proposal):
            self.proposes(t, work)
            return work
        return self._seen_through(t, work)

    def _seen_through(self, t: int, work: Work) -> Work:
        proposal = yield from work
        self.proposes(t, proposal)
        return proposal

    def begins(self, t: int) -> None:
        """A round begins."""

    def proposes(self, t: int, proposal: Proposal) -> None:
        """The peer has a proposal."""


class Borrower(Onlooker):
    """Hands the peer copies of what it is given, which it could change, and looks whether it has."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self._lent: list[tuple[Vector, bytes, int]] = []

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        given = [Known(value.peer, value.round, self._copies(t, value.parts), value.before) for value in known]
        self.peer.absorb(t, None if sent is None else self._copies(t, sent), given)
        self._look("absorb", t)

    def proposes(self, t: int, proposal: Proposal) -> None:
        self._look("propose", t)

    def _copies(self, t: int, parts: Parts) -> Parts:
        copies = tuple(part.copy() for part in parts)
        self._lent += [(copy, copy.tobytes(), t) for copy in copies]
        return copies

    def _look(self, where: str, t: int) -> None:
        for vector, bits, round in self._lent:
            if vector.tobytes() != bits:
                raise Failing(
                    f"{where} of round {t} writes into a vector that came with round {round}, and others hold it, too; "
                    "make a new one: x = x + …, not x += …"
                )


class Shadowed(Onlooker):
    """A peer beside a shadow, which absorbs the same and never proposes."""

    def __init__(self, peer: Peer, shadow: Peer) -> None:
        super().__init__(peer)
        self._shadow = shadow
        self._gathered: Sequence[Known] = ()

    def gather(self, known: Sequence[Known]) -> None:
        self._gathered = known
        cast(Any, self.peer).gather(known)

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        self._shadow.accompany(t, model, known)
        return self.peer.accompany(t, model, known)

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        every = list(neighbours)
        self._shadow.letters(model, every)
        return self.peer.letters(model, every)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self._shadow.absorb(t, sent, known or self._gathered)
        self.peer.absorb(t, sent, known)
        for name in ("theta", "dual"):
            if not _alike(getattr(self.peer, name), getattr(self._shadow, name)):
                raise Failing(
                    f"after round {t} a peer that only absorbs has another {name}; let `absorb` alone change the "
                    "state, from `sent` and `known`: an auditor retraces a run by that"
                )


class Proposer(Onlooker):
    """Looks whether a proposal changes the model."""

    def begins(self, t: int) -> None:
        self._before = self.peer.theta.copy(), np.array(self.peer.dual)

    def proposes(self, t: int, proposal: Proposal) -> None:
        for name, before in zip(("theta", "dual"), self._before, strict=True):
            if not _alike(getattr(self.peer, name), before):
                raise Failing(
                    f"propose of round {t} changes {name}; a proposal may be refused by the ledger, so keep it for "
                    "`absorb`, which is told what was sent"
                )


def hands_off(subject: Subject) -> str:
    """Vectors that a peer is given belong to others, too."""
    peers = [Borrower(peer) for peer in peers_of(subject.world)]
    try:
        played(subject.world, cast(Any, peers))
    except Failing:
        raise
    except Exception:
        raise Inapplicable("the run ends early: `runs` says why") from None
    return "what it is given stays as it is"


def followed(subject: Subject) -> str:
    """A shadow that never proposes has the same model after every round."""
    world = subject.world
    pairs = zip(peers_of(world), peers_of(world), strict=True)
    played(world, cast(Any, [Shadowed(peer, shadow) for peer, shadow in pairs]))
    return f"a peer that only absorbs has the same model after each of {world.scenario.rounds} rounds"


def proposes_only(subject: Subject) -> str:
    """A proposal changes nothing but the noise's generator."""
    if subject.scenario.algorithm.linear_gaussian:
        raise Inapplicable("its model is drawn once, in the first proposal (`linear_gaussian`)")
    played(subject.world, cast(Any, [Proposer(peer) for peer in peers_of(subject.world)]))
    return "propose leaves model and dual alone"


def _alike(one: Vector, other: Vector) -> bool:
    return np.array_equal(one, other, equal_nan=True)
