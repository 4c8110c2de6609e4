"""Live agents that keep slots: messages leave at times that are fixed before the run, by real clocks."""

from __future__ import annotations

from simnet.live import run as live
from simnet.record.events import MessageSent
from tests.worlds import live_world


def test_no_live_message_leaves_before_its_slot_and_all_leave_within_the_round():
    slots = {"kind": "deadline", "period": 1.0, "send_at": 0.5}
    result = live.run(live_world(rounds=3, **{"network.pacing": slots}), tls=False)
    sent = [(t, event.round) for _, t, event in result.events if isinstance(event, MessageSent)]
    assert len(sent) == 18
    for t, round in sent:
        assert round - 1 + 0.5 <= t + 1e-3 < round
    assert result.summary["privacy"]["caveats"] == []
