from typing import Annotated, Literal, get_args, get_origin

import msgspec
import numpy as np
import pytest

from simnet.errors import LogError
from simnet.record import events as ev
from simnet.record.diff import diff
from simnet.record.lines import pack
from tests.record.stories import Story, forge, lawful, lines, scenario, start, write

BEGIN = start(3, [(0, 1), (0, 2)])
END = ev.RunFinished([0, 0, 0], "", "")


@pytest.fixture
def compare(tmp_path):
    def run(a: Story, b: Story):
        for name, story in (("a", a), ("b", b)):
            (tmp_path / name).write_bytes(write(story)[0])
        return diff(tmp_path / "a", tmp_path / "b")

    return run


def around(*happened: ev.Event, t: float = 3.2) -> Story:
    return [(0.0, BEGIN), *((t, event) for event in happened), (9.0, END)]


def test_the_same_run_does_not_differ(compare):
    assert compare(lawful(), lawful()) is None


def test_two_fates_of_one_message_are_told_as_such(compare):
    sent = ev.MessageSent(2, 1, 0, 77, "value", 16, 48)
    found = compare(around(sent, ev.MessageDelivered(0, 1, 2, 77)), around(sent, ev.MessageLost(2, 1, 0, 77)))
    assert str(found) == "event 3 at t = 3.2 s: A delivered message 77 from agent 2 to agent 0, B lost it"


@pytest.mark.parametrize(
    ("a", "b", "sentence", "fields"),
    [
        (
            ev.SvtTested(1, 4, True),
            ev.SvtTested(1, 4, False),
            "event 2 at t = 3.2 s: agent 1 tested its update of round 4: passed is True in A and False in B",
            ("passed",),
        ),
        (
            ev.RoundStarted(1, 4),
            ev.RoundStarted(2, 4),
            "event 2 at t = 3.2 s: A: agent 1 started round 4; B: agent 2 started round 4",
            ("agent",),
        ),
        (
            ev.BroadcastSent(1, 4, 16),
            ev.BroadcastSkipped(1, 4, "test"),
            "event 2 at t = 3.2 s: A: agent 1 broadcast in round 4; B: agent 1 skipped round 4 (test)",
            (),
        ),
        (
            ev.ValueUsed(0, 4, 1, 0),
            ev.ValueUsed(0, 4, 1, 2),
            "event 2 at t = 3.2 s: agent 0 used a value of agent 1 in round 4: staleness is 0 in A and 2 in B",
            ("staleness",),
        ),
        (
            ev.MessageLost(2, 1, 0, 77),
            ev.MessageLost(2, 1, 1, 78),
            "event 2 at t = 3.2 s: A: message 77 from agent 2 to agent 0 was lost; "
            "B: message 78 from agent 2 to agent 1 was lost",
            ("peer", "message"),
        ),
        (
            ev.ReleaseMade(0, 1, pack(np.array([1.0, 0.5, 0.25]))),
            ev.ReleaseMade(0, 1, pack(np.array([1.0, 0.75, 0.125]))),
            "event 2 at t = 3.2 s: agent 0 released its model of round 1: value is 0.5 in A and 0.75 in B, at entry 1",
            ("value",),
        ),
        (
            ev.ReleaseMade(0, 1, pack(np.zeros(2))),
            ev.ReleaseMade(0, 1, pack(np.zeros(3))),
            "event 2 at t = 3.2 s: agent 0 released its model of round 1: value is 2 numbers in A, 3 in B",
            ("value",),
        ),
        (
            ev.SolveFinished(0, 1, 4),
            ev.SolveFinished(0, 1, 4, 0.001),
            "event 2 at t = 3.2 s: agent 0 finished its solve of round 1: residual is missing in A and 0.001 in B",
            ("residual",),
        ),
    ],
)
def test_the_first_event_that_differs_is_told_in_words(compare, a, b, sentence, fields):
    found = compare(around(a), around(b))
    assert (str(found), found.fields, found.seq) == (sentence, fields, 2)


def test_the_same_event_at_another_time_is_a_difference(compare):
    found = compare(around(ev.RoundStarted(0, 1), t=1.5), around(ev.RoundStarted(0, 1), t=1.75))
    assert str(found) == "event 2: agent 0 started round 1, in A at t = 1.5 s, in B at t = 1.75 s"
    assert found.fields == ("t",)


def test_another_event_at_another_time_tells_both(compare):
    found = compare(around(ev.RoundStarted(0, 1), t=1.5), around(ev.DualUpdated(0, 1), t=1.75))
    assert str(found).startswith(
        "event 2 (A at t = 1.5 s, B at t = 1.75 s): A: agent 0 started round 1; B: agent 0 ended"
    )


def test_releases_that_differ_in_their_last_bits_only_are_the_same(compare):
    value = np.array([0.123456789, 0.5])
    a, b = (ev.ReleaseMade(0, 1, pack(x)) for x in (value, np.nextafter(value, 1.0)))
    assert a != b
    assert compare(around(a), around(b)) is None


