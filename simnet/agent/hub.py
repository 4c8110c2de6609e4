"""A star whose hub computes with what its leaves send: in a round the leaves speak first, then the hub.

    leaf:  gradient at the known model → hub; wait for the new model
    hub:   wait for the gradients; step; new model → leaves

Under ideal pacing both sides meet twice a round, once after each has spoken.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.pacing import Pacing
from simnet.agent.port import Port
from simnet.agent.program import release, run_agent
from simnet.methods.peer import Hub, Peer
from simnet.privacy.ledger import Ledger
from simnet.record import events


class Program(Protocol):
    """What runs one agent from its first round to its last."""

    def __call__(
        self,
        peer: Any,
        port: Port,
        pacing: Pacing,
        neighbourhood: Neighbourhood,
        ledger: Ledger,
        rounds: int,
        *,
        private: bool,
        first: int = 1,
    ) -> Coroutine[Any, Any, None]: ...


def program_of(peer: Peer) -> Program:
    """The program for a peer: its own for the hub of a star and for the leaves that it waits for."""
    programs: dict[str, Program] = {"agent": run_agent, "leaf": run_leaf, "hub": run_hub}
    return programs[peer.role]


async def run_hub(
    peer: Hub,
    port: Port,
    pacing: Pacing,
    neighbourhood: Neighbourhood,
    ledger: Ledger,
    rounds: int,
    *,
    private: bool,
    first: int = 1,
) -> None:
    """Run a hub from its `first` round to the last of `rounds`; it waits for its leaves only if it needs them."""
    me = port.agent
    for t in range(first, rounds + 1):
        port.emit(events.RoundStarted(me, t))
        neighbourhood.enter(t)
        if peer.waits:
            await pacing.settle(t, port, neighbourhood)
            known = neighbourhood.read()
            port.used(t, known)
            peer.gather(known)
        proposal = await port.propose(peer, t)
        await port.compute(proposal.gradients)
        port.emit(events.SolveFinished(me, t, proposal.gradients, 0.0 if private else None))
        sent = release(t, proposal, peer, port, neighbourhood, ledger, private=private)
        if sent is None and pacing.announces:
            port.notify(t)
        peer.absorb(t, sent, ())
        if not peer.waits:
            await pacing.settle(t, port, neighbourhood)
        elif pacing.meets:
            await port.rendezvous()
        port.emit(events.DualUpdated(me, t))
        port.finished(t, peer)


async def run_leaf(
    peer: Peer,
    port: Port,
    pacing: Pacing,
    neighbourhood: Neighbourhood,
    ledger: Ledger,
    rounds: int,
    *,
    private: bool,
    first: int = 1,
) -> None:
    """Run a leaf whose hub waits for it from its `first` round to the last of `rounds`."""
    me = port.agent
    for t in range(first, rounds + 1):
        port.emit(events.RoundStarted(me, t))
        proposal = await port.propose(peer, t)
        await port.compute(proposal.gradients)
        port.emit(events.SolveFinished(me, t, proposal.gradients, 0.0 if private else None))
        sent = release(t, proposal, peer, port, neighbourhood, ledger, private=private)
        if sent is None and pacing.announces:
            port.notify(t)
        neighbourhood.enter(t)
        if pacing.meets:
            await port.rendezvous()
        await pacing.settle(t, port, neighbourhood)
        known = neighbourhood.read()
        port.used(t, known)
        peer.absorb(t, sent, known)
        port.emit(events.DualUpdated(me, t))
        port.finished(t, peer)
