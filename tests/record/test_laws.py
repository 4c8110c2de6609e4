import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.agent.pacing import ALIGNED
from simnet.record import events as ev
from simnet.record.laws import Laws
from tests.record.stories import Story, lawful, ring, start

STORIES = st.fixed_dictionaries(
    {
        "agents": st.integers(2, 5),
        "rounds": st.integers(1, 6),
        "seed": st.integers(0, 10**6),
        "pacing": st.sampled_from(["ideal", "barrier", "deadline"]),
        "loss": st.sampled_from([0.0, 0.3, 0.8]),
        "tested": st.booleans(),
        "notices": st.booleans(),
        "cap": st.sampled_from([1, 2, 100]),
    }
)


def judge(story: Story) -> list[str]:
    laws = Laws(ALIGNED)
    for seq, (t, event) in enumerate(story, start=1):
        laws(seq, t, event)
    return laws.finish()


@given(STORIES)
@settings(max_examples=150, deadline=None)
def test_a_run_that_obeys_the_rules_is_lawful_whatever_the_network_does_to_it(story):
    assert judge(lawful(**story)) == []


def matters(event: ev.Event) -> bool:
    """Whether a run needs this event: not an entry of an opening payment, of which a method makes as many as it likes,
    nor a notice, nor a fate, because a message without one is still on its way."""
    match event:
        case ev.PrivacySpent(spent_on=what):
            return what == "release"
        case ev.MessageSent(carries=what):
            return what == "value"
        case ev.RoundStarted() | ev.SvtTested() | ev.ReleaseMade() | ev.BroadcastSent() | ev.BroadcastSkipped():
            return True
        case ev.ValueUsed() | ev.DualUpdated():
            return True
    return False


FATES = (ev.MessageDelivered, ev.MessageLost, ev.MessageOverflowed, ev.MessageUnreachable)


@given(STORIES, st.data())
@settings(max_examples=150, deadline=None)
def test_a_run_with_one_event_missing_is_never_lawful(shape, data):
    story = lawful(**shape)
    gone = data.draw(st.sampled_from([i for i, (_, event) in enumerate(story) if matters(event)]))
    assert judge(story[:gone] + story[gone + 1 :])


@given(STORIES, st.data())
@settings(max_examples=150, deadline=None)
def test_a_run_with_one_event_told_twice_is_never_lawful(shape, data):
    story = lawful(**shape)
    told_once = (*FATES, ev.MessageSent, ev.EvaluationDone)
    places = [i for i, (_, event) in enumerate(story) if matters(event) or isinstance(event, told_once)]
    twice = data.draw(st.sampled_from(places))
    assert judge([*story[: twice + 1], *story[twice:]])


@given(STORIES, st.data())
@settings(max_examples=100, deadline=None)
def test_staleness_that_is_off_by_one_is_noticed(shape, data):
    story = lawful(**shape)
    places = [i for i, (_, event) in enumerate(story) if isinstance(event, ev.ValueUsed)]
    here = data.draw(st.sampled_from(places))
    t, used = story[here]
    story[here] = (
        t,
        ev.ValueUsed(used.agent, used.round, used.peer, used.staleness + data.draw(st.sampled_from([-1, 1]))),
    )
    (finding,) = judge(story)
    assert f"agent {used.agent} in round {used.round} uses a value of agent {used.peer}" in finding


def pair(*happened: ev.Event, pacing: str = "deadline", t: float = 1.0) -> list[str]:
    """Two agents with a link, and what happens to them."""
    return judge([(0.0, start(2, [(0, 1)], pacing)), *((t, event) for event in happened)])


def broadcast(agent: int, round: int, message: int) -> list[ev.Event]:
    return [
        ev.RoundStarted(agent, round),
        ev.PrivacySpent(agent, round, "release", "bare-model", {}),
        ev.ReleaseMade(agent, round, ""),
        ev.BroadcastSent(agent, round, 16),
        ev.MessageSent(agent, round, 1 - agent, message, "value", 16, 48),
    ]


