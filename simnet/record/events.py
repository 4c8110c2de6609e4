"""The kinds of events: a typed record each.

A line of the log is `{"seq": …, "t": …, "event": kind, …the record's fields}`. The bus numbers and times events; the
records here hold only what happened. Field names `agent`, `round` and `peer` mean the same everywhere: the agent at
which it happened, that agent's round, and the other end. Numbers that come from models are rounded by `sig` when the
record is made, so that the log, the metrics and the digest all see the same value whatever the BLAS.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec


class Event(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What happened; the kind is a class attribute, not a field."""

    kind: ClassVar[str]


class RunStarted(Event, frozen=True, forbid_unknown_fields=True):
    """The first line: everything needed to read the rest."""

    kind: ClassVar[str] = "run.started"

    schema: int
    """version of the event schema"""
    version: str
    """simnet's version"""
    private: bool
    """true: the log also holds what the mechanisms did not release"""
    scenario: dict[str, Any]
    """the resolved scenario"""
    edges: list[tuple[int, int]]
    """links, each once"""
    rows: list[int]
    """training rows of each agent (public)"""
    features: int
    """length of a model"""


class RoundStarted(Event, frozen=True, forbid_unknown_fields=True):
    """An agent begins a round."""

    kind: ClassVar[str] = "round.started"

    agent: int
    round: int


class SolveFinished(Event, frozen=True, forbid_unknown_fields=True):
    """The local solve is done. Its cost is an evaluation figure: it depends on the data and is not released."""

    kind: ClassVar[str] = "solve.finished"

    agent: int
    round: int
    gradients: int
    """gradient evaluations used"""
    residual: float | None = None
    """gradient norm at the end (private logs only)"""


class SvtTested(Event, frozen=True, forbid_unknown_fields=True):
    """The sparse vector test was asked whether the update is worth a broadcast."""

    kind: ClassVar[str] = "svt.tested"

    agent: int
    round: int
    passed: bool
    """whether it is: what passes is released"""
    query: float | None = None
    """the query before noise (private logs only)"""


class ReleaseMade(Event, frozen=True, forbid_unknown_fields=True):
    """A model left the agent: public from here on."""

    kind: ClassVar[str] = "release.made"

    agent: int
    round: int
    value: str
    """the model as its neighbours decode it: little-endian float64, base64"""


class PrivacySpent(Event, frozen=True, forbid_unknown_fields=True):
    """An entry in the agent's privacy ledger, written before the release leaves."""

    kind: ClassVar[str] = "privacy.spent"

    agent: int
    round: int
    spent_on: Literal["release", "test"]
    """a release; or, before the first test, the test and all the releases that it may let pass"""
    mechanism: str
    """name of the mechanism"""
    parameters: dict[str, float]
    """its parameters: enough to recompute ε from the log alone"""
    times: int = 1
    """uses paid for: a test pays in advance for all the releases that it may let pass"""


class BroadcastSent(Event, frozen=True, forbid_unknown_fields=True):
    """A release went out to all neighbours."""

    kind: ClassVar[str] = "broadcast.sent"

    agent: int
    round: int
    payload_bytes: int
    """encoded model, without the frame"""


class BroadcastSkipped(Event, frozen=True, forbid_unknown_fields=True):
    """The agent sent nothing this round."""

    kind: ClassVar[str] = "broadcast.skipped"

    agent: int
    round: int
    reason: Literal["test", "exhausted", "budget", "listening", "crash"]
    """the test failed, all releases are used up, the ledger refused, the agent has nothing to say in this method, or a
    crash took what it would have said"""


class ReportsGathered(Event, frozen=True, forbid_unknown_fields=True):
    """Before the first round an agent's rows went, a message each, to whoever computes with them; all fates are met.

    The rows are those of its users (pdml), or its own on their way to a trusted hub (dp-admm).
    """

    kind: ClassVar[str] = "reports.gathered"

    agent: int
    messages: int
    """reports sent, one a row"""
    delivered: int
    """reports that arrived"""
    lost: int
    """reports that did not"""
    payload_bytes: int
    """of all reports"""
    wire_bytes: int
    """of all reports, frames included"""


class MessageSent(Event, frozen=True, forbid_unknown_fields=True):
    """A frame was handed to a link."""

    kind: ClassVar[str] = "message.sent"

    agent: int
    round: int
    peer: int
    message: int
    """number of the message, ascending in the order of sending"""
    carries: Literal["value", "notice", "ack", "request", "reply"]
    """a model; only the news that none comes this round; of a reliable transport, the news that a message has arrived;
    of an agent that has lost its state, a question what was last heard from it, and the answer"""
    payload_bytes: int
    """what is encoded, without the frame; on a shared medium one transmission reaches all, and counts in one message"""
    wire_bytes: int
    """length of the whole frame with what its packets add to it; on a shared medium it counts in one message"""


