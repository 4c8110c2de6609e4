"""The kinds of events, each a typed record.

A line of the log is `{"seq": …, "t": …, "event": kind, …the record's fields}`. The bus numbers and times events; the
records here hold only what happened. The fields `agent`, `round`, `peer` and `message` mean the same everywhere: the
agent at which it happened, that agent's round, the other end, and the number of the message. Numbers that come from
models are rounded by `sig` when the record is made, so that the log, the metrics and the digest all see the same value
whatever the BLAS.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A number of agents, rounds, messages or bytes: a log that holds others was not written by a run."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What happened. Its kind and the sentence that tells it are attributes of the class, not fields."""

    kind: ClassVar[str]
    """The name of the class in two words: `MessageSent` is message.sent."""
    told: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = ".".join(re.findall("[A-Z][a-z]+", cls.__name__)).lower()

    def __str__(self) -> str:
        """What happened in words, without a full stop."""
        return self.told.format_map(msgspec.structs.asdict(self))


class AtAgent(Event, frozen=True, forbid_unknown_fields=True):
    """What happens at an agent, in one of its rounds."""

    agent: Whole
    round: Whole


class OfMessage(AtAgent, frozen=True, forbid_unknown_fields=True):
    """What happens to a message."""

    peer: Whole
    message: Whole


class RunStarted(Event, frozen=True, forbid_unknown_fields=True):
    """The first line: everything needed to read the rest."""

    told: ClassVar[str] = "the run started"

    schema: Whole
    """version of the event schema"""
    version: str
    """simnet's version"""
    private: bool
    """true: the log also holds what the mechanisms did not release"""
    scenario: dict[str, Any]
    """the resolved scenario"""
    edges: list[tuple[Whole, Whole]]
    """links, each once"""
    rows: list[Whole]
    """training rows of each agent (public)"""
    features: Whole
    """length of a model"""
    test_error_is: str | None = None
    """what `test_error` is; absent if it is the share of errors"""
    attached: list[str] = []
    """names of the user's own processes that took part: the scenario alone does not repeat such a run"""
    names: list[str] | None = None
    """what the file of the topology calls the agents, in their order; absent if only by their numbers"""
    fit: str | None = None
    """what the record may be given away for; absent in logs of old versions"""
    caveats: list[str] = []
    """what ε does not cover in this run"""
    noise_key: str | None = None
    """SHA-256 of the key that noise was drawn from; absent if it was drawn from the seed, or by live agents"""
    in_step: bool = False
    """true: a value of a later round waits until its user gets there"""
    linear_gaussian: bool = False
    """true: all messages are linear in models that got Gaussian noise once, so that ε can be told for each observer"""
    published: bool = False
    """true: what no mechanism protects was taken out of the record"""
    silences: dict[str, bool] = {}
    """the method's own reasons to skip a round, and whether each depends on the data"""
    foreign: dict[str, str] = {}
    """the parts of the user's own, by the reference that names each: SHA-256 of the source of its module"""
    files: dict[str, str] = {}
    """SHA-256 of every file that the scenario names and the run read, by its name in the scenario"""
    data: dict[str, str] = {}
    """SHA-256 of the files that the rows came from; left out of what is published"""
    prepared: dict[str, Whole] = {}
    """rows read from a table, rows left out for blanks, blanks filled, columns left out, columns of numbers and of
    categories, features made of them; absent if every row and column stayed, and left out of what is published"""


class RoundStarted(AtAgent, frozen=True, forbid_unknown_fields=True):
    """An agent begins a round."""

    told: ClassVar[str] = "agent {agent} started round {round}"


class SolveFinished(AtAgent, frozen=True, forbid_unknown_fields=True):
    """The local solve is done. Its cost is an evaluation figure: it depends on the data and is not published."""

    told: ClassVar[str] = "agent {agent} finished its solve of round {round}"

    gradients: Whole
    """gradient evaluations used"""
    residual: float | None = None
    """gradient norm at the end (private logs only)"""
    notes: dict[str, float] | None = None
    """figures of the method's own (private logs only)"""


class SvtTested(AtAgent, frozen=True, forbid_unknown_fields=True):
    """The sparse vector test was asked whether the update is worth a broadcast."""

    told: ClassVar[str] = "agent {agent} tested its update of round {round}"

    passed: bool
    """whether it is: what passes is released"""
    query: float | None = None
    """the query before noise (private logs only)"""