def test_a_longer_log_is_a_difference(compare):
    found = compare(around(ev.RoundStarted(0, 1)), around(ev.RoundStarted(0, 1), ev.RoundStarted(1, 1)))
    assert found.seq == 3
    assert "A: the run finished; B: agent 1 started round 1" in str(found)
    assert found.notes == ("A holds 3 events, B 4",)


def test_another_end_is_a_difference(compare):
    found = compare([(0.0, BEGIN), (9.0, END)], [(0.0, BEGIN), (9.0, ev.RunFinished([0, 1, 0], "", ""))])
    assert str(found) == "event 2 at t = 9.0 s: the run finished: rounds is [0, 0, 0] in A and [0, 1, 0] in B"


def other_loss(p: float) -> ev.RunStarted:
    network = {"pacing": {"kind": "deadline"}, "link": {"loss": {"kind": "bernoulli", "p": p}}}
    return start(3, [(0, 1), (0, 2)], network=network)


def test_scenarios_that_differ_are_a_note_and_what_came_of_it_the_difference(compare):
    a = around(ev.MessageDelivered(0, 1, 2, 77))
    b = [(0.0, other_loss(0.2)), *around(ev.MessageLost(2, 1, 0, 77))[1:]]
    found = compare(a, b)
    assert found.seq == 2
    assert str(found).splitlines() == [
        "event 2 at t = 3.2 s: A delivered message 77 from agent 2 to agent 0, B lost it",
        "the scenarios differ in network.link.loss.p: A 0.05, B 0.2",
    ]


def test_scenarios_that_made_no_difference_are_told(compare):
    found = compare(around(ev.RoundStarted(0, 1)), [(0.0, other_loss(0.2)), *around(ev.RoundStarted(0, 1))[1:]])
    assert str(found).splitlines() == [
        "event 1: only the first lines differ, all that follows is the same",
        "the scenarios differ in network.link.loss.p: A 0.05, B 0.2",
    ]


def test_fields_that_only_one_scenario_has_are_told(compare):
    with_fault = start(3, [(0, 1), (0, 2)], fault=[{"kind": "crash", "agent": 2}])
    found = compare(around(), [(0.0, with_fault), (9.0, END)])
    assert found.notes == (
        "the scenarios differ in fault.0.kind: A missing, B 'crash'",
        "the scenarios differ in fault.0.agent: A missing, B 2",
    )


def test_other_differences_of_the_first_lines_are_told(compare):
    one = ev.RunStarted(ev.SCHEMA, "0.1.0", False, scenario(), [(0, 1), (0, 2)], [10, 10, 10], 2)
    two = ev.RunStarted(ev.SCHEMA, "0.2.0", True, scenario(), [(0, 1), (1, 2)], [10, 10, 11], 3)
    assert compare([(0.0, one), (9.0, END)], [(0.0, two), (9.0, END)]).notes == (
        "the first lines differ in version: A 0.1.0, B 0.2.0",
        "the first lines differ in private: A False, B True",
        "the first lines differ in features: A 2, B 3",
        "the agents' shares of the data differ: A [10, 10, 10], B [10, 10, 11]",
        "the networks differ: 1 links only in A, 1 only in B",
    )


@pytest.mark.parametrize("harm", [lambda raw: raw[:-1], lambda raw: forge(lines(raw)[:-1])])
def test_a_damaged_log_is_named_even_if_the_difference_came_before_the_damage(tmp_path, harm):
    (tmp_path / "a").write_bytes(write(around(ev.RoundStarted(0, 1)))[0])
    (tmp_path / "b").write_bytes(harm(write(around(ev.RoundStarted(1, 1)))[0]))
    with pytest.raises(LogError, match=r"b: cut short"):
        diff(tmp_path / "a", tmp_path / "b")


def sample(kind: str) -> ev.Event:
    """Some event of a kind: the first that its types allow."""
    plain = {int: 1, Annotated: 1, float: 0.5, str: "", bool: True, list: [], dict: {}}
    values = {}
    for field in msgspec.structs.fields(ev.EVENTS[kind]):
        origin = get_origin(field.type) or field.type
        if field.required:
            values[field.name] = get_args(field.type)[0] if origin is Literal else plain[origin]
    return ev.EVENTS[kind](**values)


@pytest.mark.parametrize("kind", [kind for kind in ev.EVENTS if kind not in ("run.started", "run.finished")])
def test_every_kind_of_event_can_be_told(compare, kind):
    found = compare(around(sample(kind)), around())
    assert found.sentence.startswith("event 2 (A at t = 3.2 s, B at t = 9.0 s): A: ")
    assert "{" not in found.sentence


@pytest.mark.parametrize("length", [50, 58, 59, 500])
def test_a_long_value_is_told_by_its_beginning(compare, length):
    one, two = (around(ev.FaultBegan(letter * length, 0)) for letter in "ab")
    told = str(compare(one, two))
    shown = "a" * length if length <= 58 else "a" * 56 + "..."
    assert f": fault is '{shown}" in told