def ended(agent: int, round: int, staleness: int) -> list[ev.Event]:
    return [ev.ValueUsed(agent, round, 1 - agent, staleness), ev.DualUpdated(agent, round)]


def test_a_physical_link_is_told_of_once_and_is_not_busy_for_longer_than_the_run():
    begun = start(2, [(0, 1)], "deadline")
    begun.scenario["network"]["underlay"] = {"routing": "delay"}
    fine = ev.UnderlayLink("a>b", 3, 300, 1.0, 0, 1, 2)
    assert judge([(0.0, begun), (1.0, fine)]) == []
    (twice,) = judge([(0.0, begun), (1.0, fine), (1.0, fine)])
    assert "the physical link a>b is told of twice" in twice
    too_busy, too_lossy = judge([(0.0, begun), (1.0, ev.UnderlayLink("a>b", 3, 300, 1.5, 0, 4, 2))])
    assert "is busy for 1.5 of the run" in too_busy
    assert "loses 4 of 3 packets" in too_lossy


def test_the_helpers_of_these_tests_are_lawful():
    assert pair(*broadcast(0, 1, 1), *ended(0, 1, 1)) == []


@pytest.mark.parametrize(
    ("fate", "sentence"),
    [
        (ev.MessageDelivered(1, 1, 0, 9), "message 9 is delivered but was never sent"),
        (ev.MessageLost(0, 1, 1, 9), "message 9 is lost but was never sent"),
        (ev.MessageRetransmitted(0, 1, 1, 9, 2, 48), "message 9 is retransmitted but was never sent"),
        (
            ev.MessageDelivered(0, 1, 1, 1),
            "message 1 is delivered from agent 1 to agent 0 in round 1, "
            "but it was sent from agent 0 to agent 1 in round 1",
        ),
        (
            ev.MessageLost(0, 2, 1, 1),
            "message 1 is lost from agent 0 to agent 1 in round 2, but it was sent from agent 0 to agent 1 in round 1",
        ),
    ],
)
def test_a_fate_belongs_to_the_message_that_was_sent(fate, sentence):
    (finding,) = pair(*broadcast(0, 1, 1), fate)
    assert finding == f"event 7 at t = 1 s: {sentence}"


def test_a_message_has_one_fate():
    (finding,) = pair(*broadcast(0, 1, 1), ev.MessageLost(0, 1, 1, 1), ev.MessageDelivered(1, 1, 0, 1))
    assert finding.endswith("message 1 is delivered but has met its fate already")


def test_a_message_does_not_arrive_before_it_is_sent():
    story: Story = [(0.0, start(2, [(0, 1)])), *((2.0, event) for event in broadcast(0, 1, 1))]
    (finding,) = judge([*story, (1.5, ev.MessageDelivered(1, 1, 0, 1))])
    assert finding.endswith("message 1 is delivered before it is sent")


def test_message_numbers_ascend():
    (finding,) = pair(*broadcast(0, 1, 5), *broadcast(1, 1, 5))
    assert "message 5 is sent after message 5" in finding


def test_a_message_goes_along_a_link():
    story: Story = [(0.0, start(3, [(0, 1), (1, 2)])), *((0.0, event) for event in broadcast(0, 1, 1)[:4])]
    (finding,) = judge([*story, (0.0, ev.MessageSent(0, 1, 2, 1, "value", 16, 48))])
    assert finding.endswith("message.sent happens between agents 0 and 2, and there is no such link")


def test_events_happen_at_agents_that_exist():
    (finding,) = pair(ev.RoundStarted(7, 1))
    assert finding.endswith("round.started happens at agent 7, and there is no such agent")