class ReleaseMade(AtAgent, frozen=True, forbid_unknown_fields=True):
    """A model left the agent: public from here on."""

    told: ClassVar[str] = "agent {agent} released its model of round {round}"

    value: str
    """the model as its neighbours decode it: little-endian float64, base64"""


class PrivacySpent(AtAgent, frozen=True, forbid_unknown_fields=True):
    """An entry in the agent's privacy ledger, written before the release leaves."""

    told: ClassVar[str] = "agent {agent} paid for a {spent_on} in round {round}"

    spent_on: Literal["release", "test"]
    """a release; or, before the first test, the test and all the releases that it may let pass"""
    mechanism: str
    """name of the mechanism"""
    parameters: dict[str, float]
    """its parameters: enough to recompute ε from the log alone"""
    times: Whole = 1
    """uses paid for: a test pays in advance for all the releases that it may let pass"""


class BroadcastSent(AtAgent, frozen=True, forbid_unknown_fields=True):
    """A release went out to all neighbours."""

    told: ClassVar[str] = "agent {agent} broadcast in round {round}"

    payload_bytes: Whole
    """encoded model, without the frame"""


REASONS = ("test", "exhausted", "budget", "listening", "crash", "domain")
"""Why an agent of any method may skip a round."""


class BroadcastSkipped(AtAgent, frozen=True, forbid_unknown_fields=True):
    """The agent sent nothing this round."""

    told: ClassVar[str] = "agent {agent} skipped round {round} ({reason})"

    reason: str
    """`test`: it failed; `exhausted`: all releases are used up; `budget`: the ledger refused; `listening`: the agent
    has nothing to say in this method; `crash`: it took what the agent would have said; `domain`: neighbours' values
    have made its problem one that cannot be solved safely; or one of the method's own, which the first line lists"""


class ReportsGathered(Event, frozen=True, forbid_unknown_fields=True):
    """Before the first round an agent's rows went to whoever computes with them, each in a message of its own.

    The rows are those of its users (PDML), or its own on their way to a trusted hub (DP-ADMM). All of these
    messages have met their fates.
    """

    told: ClassVar[str] = "the reports of agent {agent}'s rows were gathered"

    agent: Whole
    messages: Whole
    """reports sent, one per row"""
    delivered: Whole
    """reports that arrived"""
    lost: Whole
    """reports that did not"""
    payload_bytes: Whole
    """of all reports"""
    wire_bytes: Whole
    """of all reports, frames included: what left the senders"""
    offered_bytes: Whole | None = None
    """what was handed to the senders' lines; absent in logs of old versions: as `wire_bytes`"""


class MessageSent(OfMessage, frozen=True, forbid_unknown_fields=True):
    """A frame was handed to a link."""

    told: ClassVar[str] = "agent {agent} sent message {message} to agent {peer} in round {round}"

    carries: Literal["value", "notice", "ack", "request", "reply"]
    """a model; only the news that none comes this round; in logs of old versions, the news that a message has arrived;
    of an agent that has lost its state, a question what was last heard from it, and the answer"""
    payload_bytes: Whole
    """what is encoded, without the frame; on a shared medium one transmission reaches all, and counts in one message"""
    wire_bytes: Whole
    """what left the host: the packets of the frame, with all that they add, but for those that the sender's own queue
    refused; on a shared medium it counts in one message; of a reliable transport the first packet if it left at once"""
    offered_bytes: Whole | None = None
    """what was handed to the host: all its packets, of a reliable transport the first one, if it did not have to wait;
    absent in logs of old versions: as `wire_bytes`"""


class MessageDelivered(OfMessage, frozen=True, forbid_unknown_fields=True):
    """The frame arrived; `agent` received it, `peer` sent it, `round` is the sender's."""

    told: ClassVar[str] = "message {message} from agent {peer} reached agent {agent}"


class MessageLost(OfMessage, frozen=True, forbid_unknown_fields=True):
    """The frame was lost on the way; noted when its last bit has left the sender, or when the sender gives it up."""

    told: ClassVar[str] = "message {message} from agent {agent} to agent {peer} was lost"

    reason: Literal["corrupted", "given-up", "collision", "retries", "sender-down"] | None = None
    """it arrived with a wrong checksum; a reliable transport tried often enough; on a shared channel, another
    transmission was in the way, or no acknowledgement came; its sender went down before its last bit had left; absent:
    it did not arrive"""
    unsent_bytes: Whole = 0
    """what `message.sent` counts in `wire_bytes` and never left, because its sender went down or gave it up"""


