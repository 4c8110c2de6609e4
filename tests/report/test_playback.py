"""What a page plays back, unpacked again and compared with the story that it was recorded from."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.record import events as ev
from simnet.record.events import FATES
from simnet.report.playback import Playback
from tests.record.stories import lawful

KINDS = {"sent": "<f8", "lasts": "<f4", "from": "<u4", "to": "<u4", "fate": "u1"}
TURNS = {
    "agent": "<u4",
    "round": "<u4",
    "began": "<f8",
    "acted": "<f8",
    "ended": "<f8",
    "act": "u1",
    "staleness": "<f4",
}


def recorded(story, **limits) -> dict:
    playback = Playback(**limits)
    for seq, (t, event) in enumerate(story, start=1):
        playback(seq, t, event)
    return playback.columns()


def unpacked(columns: dict, kinds: dict[str, str]) -> list[tuple]:
    lists = [np.frombuffer(base64.b64decode(columns[name]), kind).tolist() for name, kind in kinds.items()]
    assert {len(each) for each in lists} == {columns["count"]}
    return list(zip(*lists, strict=True))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_every_message_flies_from_its_sending_to_its_fate(seed):
    story = lawful(agents=4, rounds=3, seed=seed, tested=True, notices=True)
    met = {event.message: (t, list(FATES).index(type(event)) + 1) for t, event in story if type(event) in FATES}
    expected = []
    for t, event in story:
        if isinstance(event, ev.MessageSent):
            end, fate = met.get(event.message, (story[-1][0], 0))
            notice = event.carries == "notice"
            expected.append((t, pytest.approx(end - t, rel=1e-6), event.agent, event.peer, 2 * fate + notice))
    assert unpacked(recorded(story)["flights"], KINDS) == expected


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_turn_tells_what_an_agent_did_and_how_stale_what_it_used_was(seed):
    story = lawful(agents=4, rounds=3, seed=seed, tested=True)
    turns = {(turn[0], turn[1]): turn[2:] for turn in unpacked(recorded(story)["turns"], TURNS)}
    finished = [(t, event) for t, event in story if isinstance(event, ev.DualUpdated)]
    assert len(turns) == len(finished)
    for ended, event in finished:
        own = [
            (t, e)
            for t, e in story
            if getattr(e, "agent", None) == event.agent and getattr(e, "round", 0) == event.round
        ]
        began = next(t for t, e in own if isinstance(e, ev.RoundStarted))
        acted, act = next(
            (t, 1 if isinstance(e, ev.BroadcastSent) else 2)
            for t, e in own
            if isinstance(e, (ev.BroadcastSent, ev.BroadcastSkipped))
        )
        stale = [e.staleness for _, e in own if isinstance(e, ev.ValueUsed)]
        mean = pytest.approx(sum(stale) / len(stale), rel=1e-6)
        assert turns[event.agent, event.round] == (began, acted, ended, act, mean)


def test_a_sampled_playback_keeps_to_its_limits_and_says_its_share():
    story = lawful(agents=12, rounds=12)
    whole, part = recorded(story), recorded(story, flights=50, turns=40)
    assert (whole["flights"]["share"], whole["turns"]["share"]) == (1.0, 1.0)
    assert 0 < part["flights"]["count"] <= 50
    assert part["flights"]["share"] < 1.0
    kept = unpacked(part["flights"], KINDS)
    assert set(kept) <= set(unpacked(whole["flights"], KINDS))
    agents = {turn[0] for turn in unpacked(part["turns"], TURNS)}
    assert part["turns"]["count"] == 12 * len(agents) <= 40, "a shown agent is shown in every round"


def test_per_round_shows_no_more_messages_than_a_browser_can_move():
    assert recorded(lawful(agents=12, rounds=6), per_round=5)["flights"]["count"] <= 5 * 6


def test_a_timeless_run_is_stretched_to_one_second_per_round():
    story = [(0.0, event) for _, event in lawful(agents=3, rounds=4)]
    played = recorded(story)
    assert (played["timeless"], played["end"]) == (True, 4.0)
    assert all(
        0.0 < sent < sent + lasts < 4.0 for sent, lasts, _, _, fate in unpacked(played["flights"], KINDS) if fate > 1
    )


def test_a_fault_lasts_from_its_beginning_to_its_end():
    played = recorded(
        [
            (1.0, ev.FaultBegan("crash", agent=2)),
            (2.0, ev.FaultBegan("crash", agent=1)),
            (3.0, ev.FaultEnded("crash", agent=2)),
        ]
    )
    assert [(f["agent"], f["began"], f["ended"]) for f in played["faults"]] == [(2, 1.0, 3.0), (1, 2.0, None)]


def test_a_partition_that_comes_again_ends_again():
    sides = {"fault": "partition", "agents": [0, 2]}
    times = ((1.0, ev.FaultBegan), (2.0, ev.FaultEnded), (4.0, ev.FaultBegan), (5.0, ev.FaultEnded))
    played = recorded([(t, kind(**sides)) for t, kind in times])
    assert [(f["agents"], f["began"], f["ended"]) for f in played["faults"]] == [([0, 2], 1.0, 2.0), ([0, 2], 4.0, 5.0)]