class MessageDelivered(Event, frozen=True, forbid_unknown_fields=True):
    """The frame arrived; `agent` received it, `peer` sent it, `round` is the sender's."""

    kind: ClassVar[str] = "message.delivered"

    agent: int
    round: int
    peer: int
    message: int


class MessageLost(Event, frozen=True, forbid_unknown_fields=True):
    """The frame was lost on the way; noted when its last bit has left the sender, or when the sender gives it up."""

    kind: ClassVar[str] = "message.lost"

    agent: int
    round: int
    peer: int
    message: int
    reason: Literal["corrupted", "given-up"] | None = None
    """it arrived with a wrong checksum; a reliable transport tried often enough; absent: it did not arrive"""


class MessageDuplicated(Event, frozen=True, forbid_unknown_fields=True):
    """A copy of a frame arrived after it; `agent` received and ignored it. It is no fate: the message has had one."""

    kind: ClassVar[str] = "message.duplicated"

    agent: int
    round: int
    peer: int
    message: int


class MessageOverflowed(Event, frozen=True, forbid_unknown_fields=True):
    """The link's queue was full, or that of the receiver."""

    kind: ClassVar[str] = "message.overflowed"

    agent: int
    round: int
    peer: int
    message: int


class MessageUnreachable(Event, frozen=True, forbid_unknown_fields=True):
    """The link or the receiver was down."""

    kind: ClassVar[str] = "message.unreachable"

    agent: int
    round: int
    peer: int
    message: int


class MessageRetransmitted(Event, frozen=True, forbid_unknown_fields=True):
    """A reliable transport sent the frame again."""

    kind: ClassVar[str] = "message.retransmitted"

    agent: int
    round: int
    peer: int
    message: int
    attempt: int
    """2 for the first repetition"""
    wire_bytes: int
    """length of the whole frame, sent once more"""


class ValueUsed(Event, frozen=True, forbid_unknown_fields=True):
    """A neighbour's value entered the dual update."""

    kind: ClassVar[str] = "value.used"

    agent: int
    round: int
    peer: int
    staleness: int
    """rounds between the value and the user's round; 0 is fresh"""


class RoundTimeout(Event, frozen=True, forbid_unknown_fields=True):
    """Patience ended before all neighbours were heard of."""

    kind: ClassVar[str] = "round.timeout"

    agent: int
    round: int
    missing: int
    """neighbours not heard of"""


class DualUpdated(Event, frozen=True, forbid_unknown_fields=True):
    """The agent's round is over."""

    kind: ClassVar[str] = "dual.updated"

    agent: int
    round: int


class FaultBegan(Event, frozen=True, forbid_unknown_fields=True):
    """Something broke."""

    kind: ClassVar[str] = "fault.began"

    fault: str
    """crash, link-down, partition or straggler"""
    agent: int | None = None
    peer: int | None = None
    agents: list[int] | None = None
    """of a partition: one side"""


class FaultEnded(Event, frozen=True, forbid_unknown_fields=True):
    """It works again."""

    kind: ClassVar[str] = "fault.ended"

    fault: str
    """crash, link-down, partition or straggler"""
    agent: int | None = None
    peer: int | None = None
    agents: list[int] | None = None
    """of a partition: one side"""


class EvaluationDone(Event, frozen=True, forbid_unknown_fields=True):
    """All agents have finished a round. Evaluation figures: they look at the data and are not released."""

    kind: ClassVar[str] = "evaluation.done"

    round: int
    test_error: float
    """share of errors on the test set, mean over agents"""
    train_loss: float
    """loss of each agent's model on its own rows, mean over agents"""
    objective: float
    """each agent's objective, regulariser included, at its own model, mean over agents"""
    consensus: float
    """root mean square distance of the models from their mean"""
    dual_drift: float
    """norm of the sum of all duals: 0 on a perfect network"""
    agent_test_error: list[float] | None = None
    """of each agent; in the last round only"""
    agent_train_loss: list[float] | None = None
    """of each agent; in the last round only"""


class RunFinished(Event, frozen=True, forbid_unknown_fields=True):
    """The last line: what seals the log."""

    kind: ClassVar[str] = "run.finished"

    rounds: list[int]
    """last round that each agent finished"""
    digest: str
    """sha256 of the canonical events: the same on every machine"""
    sha256: str
    """sha256 of the bytes of all lines before this one"""


SCHEMA = 1

EVENTS: dict[str, type[Event]] = {
    event.kind: event
    for event in (
        RunStarted,
        RoundStarted,
        SolveFinished,
        SvtTested,
        ReleaseMade,
        PrivacySpent,
        BroadcastSent,
        BroadcastSkipped,
        ReportsGathered,
        MessageSent,
        MessageDelivered,
        MessageLost,
        MessageDuplicated,
        MessageOverflowed,
        MessageUnreachable,
        MessageRetransmitted,
        ValueUsed,
        RoundTimeout,
        DualUpdated,
        FaultBegan,
        FaultEnded,
        EvaluationDone,
        RunFinished,
    )
}
