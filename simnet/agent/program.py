"""The agent programs: coroutines, the same under virtual and under real time.

They read like the papers' pseudocode, and everything that they do to the outside goes through their port. `run_agent`
is the program of nearly all agents. The hub of a star has its own: it computes with what its leaves send, so in a round
the leaves speak first, then the hub.

    leaf:  gradient at the known model → hub; wait for the new model
    hub:   wait for the gradients; step; new model → leaves

Under ideal pacing both sides meet twice per round, once after each has spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.pacing import Pacing
from simnet.agent.port import Port
from simnet.agent.recollection import Recollection
from simnet.errors import ScenarioError
from simnet.methods.peer import Hub, Peer, Proposal, mortal
from simnet.privacy.ledger import BARE, RECYCLED, Charge, Ledger, pays_for_release
from simnet.record import events
from simnet.record.lines import pack, sig
from simnet.vectors import Parts

_BY_TEST = ("test", "exhausted")
"""Reasons to skip a round that are answers of a test."""


async def run_agent(
    peer: Peer,
    port: Port,
    pacing: Pacing,
    neighbourhood: Neighbourhood,
    ledger: Ledger,
    rounds: int,
    *,
    private: bool,
    recollection: Recollection,
    first: int = 1,
) -> None:
    """Run `peer` from its `first` round to the last of `rounds`."""
    me = port.agent
    before_hub = peer.role == "leaf" and pacing.meets
    if mortal(peer):
        neighbourhood.retell = peer.retell
    for t in range(first, rounds + 1):
        proposal = await work(t, peer, port, pacing, private=private)
        sent = None
        if port.relapsed():
            await abandon(t, proposal, peer, port, ledger)
            recollection.forget()
        else:
            sent = release(t, proposal, peer, port, neighbourhood, ledger, private=private)
        if sent is None and pacing.announces:
            port.notify(t)
        neighbourhood.enter(t)
        if before_hub:
            await port.rendezvous()
        await pacing.settle(t, port, neighbourhood)
        if port.relapsed():
            await recover(t, peer, port)
            recollection.forget()
            sent = None
        known = neighbourhood.read()
        port.used(t, known)
        peer.absorb(t, sent, known)
        port.emit(events.DualUpdated(me, t))
        port.finished(t, peer, recollection.models(t, peer, sent, known))


async def work(t: int, peer: Peer, port: Port, pacing: Pacing, *, private: bool) -> Proposal:
    """Begin a round and solve its local problem; return when its outcome may leave."""
    slot = pacing.slot(port)
    port.emit(events.RoundStarted(port.agent, t))
    proposal = await port.work(peer, t)
    residual, notes = (sig(proposal.residual), proposal.notes) if private else (None, None)
    port.emit(events.SolveFinished(port.agent, t, proposal.gradients, residual, notes))
    if slot is not None:
        await slot.wait(t)
    return proposal


async def recover(t: int, peer: Peer, port: Port) -> None:
    """Begin again after a crash that took the state: ask the neighbours what they last heard."""
    if not mortal(peer):
        raise ScenarioError(f"fault: {type(peer).__name__} has no `forget`, `recall` and `retell`: keep its state")
    peer.forget()
    peer.recall(await port.ask(t))


async def abandon(t: int, proposal: Proposal, peer: Peer, port: Port, ledger: Ledger) -> None:
    """A crash took the proposal: nothing leaves, but a test that opened with it has been asked and must be paid."""
    await recover(t, peer, port)
    charges = [charge for charge in due(proposal, ledger, heard=True) if charge.kind == "test"]
    paid = ledger.afford(*charges)
    peer.settled(accepted=paid)
    if paid:
        record_charges(t, charges, port)
    port.emit(events.BroadcastSkipped(port.agent, t, "crash" if paid else "budget"))


def record_charges(t: int, charges: Sequence[Charge], port: Port) -> None:
    """Put charges on the record that the ledger has taken."""
    for charge in charges:
        parameters = dict(charge.parameters)
        port.emit(events.PrivacySpent(port.agent, t, charge.kind, charge.mechanism, parameters, charge.times))


def due(proposal: Proposal, ledger: Ledger, *, heard: bool) -> tuple[Charge, ...]:
    """What a proposal costs, whatever it says: a release or a test that nothing pays for is a bare one.

    Nor does it help to call it recycled before the agent has paid for anything, or has `heard` what a neighbour
    released: there is nothing yet that it could be made of.
    """
    tests = tuple(charge for charge in proposal.charges if charge.kind == "test")
    unpaid = () if proposal.test is None or tests or ledger.tested else (replace(BARE, kind="test"),)
    has_source = heard or ledger.paid
    paid = any(pays_for_release(c) and (has_source or c.use != RECYCLED.use) for c in proposal.charges)
    if proposal.release is None or paid:
        return (*unpaid, *proposal.charges)
    return (*unpaid, *tests, BARE)


def reason_of(proposal: Proposal, peer: Peer) -> str:
    """Why it is silent: a reason that the record knows, and no answer of a test that does not exist."""
    reason = proposal.skipped
    if reason is None or (reason not in events.REASONS and reason not in peer.silences):
        raise ScenarioError(f"algorithm.name: its `silences` do not list {reason!r}")
    if reason in _BY_TEST and proposal.test is None and peer.sparse_vector is None:
        raise ScenarioError(f"algorithm.name: its peers skip a round because of {reason!r}, and they have no test")
    return reason


def refuse_telling_silence(peer: Peer, charges: Sequence[Charge]) -> None:
    """Noise protects nothing where an agent's silence depends on its data, whether or not a plan has foretold it."""
    noisy = [charge.mechanism for charge in charges if charge.mechanism not in (BARE.mechanism, RECYCLED.mechanism)]
    if peer.private_silences and noisy:
        raise ScenarioError(
            f"algorithm.name: it pays for {noisy[0]}, but whether an agent is silent ({peer.private_silences[0]}) "
            "depends on its data, and no charge pays for that"
        )