class MessageDuplicated(OfMessage, frozen=True, forbid_unknown_fields=True):
    """A copy of a frame arrived after it; `agent` received and ignored it. It is no fate: the message has had one.

    With a reliable transport it is a copy of one segment of the frame.
    """

    told: ClassVar[str] = "a copy of message {message} from agent {peer} arrived at agent {agent}"


class MessageOverflowed(OfMessage, frozen=True, forbid_unknown_fields=True):
    """The link's queue was full, or that of the receiver."""

    told: ClassVar[str] = "message {message} from agent {agent} to agent {peer} met a full queue"


class MessageUnreachable(OfMessage, frozen=True, forbid_unknown_fields=True):
    """The link or the receiver was down."""

    told: ClassVar[str] = "message {message} from agent {agent} could not reach agent {peer}"

    unsent_bytes: Whole = 0
    """what `message.sent` counts in `wire_bytes` and never left: frames after one that a shared channel gave up"""


class MessageRefused(OfMessage, frozen=True, forbid_unknown_fields=True):
    """The frame arrived and its values are not finite or larger than the public bounds: `agent`, to whom `peer` sent
    it, does not use them. To its computations the message is lost."""

    told: ClassVar[str] = "agent {agent} refused message {message} from agent {peer}"


class MessageRetransmitted(OfMessage, frozen=True, forbid_unknown_fields=True):
    """A reliable transport sent a segment of the frame again; on a shared channel, a station the whole frame."""

    told: ClassVar[str] = "agent {agent} sent message {message} to agent {peer} again"

    attempt: Whole
    """2 for the first repetition"""
    wire_bytes: Whole
    """what left the host when it was sent once more"""
    offered_bytes: Whole | None = None
    """what was handed to the host; absent in logs of old versions: as `wire_bytes`"""


class PacketsSent(Event, frozen=True, forbid_unknown_fields=True):
    """What an agent has sent to a neighbour by a reliable transport since this was last told.

    It tells the segments after the first of a message, a first segment that had to wait, and acknowledgements. A first
    segment that leaves at once is in `message.sent`, a repeated one in `message.retransmitted`. There is one such event
    per direction of a link before each `evaluation.done` and at the end of the run, if there is something to tell.
    """

    told: ClassVar[str] = "agent {agent} had sent packets to agent {peer}"

    agent: Whole
    peer: Whole
    segments: Whole
    """packets with a part of a message that left the host"""
    acknowledgements: Whole
    """packets that acknowledge what the neighbour has sent and that left the host"""
    wire_bytes: Whole
    """what left the host, of both"""
    offered_bytes: Whole
    """what was handed to the host, of both"""
    unsent_bytes: Whole = 0
    """what was counted in `wire_bytes`, here or before, and never left, because the agent went down"""


class AirUsed(Event, frozen=True, forbid_unknown_fields=True):
    """A transmission of an agent on the shared channel is over; acknowledgements are transmissions too."""

    told: ClassVar[str] = "agent {agent} was on the air for {airtime} s"

    agent: Whole
    airtime: float
    """seconds that it lasted"""
    heard: float
    """seconds for which all agents together listened, since this was last told"""
    busy: float = 0.0
    """if nobody sends any more: seconds for which the channel was busy without a pause"""


class SocketsCounted(Event, frozen=True, forbid_unknown_fields=True):
    """Of a live run, at its end: what the sockets of an agent carried, by the kernel's count."""

    told: ClassVar[str] = "the sockets of agent {agent} sent {sent_bytes} bytes"

    agent: Whole
    sent_bytes: Whole
    """bytes inside TCP: frames, envelopes, TLS, and what was sent again"""
    received_bytes: Whole
    """bytes inside TCP, each once"""
    segments: Whole
    """TCP segments sent, acknowledgements without data included"""
    header_bytes: Whole
    """bytes of IP and TCP headers that these segments had, estimated"""


class UnderlayLink(Event, frozen=True, forbid_unknown_fields=True):
    """At the end of a run: what one direction of a physical link has carried; told if it had anything to do."""

    told: ClassVar[str] = "the physical link {link} carried {packets} packets and dropped {dropped}"

    link: str
    """its nodes, from>to"""
    packets: Whole
    """that it took, those that it lost included"""
    bytes: Whole
    """of these packets, with all that they add"""
    utilisation: float
    """share of the run for which its line was busy"""
    dropped: Whole
    """packets that its queue refused"""
    lost: Whole
    """packets lost on it"""
    shared_by: Whole
    """directions between neighbours whose route uses it"""
    bandwidth: float | None = None
    """bits per second; absent: no limit"""


