"""Is its noise what it says? An audit of a small case, and one with half of the noise, which must be found."""

from __future__ import annotations

from typing import Literal

from simnet.audit import Audit, audit
from simnet.audit.result import AuditResult, Verdict
from simnet.check.outcome import Failing, Inapplicable
from simnet.check.subject import Subject
from simnet.errors import ScenarioError
from simnet.methods.peer import Peer
from simnet.simulate import peers_of

RUNS = 30
ROUNDS = 4


def audited(subject: Subject) -> str:
    """An auditor who knows all but the noise finds it as it should be."""
    found = _audit(subject, None)
    if found.verdict is Verdict.NOTHING:
        raise Inapplicable("no finite ε is promised, so there is nothing to break")
    if found.broken:
        broken = ", ".join(found.conformance.broken_by) or "the ε of an eavesdropper"
        told = f" ({found.conformance.sentences[0]})" if found.conformance.sentences else ""
        raise Failing(f"{found.verdict}: {broken}{told}; what is drawn must be what `noise_of` and the charges say")
    if found.verdict is Verdict.INCONCLUSIVE:
        raise Failing("the auditor saw no noise to judge; let `noise_of` give `plan.noise_in(t, clean, noisy)`")
    return (
        f"{found.verdict}: {RUNS} runs on each of two data sets, nothing found against ε = {found.promise.epsilon:.4g}"
    )


def lie_is_found(subject: Subject) -> str:
    """The same audit with noise times 0.5 says that the mechanism is broken."""
    found = _audit(subject, "half-noise")
    if not found.broken:
        raise Failing("an agent with half of its noise was not found out; let `plan.weakened(0.5)` draw half the noise")
    return f"an agent with half of its noise is found out ({', '.join(found.conformance.broken_by)})"


def _audit(subject: Subject, lie: Literal["half-noise"] | None) -> AuditResult:
    if not subject.noisy:
        raise Inapplicable("it has no noise")
    if all(type(peer).noise_of is Peer.noise_of for peer in peers_of(subject.world)):
        raise Inapplicable("its peers have no `noise_of`, so nobody can look for their noise")
    changes = subject.three_agents | {"network.pacing": "ideal", "rounds": ROUNDS}
    try:
        return audit(subject.scenario.with_(**changes), Audit(runs=RUNS, lie=lie, evidence="rounds"))
    except ScenarioError as error:
        raise Inapplicable(f"refused: {error}") from None