@pytest.mark.parametrize(
    ("happened", "sentence"),
    [
        ([ev.RoundStarted(0, 2)], "agent 0 starts round 2 after round 0"),
        ([ev.RoundStarted(0, 1), ev.RoundStarted(0, 2)], "agent 0 starts round 2 inside round 1"),
        ([ev.SolveFinished(0, 1, 4)], "solve.finished of agent 0 in round 1 comes between its rounds"),
        (
            [ev.RoundStarted(0, 1), ev.BroadcastSkipped(0, 2, "exhausted")],
            "broadcast.skipped of agent 0 in round 2 comes in round 1",
        ),
    ],
)
def test_rounds_come_one_after_another(happened, sentence):
    (finding,) = pair(*happened)
    assert finding.endswith(sentence)


def test_a_round_without_broadcast_or_skip_is_noticed():
    (finding,) = pair(ev.RoundStarted(0, 1), *ended(0, 1, 1))
    assert finding.endswith("agent 0 in round 1 ends with 0 broadcasts and 0 skips: it is one or the other")


def test_a_round_with_both_is_noticed():
    (finding,) = pair(*broadcast(0, 1, 1), ev.BroadcastSkipped(0, 1, "budget"), *ended(0, 1, 1))
    assert finding.endswith("agent 0 in round 1 ends with 1 broadcasts and 1 skips: it is one or the other")


def test_a_release_must_be_paid_for_first():
    started, spent, *rest = broadcast(0, 1, 1)
    unpaid, uneven = pair(started, *rest, *ended(0, 1, 1))
    assert unpaid.endswith("agent 0 in round 1 makes a release that it has not paid for")
    assert uneven.endswith("agent 0 in round 1 has 0 ledger entries for 1 releases and 1 broadcasts")
    late = pair(started, rest[0], spent, *rest[1:], *ended(0, 1, 1))
    assert late[1].endswith("agent 0 in round 1 pays for a release after making it")


def paid_with(mechanism: str, round: int, message: int) -> list[ev.Event]:
    started, _, *rest = broadcast(0, round, message)
    return [started, ev.PrivacySpent(0, round, "release", mechanism, {}), *rest]


def test_what_is_recycled_needs_something_that_was_paid_for_or_heard():
    """Such a log used to hold, at ε = 0."""
    (finding,) = pair(*paid_with("recycled", 1, 1), *ended(0, 1, 1))
    assert finding.endswith("recycles before it has paid for anything or used what a neighbour released")
    unheard = pair(*paid_with("recycled", 1, 1), *ended(0, 1, 1), *paid_with("recycled", 2, 2), *ended(0, 2, 2))
    assert len(unheard) == 2
    assert pair(*broadcast(0, 1, 1), *ended(0, 1, 1), *paid_with("recycled", 2, 2), *ended(0, 2, 2)) == []


def test_what_a_neighbour_released_is_a_source_once_it_was_used():
    heard = [*broadcast(1, 1, 1), ev.MessageDelivered(0, 1, 1, 1)]
    skipped = [ev.RoundStarted(0, 1), ev.BroadcastSkipped(0, 1, "listening"), *ended(0, 1, 0)]
    assert pair(*heard, *skipped, *paid_with("recycled", 2, 2), *ended(0, 2, 1)) == []
    (finding,) = pair(*heard, *paid_with("recycled", 1, 2), *ended(0, 1, 0))
    assert "recycles before" in finding


def test_a_charge_for_rows_pays_for_no_release():
    unpaid, uneven = pair(*paid_with("trusted-upload", 1, 1), *ended(0, 1, 1))
    assert unpaid.endswith("agent 0 in round 1 makes a release that it has not paid for")
    assert uneven.endswith("has 0 ledger entries for 1 releases and 1 broadcasts")


def test_paying_without_releasing_is_noticed():
    skip = ev.BroadcastSkipped(0, 1, "budget")
    (finding,) = pair(*broadcast(0, 1, 1)[:2], skip, *ended(0, 1, 1))
    assert finding.endswith("agent 0 in round 1 has 1 ledger entries for 0 releases and 0 broadcasts")


