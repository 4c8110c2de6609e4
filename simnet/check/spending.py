"""Does it pay for what it lets out? Proposals, the plan, the ledger, and the ε that they come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from simnet.build import World, build
from simnet.check.onlookers import Onlooker
from simnet.check.outcome import Failing, Inapplicable
from simnet.check.subject import Subject, played
from simnet.methods.peer import Known, Peer, Proposal
from simnet.privacy.ledger import BARE, RECYCLED, Charge, Use, pays_for_release
from simnet.record import events
from simnet.simulate import Result, peers_of
from simnet.vectors import Parts, Vector

FREE = (BARE.mechanism, RECYCLED.mechanism)
"""Charges that stand for no noise."""


class Payer(Onlooker):
    """Looks whether a release is paid for, and what it is called."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self.findings: list[str] = []
        self._paid = False

    def proposes(self, t: int, proposal: Proposal) -> None:
        paying = [charge for charge in proposal.charges if pays_for_release(charge)]
        if proposal.release is not None and not paying:
            self.findings.append(f"nothing pays for the release of round {t}, so it is charged as a bare one")
        if any(charge.use == RECYCLED.use for charge in paying) and t == 1 and not self._paid:
            self.findings.append(f"the release of round {t} is called recycled, but there is nothing to recycle yet")
        self._paid = self._paid or any(charge.use != RECYCLED.use for charge in proposal.charges)


class FirstWords(Onlooker):
    """Notes what leaves in the first round, when nobody has heard anything yet: vectors, or silence."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self.told: dict[str, bytes] = {}
        self._first = True

    def begins(self, t: int) -> None:
        self._first = t == 1

    def proposes(self, t: int, proposal: Proposal) -> None:
        if proposal.release is not None:
            self._note("vector {} of the message", proposal.release)
        elif self._first and proposal.test is None:
            self.told["the silence"] = str(proposal.skipped).encode()

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        found = self.peer.accompany(t, model, known)
        self._note("vector {} beside the model", found)
        return found

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        found = self.peer.letters(model, neighbours)
        for neighbour, parts in (found or {}).items():
            self._note(f"vector {{}} of the letter to agent {neighbour}", parts)
        return found

    def _note(self, what: str, parts: Parts) -> None:
        if self._first:
            self.told |= {what.format(place): part.tobytes() for place, part in enumerate(parts, start=1)}


def hidden(subject: Subject) -> str:
    """What leaves in the first round is the same for all data, or another with another noise."""
    if not subject.noisy:
        raise Inapplicable("it has no noise")
    found = _told(subject.world)
    other_noise = _told(build(subject.scenario.with_(**{"privacy.noise_name": "another"})))
    other_data = _told(build(subject.scenario.with_(**{"data.seed": subject.scenario.seed + 1})))
    for agent, told in enumerate(found):
        for what, value in told.items():
            if other_noise[agent].get(what) == value != other_data[agent].get(what):
                raise Failing(
                    f"{what} of agent {agent} in round 1 depends on the data, and not on the noise: charges pay for "
                    "the whole message; perturb all of it"
                )
    return "nothing of the first round depends on the data and not on the noise"


def _told(world: World) -> list[dict[str, bytes]]:
    peers = [FirstWords(peer) for peer in peers_of(world)]
    played(world, cast(Any, peers))
    return [peer.told for peer in peers]


def charged(subject: Subject) -> str:
    """Every release has a charge that pays for it, and what is recycled has a source."""
    peers = [Payer(peer) for peer in peers_of(subject.world)]
    played(subject.world, cast(Any, peers))
    findings = [finding for peer in peers for finding in peer.findings]
    if findings and subject.noisy:
        raise Failing(f"{findings[0]}; charges=(self.plan.charge(t),) pays for it")
    if not subject.noisy:
        return "all releases are bare: no privacy"
    return "every release is paid for before it leaves"


def planned(subject: Subject) -> str:
    """What the ledger is charged is what the plan says before anything runs: no other mechanism, and not oftener."""
    for agent, plan in enumerate(subject.world.calibration.plans):
        made = _uses(_charges(subject.result, agent))
        foreseen = _uses(() if plan is None else plan.charges)
        for use, count in made.items():
            if use[0] not in FREE and count > foreseen[use]:
                raise Failing(
                    f"agent {agent} is charged {count} times for {use[0]}, its plan says {foreseen[use]} times; let "
                    "`plan.charges` hold everything that a run may be charged"
                )
    refused = [
        e for _, _, e in subject.result.events if isinstance(e, events.BroadcastSkipped) and e.reason == "budget"
    ]
    if refused:
        raise Failing(
            f"the ledger refuses {len(refused)} releases beyond ε = {subject.scenario.privacy.epsilon:g}; plan noise "
            "that pays for all rounds"
        )
    return "the plan covers all charges" if subject.noisy else "nothing but bare releases"


def within_budget(subject: Subject) -> str:
    """Where noise is chosen to meet ε by a proof, the ledger's ε is no more than that."""
    privacy, spent = subject.scenario.privacy, subject.result.summary["privacy"]
    if not subject.noisy:
        raise Inapplicable("bare: no privacy, and none is promised")
    if privacy.calibration != "proven" or subject.scenario.algorithm.names_its_noise:
        raise Inapplicable("the scenario names the noise, and ε is what it comes to")
    if (declared := spent.get("declared_epsilon")) is not None:
        return f"ε = {declared:.4g} is declared by its author, and nothing is proven"
    proven = spent["proven_epsilon"]
    if proven is None or proven > privacy.epsilon:
        found = "no finite ε" if proven is None else f"ε = {proven:.4g}"
        raise Failing(f"{found} is proven of its charges where ε = {privacy.epsilon:g} was asked for; plan more noise")
    return f"ε = {proven:.4g} is proven of at most {privacy.epsilon:g}"


def bare(subject: Subject) -> str:
    """Without calibration there is no noise, and the ledger says so."""
    changed = build(subject.scenario.with_(**{"privacy.calibration": "none"}))
    result = played(changed, peers_of(changed))
    for agent in range(changed.agents):
        for charge in _charges(result, agent):
            if charge.mechanism not in FREE:
                raise Failing(
                    f"with privacy.calibration = 'none' agent {agent} is charged for {charge.mechanism}; let `plan` "
                    "ask `privacy.calibration`, as the plans of simnet.extend do"
                )
    return "with privacy.calibration = 'none' all releases are bare"


def _charges(result: Result, agent: int) -> Iterator[Charge]:
    """What an agent's ledger was charged."""
    for _, _, event in result.events:
        if isinstance(event, events.PrivacySpent) and event.agent == agent:
            yield Charge.of(event.mechanism, event.parameters, event.spent_on, event.times)


def _uses(charges: Any) -> Counter[Use]:
    """How often each use counts: as often as it was paid in advance or made since then, whichever is more."""
    advance: Counter[Use] = Counter()
    made: Counter[Use] = Counter()
    before: Counter[Use] = Counter()
    for charge in charges:
        tally = advance if charge.kind == "test" else made if advance else before
        tally[charge.use] += charge.times
    return before + (advance | made)
