"""Events in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from simnet.record.events import Event

FATES: Mapping[str, str] = {
    "message.delivered": "delivered",
    "message.lost": "lost",
    "message.overflowed": "dropped",
    "message.unreachable": "could not deliver",
}
"""What a network did to a message."""

_SENTENCES: Mapping[str, str] = {
    "run.started": "the run started",
    "round.started": "agent {agent} started round {round}",
    "solve.finished": "agent {agent} finished its solve of round {round}",
    "svt.tested": "agent {agent} tested its update of round {round}",
    "release.made": "agent {agent} released its model of round {round}",
    "privacy.spent": "agent {agent} paid for a {spent_on} in round {round}",
    "broadcast.sent": "agent {agent} broadcast in round {round}",
    "broadcast.skipped": "agent {agent} skipped round {round} ({reason})",
    "reports.gathered": "the reports of agent {agent}'s rows were gathered",
    "message.sent": "agent {agent} sent message {message} to agent {peer} in round {round}",
    "message.delivered": "message {message} from agent {peer} reached agent {agent}",
    "message.lost": "message {message} from agent {agent} to agent {peer} was lost",
    "message.duplicated": "a copy of message {message} from agent {peer} arrived at agent {agent}",
    "message.overflowed": "message {message} from agent {agent} to agent {peer} met a full queue",
    "message.unreachable": "message {message} from agent {agent} could not reach agent {peer}",
    "message.retransmitted": "agent {agent} sent message {message} to agent {peer} again",
    "value.used": "agent {agent} used a value of agent {peer} in round {round}",
    "round.timeout": "agent {agent} lost patience in round {round}",
    "dual.updated": "agent {agent} ended round {round}",
    "fault.began": "the fault {fault} began",
    "fault.ended": "the fault {fault} ended",
    "evaluation.done": "round {round} was evaluated",
    "run.finished": "the run finished",
}


def sentence(event: Event) -> str:
    """What happened, without a full stop."""
    return _SENTENCES[event.kind].format_map(msgspec.structs.asdict(event))


def journey(event: Any) -> str:
    """Which message a fate is about."""
    sender, peer = (event.peer, event.agent) if event.kind == "message.delivered" else (event.agent, event.peer)
    return f"message {event.message} from agent {sender} to agent {peer}"