def test_a_value_that_was_not_released_cannot_be_sent():
    findings = pair(*broadcast(0, 1, 1)[:2], broadcast(0, 1, 1)[4])
    assert findings[0].endswith("agent 0 in round 1 sends message 1 with a value that it has not released")


def test_a_broadcast_without_release_is_noticed():
    findings = pair(*broadcast(0, 1, 1)[:2], broadcast(0, 1, 1)[3])
    assert findings[0].endswith("agent 0 in round 1 broadcasts without a release")


def test_a_notice_needs_a_skip():
    started = ev.RoundStarted(0, 1)
    notice = ev.MessageSent(0, 1, 1, 1, "notice", 0, 32)
    (finding,) = pair(started, notice)
    assert finding.endswith("agent 0 in round 1 sends message 1, a notice of a skip that did not happen")


def test_a_broadcast_goes_to_every_neighbour_once():
    findings = pair(*broadcast(0, 1, 1), ev.MessageSent(0, 1, 1, 2, "value", 16, 48), *ended(0, 1, 1))
    assert findings[0].endswith("agent 0 in round 1 sends agent 1 a second message")
    assert findings[1].endswith("agent 0 in round 1 sends 2 messages to 1 neighbours")


OPENING = ev.PrivacySpent(0, 1, "test", "sparse-vector", {})


def test_a_test_is_paid_before_its_first_answer():
    started = ev.RoundStarted(0, 1)
    (finding,) = pair(started, ev.SvtTested(0, 1, False))
    assert finding.endswith("agent 0 in round 1 asks the test without having paid for it")
    (finding,) = pair(started, OPENING, ev.SvtTested(0, 1, False), OPENING)
    assert finding.endswith("agent 0 in round 1 pays for its test after the first answer")


def test_what_passes_the_test_is_released_and_nothing_else():
    started, *released = broadcast(0, 1, 1)
    passed, failed = ev.SvtTested(0, 1, True), ev.SvtTested(0, 1, False)
    assert pair(started, OPENING, passed, *released, *ended(0, 1, 1)) == []
    (finding,) = pair(started, OPENING, failed, *released, *ended(0, 1, 1))
    assert finding.endswith("agent 0 in round 1 makes a release that has not passed the test")
    (finding,) = pair(started, OPENING, passed, ev.BroadcastSkipped(0, 1, "exhausted"), *ended(0, 1, 1))
    assert finding.endswith("agent 0 in round 1 passed the test and released nothing")
    (finding,) = pair(started, OPENING, ev.BroadcastSkipped(0, 1, "test"), *ended(0, 1, 1))
    assert finding.endswith("agent 0 in round 1 skips because of a test that did not fail")


def test_a_test_lets_pass_only_what_was_paid_for_in_advance():
    happened: list[ev.Event] = []
    for round in (1, 2, 3):
        started, *released = broadcast(0, round, round)
        opening = [OPENING, ev.PrivacySpent(0, 1, "test", "bare-model", {}, 2)] if round == 1 else []
        happened += [started, *opening, ev.SvtTested(0, round, True), *released, *ended(0, round, round)]
    (finding,) = pair(*happened)
    assert finding.endswith("agent 0 in round 3 releases oftener than it has paid for in advance: 2 times")


def test_every_neighbour_is_used_once_a_round():
    (finding,) = pair(*broadcast(0, 1, 1), ev.DualUpdated(0, 1))
    assert finding.endswith("agent 0 in round 1 uses 0 values of 1 neighbours")
    findings = pair(*broadcast(0, 1, 1), ev.ValueUsed(0, 1, 1, 1), *ended(0, 1, 1))
    assert findings[0].endswith("agent 0 in round 1 uses the value of agent 1 twice")