class ValueUsed(AtAgent, frozen=True, forbid_unknown_fields=True):
    """A neighbour's value entered the dual update."""

    told: ClassVar[str] = "agent {agent} used a value of agent {peer} in round {round}"

    peer: Whole
    staleness: Whole
    """rounds between the value and the user's round; 0 is fresh"""


class RoundTimeout(AtAgent, frozen=True, forbid_unknown_fields=True):
    """Patience ended before all neighbours were heard of."""

    told: ClassVar[str] = "agent {agent} lost patience in round {round}"

    missing: Whole
    """neighbours not heard of"""


class DualUpdated(AtAgent, frozen=True, forbid_unknown_fields=True):
    """The agent's round is over."""

    told: ClassVar[str] = "agent {agent} ended round {round}"


class FaultEvent(Event, frozen=True, forbid_unknown_fields=True):
    """What breaks, and where."""

    fault: str
    """crash, link-down, partition or straggler"""
    agent: Whole | None = None
    peer: Whole | None = None
    agents: list[Whole] | None = None
    """of a partition: one side"""


class FaultBegan(FaultEvent, frozen=True, forbid_unknown_fields=True):
    """Something broke."""

    told: ClassVar[str] = "the fault {fault} began"


class FaultEnded(FaultEvent, frozen=True, forbid_unknown_fields=True):
    """It works again."""

    told: ClassVar[str] = "the fault {fault} ended"


class EvaluationDone(Event, frozen=True, forbid_unknown_fields=True):
    """All agents have finished a round. Evaluation figures: they look at the data and are not released."""

    told: ClassVar[str] = "round {round} was evaluated"

    round: Whole
    test_error: float
    """share of errors on the test set, or what `test_error_is` of `run.started` says; mean over agents"""
    consensus: float
    """root mean square distance of the models from their mean"""
    dual_drift: float
    """norm of the sum of all duals: 0 on a perfect network"""
    train_loss: float | None = None
    """loss of each agent's model on its own rows, mean over agents; absent from published records"""
    objective: float | None = None
    """each agent's objective, regulariser included, at its own model, mean over agents; not in published records"""
    agent_test_error: list[float] | None = None
    """of each agent; in the last round only"""
    agent_train_loss: list[float] | None = None
    """of each agent; in the last round only"""
    measures: dict[str, float | None] | None = None
    """what the task, metrics and further outputs tell, by name; absent if there is nothing, null for no number"""
    at_end: bool = False
    """true: the run ended at `until`; the models as they stood then, `round` is that of the agent that came furthest"""


class RunFinished(Event, frozen=True, forbid_unknown_fields=True):
    """The last line: what seals the log."""

    told: ClassVar[str] = "the run finished"

    rounds: list[Whole]
    """last round that each agent finished"""
    digest: str
    """sha256 of the canonical events: the same on nearly every machine"""
    sha256: str
    """sha256 of the bytes of all lines before this one"""


SCHEMA = 1

EVENTS: dict[str, type[Event]] = {
    event.kind: event
    for event in tuple(vars().values())
    if isinstance(event, type) and issubclass(event, Event) and hasattr(event, "told")
}
"""All kinds, in the order in which they stand here."""

COMMON = ("agent", "round", "peer", "message")
"""Fields that mean the same in every kind of event."""

FATES: dict[type[Event], str] = {
    event: event.kind.removeprefix("message.")
    for event in (MessageDelivered, MessageLost, MessageOverflowed, MessageUnreachable, MessageRefused)
}
"""Every way in which a message ends; one that is still on its way at the end of a run has no event."""


def offered(event: MessageSent | MessageRetransmitted | ReportsGathered) -> int:
    """The bytes that were handed to the sender's host."""
    return event.wire_bytes if event.offered_bytes is None else event.offered_bytes


ARRIVALS = (MessageDelivered, MessageRefused, MessageDuplicated)
"""What happens to a message at its receiver: `agent` is that, `peer` sent it."""


def sender(event: Any) -> int:
    """Who did what an event tells; of a message its sender, though arrivals happen at the receiver."""
    return int(event.peer if isinstance(event, ARRIVALS) else event.agent)
