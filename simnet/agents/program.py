"""The agent program: one coroutine, the same under virtual and under real time.

It reads like the papers' pseudocode, and everything that it does to the outside goes through its port.
"""

from __future__ import annotations

import numpy as np

from simnet.agents.neighbourhood import Neighbourhood
from simnet.agents.pacing import Pacing
from simnet.agents.port import Port
from simnet.algorithms.peer import Parts, Peer, Proposal
from simnet.privacy.ledger import Ledger
from simnet.record import events
from simnet.record.rounding import pack, sig


async def run_agent(
    peer: Peer, port: Port, pacing: Pacing, neighbourhood: Neighbourhood, ledger: Ledger, rounds: int, *, private: bool
) -> None:
    """Run `rounds` rounds of `peer`."""
    me = port.agent
    for t in range(1, rounds + 1):
        port.emit(events.RoundStarted(me, t))
        proposal = peer.propose(t)
        await port.compute(proposal.gradients)
        residual = sig(proposal.residual) if private else None
        port.emit(events.SolveFinished(me, t, proposal.gradients, residual))
        sent = _release(t, proposal, port, ledger, private=private)
        if sent is None and pacing.notices:
            port.notify(t)
        neighbourhood.enter(t)
        await pacing.settle(t, port, neighbourhood)
        known = list(neighbourhood.values())
        for value in known:
            port.emit(events.ValueUsed(me, t, value.peer, max(0, t - value.round)))
        peer.absorb(t, sent, [value.parts for value in known])
        port.emit(events.DualUpdated(me, t))
        port.finished(t, peer.theta, peer.dual)


def _release(t: int, proposal: Proposal, port: Port, ledger: Ledger, *, private: bool) -> Parts | None:
    """Charge the ledger, then let the proposal out if it is worth it and paid for; what the neighbours will decode."""
    me = port.agent
    if ledger.would_exceed(*proposal.charges):
        port.emit(events.BroadcastSkipped(me, t, "budget"))
        return None
    ledger.spend(*proposal.charges)
    for charge in proposal.charges:
        port.emit(events.PrivacySpent(me, t, charge.kind, charge.mechanism, dict(charge.parameters), charge.times))
    if proposal.test is not None:
        query = sig(proposal.test.query) if private else None
        port.emit(events.SvtTested(me, t, proposal.test.passed, query))
    if proposal.release is None:
        assert proposal.skipped is not None
        port.emit(events.BroadcastSkipped(me, t, proposal.skipped))
        return None
    payload, sent = port.encode(proposal.release)
    port.emit(events.ReleaseMade(me, t, pack(np.concatenate(sent))))
    port.emit(events.BroadcastSent(me, t, len(payload)))
    port.broadcast(t, payload)
    return sent
