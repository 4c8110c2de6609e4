"""The chain of what an agent has charged and let out, and what its neighbours remember of it. No I/O.

    head of round t = SHA-256(head of round t − 1, t, the frames of round t, its charges and its release)

Each frame travels with the head of its round, so whoever holds a frame holds a promise about everything that its sender
had charged and let out by then. A neighbour remembers the heads. Its greeting tells an agent which round of it was the
last to arrive, with the head. An agent whose own chain does not have that head there has been put back to an earlier
state, or has lived that round twice, and refuses to go on (`Chain.compare`).

When all journals are there, each chain is computed again from the charges and releases on the record, and every head
that a neighbour holds must be on it (`verify`). So no frame of a round that was lived twice is anywhere.

What goes into a head is public: frames, and charges, which depend on no row. A hash over a secret that can be guessed
would tell whether a guess is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby

import msgspec

from simnet.errors import LiveError
from simnet.live.envelope import HEAD_BYTES, Greeting, Reason, Refused
from simnet.record import events

ORIGIN = bytes(HEAD_BYTES)
"""The head before the first round."""
BINDING = (events.PrivacySpent, events.ReleaseMade)
"""The events that a head vouches for."""

_WHAT_TO_DO = (
    "Do not go on from it: put the newest state folder back, or begin another run, with other folders and another "
    "name, and add up what both cost"
)


class ChainLink(msgspec.Struct, frozen=True):
    """One round in the chain of an agent."""

    round: int
    frames: bytes
    """hash of the frames that left, by neighbour"""
    head: bytes


class HeldHead(msgspec.Struct, frozen=True):
    """The head that came with a neighbour's frame."""

    peer: int
    round: int
    head: bytes


class Chain:
    """One agent's chain, and the heads that it holds of its neighbours' chains."""

    def __init__(self, me: int) -> None:
        self.me = me
        self.heads: dict[int, bytes] = {}
        """by round, without gaps"""
        self.held: dict[int, dict[int, bytes]] = {}
        """by neighbour and round"""

    @property
    def last(self) -> int:
        """The last round in the chain."""
        return len(self.heads)

    def next(self, round: int, told: Iterable[events.Event], frames: Mapping[int, bytes]) -> ChainLink:
        """The link of the round that follows; `told` are its charges and its release."""
        digest = _hash(b"%d:%b" % (peer, raw) for peer, raw in sorted(frames.items()))
        return ChainLink(round, digest, _head(self.heads.get(round - 1, ORIGIN), round, digest, told))

    def add(self, link: ChainLink) -> None:
        """The chain goes on."""
        self.heads[link.round] = link.head

    def restore(self, links: Iterable[ChainLink], held: Iterable[HeldHead], rounds: int) -> None:
        """Bring it to where a journal of so many rounds ends."""
        for link in links:
            self.add(link)
        for each in held:
            self.hold(each)
        if self.last < rounds:
            raise LiveError(f"agent {self.me}: the journal has no chain: go on with the version of simnet that kept it")

    def hold(self, held: HeldHead) -> bool:
        """Remember a neighbour's head; False if it was known, refused if the round had another."""
        heads = self.held.setdefault(held.peer, {})
        if heads.get(held.round, held.head) != held.head:
            raise Refused(Reason.FORKED, f"agent {held.peer} has lived round {held.round} twice")
        new = held.round not in heads
        heads[held.round] = held.head
        return new

    def greeting(self, peer: int, incarnation: int) -> Greeting:
        """What to tell a neighbour about itself."""
        held = self.held.get(peer)
        return Greeting(incarnation, last := max(held), held[last]) if held else Greeting(incarnation)

    def compare(self, peer: int, said: Greeting) -> None:
        """Refuse to go on if a neighbour holds what this chain does not have."""
        if said.round > self.last:
            raise LiveError(
                f"agent {self.me}: agent {peer} holds round {said.round} of this agent, and the journal ends with "
                f"round {self.last}: the state folder is older than what has been sent. {_WHAT_TO_DO}"
            )
        if said.round and said.head != self.heads[said.round]:
            raise LiveError(
                f"agent {self.me}: what agent {peer} holds of round {said.round} of this agent is not what the "
                f"journal says: two processes, or two copies of one state folder, have been this agent. {_WHAT_TO_DO}"
            )


def verify(
    told: Sequence[Iterable[events.Event]], links: Sequence[Iterable[ChainLink]], held: Sequence[Iterable[HeldHead]]
) -> None:
    """Check that nothing was released twice, given the events, the chain and the neighbours' heads of each agent.

    Every charge and every release is in the chain of its agent, and every head that a neighbour holds is on it.
    """
    chains = [_recomputed(agent, *each) for agent, each in enumerate(zip(told, links, strict=True))]
    for holder, heads in enumerate(held):
        for each in heads:
            if chains[each.peer].get(each.round) != each.head:
                raise LiveError(
                    f"agent {holder} holds a frame of round {each.round} of agent {each.peer} that is not in agent "
                    f"{each.peer}'s journal: that round was released twice, or the journal is not the newest"
                )


def _recomputed(agent: int, told: Iterable[events.Event], links: Iterable[ChainLink]) -> dict[int, bytes]:
    """The heads of an agent's chain, if they are what its charges, its releases and its frames come to."""
    bound = [event for event in told if isinstance(event, BINDING)]
    by_round = {round: list(group) for round, group in groupby(bound, key=lambda event: event.round)}
    heads: dict[int, bytes] = {}
    for link in links:
        right = _head(heads.get(link.round - 1, ORIGIN), link.round, link.frames, by_round.pop(link.round, ()))
        if link.round != len(heads) + 1 or link.head != right:
            raise LiveError(f"agent {agent}'s journal: the charges of round {link.round} are not those of its chain")
        heads[link.round] = link.head
    by_round.pop(len(heads) + 1, None)  # a round that ended in a crash before anything of it left
    if by_round:
        raise LiveError(f"agent {agent}'s journal: round {min(by_round)} was charged and is not in its chain")
    return heads


def _head(before: bytes, round: int, frames: bytes, told: Iterable[events.Event]) -> bytes:
    return _hash([before, b"%d" % round, frames, *(_canonical(event) for event in told)])


def _canonical(event: events.Event) -> bytes:
    if isinstance(event, events.PrivacySpent):  # a whole number among its parameters is read back as a float
        numbers = {name: float(value) for name, value in event.parameters.items()}
        event = msgspec.structs.replace(event, parameters=numbers)
    return event.kind.encode() + msgspec.json.encode(event)


def _hash(parts: Iterable[bytes]) -> bytes:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