def release(
    t: int, proposal: Proposal, peer: Peer, port: Port, neighbourhood: Neighbourhood, ledger: Ledger, *, private: bool
) -> Parts | None:
    """Charge the ledger, then let the proposal out if it is worth it and paid for; what the neighbours will decode."""
    me = port.agent
    charges = due(proposal, ledger, heard=neighbourhood.used)
    refuse_telling_silence(peer, charges)
    paid = ledger.afford(*charges)
    peer.settled(accepted=paid)
    if not paid:
        port.emit(events.BroadcastSkipped(me, t, "budget"))
        return None
    record_charges(t, charges, port)
    if proposal.test is not None:
        query = sig(proposal.test.query) if private else None
        port.emit(events.SvtTested(me, t, proposal.test.passed, query))
    if proposal.release is None:
        port.emit(events.BroadcastSkipped(me, t, reason_of(proposal, peer)))
        return None
    model, company = proposal.release[0], proposal.release[1:]
    letters = peer.letters(model, port.audience(t))
    if letters is not None:
        payloads = {neighbour: port.seal(neighbour, parts) for neighbour, parts in letters.items()}
        port.emit(events.ReleaseMade(me, t, pack(model)))
        port.emit(events.BroadcastSent(me, t, max(map(len, payloads.values()), default=0)))
        port.post(t, payloads)
        return proposal.release
    payload, sent = port.encode(model, lambda decoded: company + peer.accompany(t, decoded, neighbourhood.known))
    port.emit(events.ReleaseMade(me, t, pack(sent[0])))
    port.emit(events.BroadcastSent(me, t, len(payload)))
    port.broadcast(t, payload)
    return sent


async def run_hub(
    peer: Hub,
    port: Port,
    pacing: Pacing,
    neighbourhood: Neighbourhood,
    ledger: Ledger,
    rounds: int,
    *,
    private: bool,
    recollection: Recollection,
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
        proposal = await port.work(peer, t)
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
        port.finished(t, peer, recollection.models(t, peer, sent, ()))


PROGRAMS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"agent": run_agent, "leaf": run_agent, "hub": run_hub}
"""By the role of a peer."""
