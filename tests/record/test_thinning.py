import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.errors import LogError, ScenarioError
from simnet.record import events as ev
from simnet.record.laws import Laws
from simnet.record.log import read
from simnet.record.thinning import Log, Thinning
from simnet.record.verify import replay, verify
from tests.record.stories import forge, lines, scenario

WORLD = {
    "seed": 1,
    "rounds": 8,
    "data": {"source": "synthetic", "rows": 400, "train": 320, "features": 3},
    "topology": {"kind": "regular", "agents": 12, "degree": 3},
    "algorithm": {"name": "admm", "eta": 0.05},
    "compute": {"time": 0.02},
    "network": {
        "pacing": {"kind": "deadline", "period": 0.1},
        "link": {"latency": {"kind": "lognormal", "median": 0.05, "sigma": 0.8}, "loss": 0.1},
    },
}
THINNINGS = {
    "by kind": {"kinds": ["evaluation", "privacy"]},
    "without messages": {"kinds": ["round", "solve", "release", "privacy", "broadcast", "dual", "fault", "evaluation"]},
    "by agent": {"sample": 0.4},
    "by both": {"kinds": ["message", "value"], "sample": 0.4},
}
WHOLE = run(Scenario.of(WORLD))


def thinned(log: dict):
    return run(Scenario.of(WORLD | {"log": log}))


def figures(result):
    return {name: value for name, value in result.summary.items() if name != "digest"} | {
        "time": {name: value for name, value in result.summary["time"].items() if name != "wall"}
    }


@pytest.mark.parametrize("log", THINNINGS.values(), ids=THINNINGS)
def test_thinning_changes_nothing_about_the_run(log):
    result = thinned(log)
    assert figures(result) == figures(WHOLE)
    assert result.rounds.equals(WHOLE.rounds)
    assert result.agents.equals(WHOLE.agents)


@pytest.mark.parametrize("log", THINNINGS.values(), ids=THINNINGS)
def test_a_thinned_log_holds_exactly_what_it_says_under_the_numbers_of_the_whole(log):
    result = thinned(log)
    thinning = Thinning.of(result.scenario.resolved())
    kept = [entry for entry in WHOLE.events if thinning.keeps(entry[2])]
    found = list(result.events)
    assert len(found) == len(kept) < len(list(WHOLE.events))
    assert found[1:-1] == kept[1:-1]


@pytest.mark.parametrize("log", THINNINGS.values(), ids=THINNINGS)
def test_what_can_be_checked_of_a_thinned_log_is_and_the_rest_is_named(log, tmp_path):
    result = run(Scenario.of(WORLD | {"log": log}), tmp_path)
    report = verify(result.folder, ALIGNED)
    assert not report.findings
    assert report.notes[0].startswith("the log is thinned: it holds ")
    assert ("the laws of rounds" in report.notes[0]) == ("kinds" in log)
    assert ("ε" in report.notes[0].split("not checked")[1]) == ("sample" in log)
    with pytest.raises(LogError, match="the figures of the run cannot be computed from it"):
        replay(result.folder)


def test_a_sampled_agent_is_still_held_to_the_laws():
    result = thinned({"sample": 0.4})
    laws = Laws(ALIGNED)
    kept = [entry for entry in result.events if not isinstance(entry[2], ev.BroadcastSent)]
    for entry in kept:
        laws(*entry)
    assert laws.unchecked == []
    assert any("ends with 0 broadcasts and 0 skips" in found for found in laws.finish())


def test_an_event_that_should_have_been_left_out_is_noticed():
    first = ev.RunStarted(ev.SCHEMA, "", False, scenario(log={"kinds": ["round"]}), [(0, 1)], [10, 10], 2)
    story = [(0.0, first), (0.1, ev.DualUpdated(0, 1)), (1.0, ev.RunFinished([0, 0], "", ""))]
    laws = Laws(ALIGNED)
    for seq, (t, event) in enumerate(story, 1):
        laws(seq, t, event)
    assert "leaves such events out" in laws.finish()[0]


def test_only_a_thinned_log_may_have_gaps():
    text = lines(thinned({"sample": 0.4}).log)
    whole = text[0].replace(b',"sample":0.4', b"")
    assert whole != text[0]
    with pytest.raises(LogError, match=r"line \d+: event \d+ should come here, not \d+"):
        list(read(forge([whole, *text[1:]])))


def test_every_kind_of_event_belongs_to_a_family_that_can_be_chosen():
    for kind in ev.EVENTS:
        word = kind.split(".")[0]
        assert word == "run" or Log(kinds=[word]).kinds == (word,)
    with pytest.raises(ScenarioError, match=r"log\.kinds"):
        Scenario.of(WORLD | {"log": {"kinds": ["messages"]}})