def test_in_lock_step_a_value_of_a_later_round_is_not_in_force_yet():
    ahead = [*broadcast(1, 1, 1), *ended(1, 1, 1), *broadcast(1, 2, 2)]
    arrivals = [ev.MessageDelivered(0, 2, 1, 2)]
    behind = broadcast(0, 1, 3)
    assert pair(*ahead, *arrivals, *behind, *ended(0, 1, 1), pacing="barrier") == []
    (finding,) = pair(*ahead, *arrivals, *behind, *ended(0, 1, 0), pacing="barrier")
    assert "with staleness 0, but the newest that arrived is of round 0: 1" in finding
    assert pair(*ahead, *arrivals, *behind, *ended(0, 1, 0), pacing="deadline") == []


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        (("crash", 1), "message 1 is delivered to agent 1, which is down"),
        (("link-down", 1, 0), "message 1 is delivered over the link 0-1, which is down"),
        (("partition", None, None, [1]), "message 1 is delivered over the link 0-1, which is down"),
        (("crash", 0), None),
        (("partition", None, None, [0, 1]), None),
    ],
)
def test_nothing_reaches_an_agent_that_is_down_or_crosses_a_link_that_is(place, complaint):
    arrives = [*broadcast(0, 1, 1), ev.MessageDelivered(1, 1, 0, 1), *ended(0, 1, 1)]
    findings = pair(ev.FaultBegan(*place), *arrives)
    assert [finding.partition(" s: ")[2] for finding in findings] == ([] if complaint is None else [complaint])
    assert pair(ev.FaultBegan(*place), ev.FaultEnded(*place), *arrives) == []


def test_an_agent_speaks_to_so_many_neighbours_as_the_scenario_says():
    first = start(3, [(0, 1), (0, 2), (1, 2)])
    first.scenario["network"]["peers"] = 1
    one = [*broadcast(0, 1, 1), ev.ValueUsed(0, 1, 1, 1), ev.ValueUsed(0, 1, 2, 1), ev.DualUpdated(0, 1)]
    assert judge([(0.0, first), *((1.0, event) for event in one)]) == []
    both = [*one[:-3], ev.MessageSent(0, 1, 2, 2, "value", 8, 29), *one[-3:]]
    (finding,) = judge([(0.0, first), *((1.0, event) for event in both)])
    assert finding.endswith("agent 0 in round 1 sends 2 messages to 1 neighbours")


def test_a_fault_that_ends_without_having_begun_does_not_stop_the_judge():
    assert pair(ev.FaultEnded("partition", None, None, [0]), ev.FaultEnded("crash", 1)) == []


def test_a_round_is_evaluated_after_all_have_finished_it_and_once():
    done = ev.EvaluationDone(1, 0.2, 0.3, 0.3, 0.0, 0.0)
    (finding,) = pair(*broadcast(0, 1, 1), *ended(0, 1, 1), done)
    assert finding.endswith("round 1 is evaluated before agent 1 has finished it")
    both = [*broadcast(0, 1, 1), *broadcast(1, 1, 2), *ended(0, 1, 1), *ended(1, 1, 1)]
    (finding,) = pair(*both, done, done)
    assert finding.endswith("round 1 is evaluated after round 1")


def test_the_last_line_tells_how_far_each_agent_came():
    finding, _ = pair(*broadcast(0, 1, 1), *ended(0, 1, 1), ev.RunFinished([1, 1], "", ""))
    assert finding.endswith("the last line says that the agents finished the rounds [1, 1], but it was [1, 0]")
    assert judge([*lawful(agents=3)[:-1], (99.0, ev.RunFinished([3, 3, 3, 3], "", ""))])


