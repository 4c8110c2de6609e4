"""The timeline has every round, message, skip and fault of the log, where and when they happened."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from simnet import run
from simnet.record import events as ev
from simnet.record.log import read
from tests.called import called
from tests.worlds import world


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    faults = [{"kind": "crash", "agent": 1, "at": 0.3, "duration": 0.5}]
    network = {"pacing": {"kind": "deadline", "period": 0.2}, "link": {"latency": 0.05, "loss": 0.2}}
    found = run(world(rounds=8, network=network, fault=faults), tmp_path_factory.mktemp("runs")).folder
    assert found is not None
    return found


@pytest.fixture(scope="module")
def trace(folder):
    return json.loads(called("log", "export", str(folder), "--perfetto")[1])["traceEvents"]


def events(folder, kind):
    return [(t, event) for _, t, event in read(folder) if isinstance(event, kind)]


def test_every_round_is_a_span_from_its_start_to_its_end(folder, trace):
    ends = {(event.agent, event.round): t for t, event in events(folder, ev.DualUpdated)}
    spans = {
        (each["pid"] - 1, each["args"]["round"]): (each["ts"] + each["dur"]) / 1e6
        for each in trace
        if each["ph"] == "X" and each["name"].startswith("round") and "ended" not in each["args"]
    }
    assert spans == pytest.approx(ends)
    starts = sum(each["ph"] == "X" and each["name"].startswith("round") for each in trace)
    assert starts == len(events(folder, ev.RoundStarted))


def test_every_delivered_message_is_an_arrow_and_every_other_a_mark(folder, trace):
    begun = {each["id"]: each for each in trace if each["ph"] == "s"}
    ended = {each["id"]: each for each in trace if each["ph"] == "f"}
    assert set(begun) == {event.message for _, event in events(folder, ev.MessageSent)}
    delivered = events(folder, ev.MessageDelivered)
    assert set(ended) == {event.message for _, event in delivered}
    for t, event in delivered:
        assert (ended[event.message]["pid"], ended[event.message]["ts"]) == (event.agent + 1, 1e6 * t)
        assert begun[event.message]["pid"] == event.peer + 1
    marks = Counter(each["name"] for each in trace if each["ph"] == "i")
    assert marks["lost"] == len(events(folder, ev.MessageLost)) > 0
    assert marks["unreachable"] == len(events(folder, ev.MessageUnreachable)) > 0


def test_a_crash_is_a_span_at_its_agent(trace):
    assert [(each["ph"], each["pid"], each["ts"]) for each in trace if each.get("cat") == "fault"] == [
        ("b", 2, 0.3e6),
        ("e", 2, 0.8e6),
    ]


def test_agents_have_names_and_evaluations_are_counters(folder, trace):
    names = [each["args"]["name"] for each in trace if each["name"] == "process_name"]
    assert names[1:] == [f"agent {agent}" for agent in range(len(names) - 1)]
    assert sum(each["ph"] == "C" for each in trace) == len(events(folder, ev.EvaluationDone))


def test_two_forms_at_once_are_refused(folder, tmp_path):
    code, _, refusal = called("log", "export", str(folder), "--perfetto", "--parquet", str(tmp_path))
    assert (code, refusal) == (2, "--kind, --perfetto and --parquet: choose one of them")