@pytest.mark.parametrize(
    ("scenario", "happened", "finding"),
    [
        ({"rounds": 10**18}, (), "agent 0 finished 3 rounds of the 1000000000000000000 that the scenario asks for"),
        ({"rounds": 2}, (), "agent 0 finished 3 rounds of the 2 that the scenario asks for"),
        ({"rounds": 4, "until": 200.0}, (), "agent 0 finished 3 rounds of the 4 that the scenario asks for"),
        ({"rounds": 4, "until": 99.0}, (), None),
        ({"rounds": 4}, [ev.FaultBegan("crash", agent) for agent in range(3)], None),
        ({"rounds": 4}, [ev.FaultBegan("crash", 0), ev.FaultBegan("crash", 2)], "agent 1 finished 3 rounds of the 4"),
    ],
)
def test_agents_play_the_rounds_of_the_scenario_unless_something_keeps_them(scenario, happened, finding):
    _, *between, _ = lawful(agents=3, rounds=3)
    faults = [(99.0, event) for event in happened]
    last = [(99.0, ev.RunFinished([3, 3, 3], "", ""))]
    found = judge([(0.0, start(3, ring(3), **scenario)), *between, *faults, *last])
    assert not found if finding is None else finding in found[0]


@pytest.mark.parametrize("edges", [[(0, 0)], [(0, 5)], [(0, 1), (1, 0)]])
def test_links_that_cannot_be_are_noticed(edges):
    assert judge([(0.0, start(2, edges))])


def test_nothing_comes_before_the_start():
    (finding,) = judge([(0.0, ev.RoundStarted(0, 1))])
    assert finding.endswith("round.started comes before run.started")


@pytest.mark.parametrize("odd", [{"network": 3}, {"network": {"pacing": None, "peers": "x"}}, {}])
def test_a_scenario_of_another_shape_does_not_stop_the_judge(odd):
    begin = ev.RunStarted(ev.SCHEMA, "0.1.0", False, odd, [(0, 1)], [1, 1], 2)
    assert judge([(0.0, begin), *((1.0, event) for event in (*broadcast(0, 1, 1), *ended(0, 1, 1)))]) == []


def test_a_long_list_of_violations_is_cut():
    findings = pair(*[ev.RoundStarted(9, 1)] * 50)
    assert len(findings) == 21
    assert findings[-1] == "and 30 more"


def test_memory_does_not_grow_with_the_run():
    def kept(rounds: int) -> int:
        laws = Laws(ALIGNED)
        happened = [(seq, *each) for seq, each in enumerate(lawful(agents=4, rounds=rounds), start=1)]
        tracemalloc.start()
        for each in happened:
            laws(*each)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    assert kept(400) < kept(40) + 5_000


def test_findings_say_where():
    (finding,) = pair(ev.RoundStarted(0, 2))
    assert re.match(r"event 2 at t = 1 s: ", finding)


STREAM = {"kind": "reliable", "buffer": 131072}


def streamed(*happened: ev.Event, transport: object = STREAM) -> list[str]:
    """Two agents with a stream."""
    first = start(2, [(0, 1)], "deadline")
    first.scenario["network"]["transport"] = transport
    return judge([(0.0, first), *((1.0, event) for event in happened)])


def test_a_stream_hands_messages_over_in_order():
    sent = [*broadcast(0, 1, 1), *ended(0, 1, 1), *broadcast(0, 2, 2), *ended(0, 2, 2)]
    arrived = [ev.MessageDelivered(1, 2, 0, 2), ev.MessageDelivered(1, 1, 0, 1)]
    assert streamed(*sent, *reversed(arrived)) == []
    (finding,) = streamed(*sent, *arrived)
    assert "message 1 is handed over after message 2 of the same stream" in finding
    assert streamed(*sent, *arrived, transport={"kind": "reliable"}) == [], "logs of old versions"


def test_no_more_packets_leave_than_were_handed_to_the_host_and_only_a_transport_has_any():
    assert streamed(ev.PacketsSent(0, 1, 1, 1, 100, 150, 40)) == []
    (finding,) = streamed(ev.PacketsSent(0, 1, 1, 1, 150, 100))
    assert "150 bytes leave agent 0, which was handed 100" in finding
    (finding,) = streamed(ev.PacketsSent(0, 1, 1, 1, 100, 100), transport={"kind": "datagram"})
    assert "agent 0 sends packets of a transport that the scenario does not have" in finding
