"""Runs that end by time, and runs in which a user's own process takes part."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings

import pytest
from msgspec.structs import replace

from simnet import ScenarioError, ScenarioWarning, run
from simnet.agent.pacing import ALIGNED
from simnet.cli.terminal import compare_table
from simnet.record.events import EvaluationDone
from simnet.record.laws import Laws
from simnet.record.verify import replay, verify
from simnet.simulate import compare, control
from tests.worlds import TICKS, found, lawful, traffic, unlawful, world


def test_a_files_name_is_not_a_scenario():
    with pytest.raises(ScenarioError, match=r"^scenario = 'mine.toml': run takes a Scenario, such as Scenario.load"):
        run("mine.toml")


def test_a_run_ends_by_time_with_the_models_as_they_stand(tmp_path):
    slow = [{"kind": "straggler", "agent": 0, "at": 0.0, "factor": 10.0}]
    result = run(world(until="0.55 s", fault=slow, **{"network.pacing": TICKS}), tmp_path)
    assert result.summary["last_rounds"] == [1, 5, 5, 5, 5, 5]
    assert result.summary["time"]["simulated"] == 0.55
    (t, last), *_ = reversed(found(result, "evaluation.done"))
    assert (t, last.round, last.at_end) == (0.55, 5, True)
    assert result.rounds["round"].to_list() == [1, 5]
    assert result.agents["test_error"].is_finite().all()
    assert verify(result.folder, ALIGNED).findings == replay(result.folder).findings == ()


def test_what_is_on_its_way_at_the_end_is_in_flight():
    result = lawful(until=0.05, **{"network.link.latency": 1.0, "network.pacing": TICKS})
    assert traffic(result)["in_flight"] == traffic(result)["messages"] == 18


def test_a_run_that_is_over_before_its_time_is_the_same_run():
    plain, timed = lawful(), lawful(until=1e6)
    assert plain.summary["accuracy"] == timed.summary["accuracy"]
    assert not any(event.at_end for _, event in found(timed, "evaluation.done"))


def test_cross_traffic_on_a_link_delays_its_messages_and_the_log_says_so():
    scenario = world(**{"network.link.bandwidth": "80 kbit/s", "network.pacing": TICKS})

    def cross_traffic(engine):
        link = next(iter(engine.links[0].values()))
        while True:
            link.transmitter.admit(engine.now, 100)
            yield engine.env.timeout(0.02)

    alone, crossed = run(scenario), run(scenario, attach=[cross_traffic])
    assert unlawful(crossed) == []
    assert next(crossed.events)[2].attached == ["cross_traffic"]
    assert next(alone.events)[2].attached == []
    first = min(event.peer for _, event in found(alone, "message.sent") if event.agent == 0)

    def arrivals(result):
        return [t for t, event in found(result, "message.delivered") if (event.peer, event.agent) == (0, first)]

    assert sum(arrivals(crossed)) > sum(arrivals(alone))


def test_methods_compare_at_equal_time():
    timed = world(until=0.1, **{"network.pacing": TICKS, "privacy.epsilon": 50.0})
    times = [result.summary["time"]["simulated"] for result in compare(timed, ["admm", "pp-admm"])]
    assert times == [0.1, 0.1]


def test_a_log_may_not_call_any_evaluation_its_last():
    laws = Laws(ALIGNED)
    for seq, t, event in lawful().events:
        laws(seq, t, replace(event, at_end=True) if isinstance(event, EvaluationDone) else event)
    assert "only when `until` ends a run" in laws.finish()[0]


def test_a_run_whose_news_is_always_late_warns_in_one_sentence():
    late = {"network.pacing": TICKS, "network.link.latency": 0.3, "rounds": 1}
    with pytest.warns(ScenarioWarning, match="exceeds the period of 0.1 s.*node duals may diverge") as told:
        run(world(**late))
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(world(**late | {"network.link.latency": 0.01}))


@pytest.mark.parametrize("command", [["run", "--out", "runs"], ["compare", "--methods", "admm"]])
def test_the_command_line_says_it_on_stderr(command, tmp_path):
    late = {"network.pacing": TICKS, "network.link.latency": 0.3, "rounds": 1}
    (tmp_path / "late.toml").write_text(world(**late).to_toml())
    words = [sys.executable, "-c", "from simnet.cli import main; main()", *command, "late.toml", "--json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("simnet: caution: the median delay on all links exceeds the period of 0.1 s")


SKIPPING = {"algorithm": {"name": "ipp-admm", "eta": 0.05, "max_releases": 4}, "privacy.epsilon": 20.0}


@pytest.mark.parametrize("pacing", [TICKS, "ideal"], ids=["ticks", "no time"])
def test_a_method_with_a_test_is_held_against_itself_without_one_at_the_same_bytes_and_time(pacing):
    base = world(**SKIPPING, **{"network.pacing": pacing, "methods.pp-admm.algorithm.eta": 0.1})
    tested, plain = results = compare(base, ["ipp-admm", "pp-admm"])
    found = control(base, tested, results)
    assert (found.of, found.method) == ("ipp-admm", "pp-admm")
    sent = traffic(tested)["wire_bytes"]
    place = found.same_bytes["round"]
    assert found.same_bytes["wire_bytes"] <= sent < plain.rounds["wire_bytes"][place]
    assert found.same_bytes["proven_epsilon"] < plain.summary["privacy"]["proven_epsilon"]
    assert found.same_time == plain.rounds.row(-1, named=True)
    # It runs where nobody has asked for it, with the settings that the scenario has for it.
    assert control(base, tested) == found
    caption = str(compare_table([tested], [found]).caption)
    assert f"pp-admm, stopped at ipp-admm's bytes: test error {found.same_bytes['test_error']:.4f}" in caption
    assert f"at its time: test error {found.same_time['test_error']:.4f}" in caption


def test_a_method_without_a_test_needs_no_control_and_one_that_sent_nothing_has_none():
    assert control(world(), run(world())) is None
    silent = world(**SKIPPING, **{"algorithm.threshold": 1e6, "network.pacing.kind": "barrier"})
    found = control(silent, run(silent.with_(**{"network.pacing.notices": False, "network.pacing.patience": 1.0})))
    assert found.same_bytes is None
    tight = world(**SKIPPING).with_(**{"privacy.epsilon": 0.5, "algorithm.max_releases": 1, "rounds": 60})
    assert control(tight, run(tight)) is None


def test_a_comparison_keeps_the_methods_that_can_run_and_says_why_others_cannot():
    scenario = world(**{"privacy.epsilon": 0.01, "rounds": 2})
    found = compare(scenario, ["admm", "pp-admm"])
    assert [result.scenario.algorithm.name for result in found] == ["admm"]
    assert list(found.refused) == ["pp-admm"]
    assert found.refused["pp-admm"].startswith("privacy.epsilon = 0.01: agent ")
    with pytest.raises(ScenarioError, match=r"agent .* cannot be met"):
        compare(scenario, ["pp-admm"])
    with pytest.raises(ScenarioError, match="did you mean pp-admm"):
        compare(scenario, ["admm", "pp-adm"])


def _refusing(engine: object) -> None:
    raise ValueError("no")


def test_a_run_that_is_refused_as_it_begins_leaves_nothing_behind_that_python_warns_of():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="no"):
            run(world(), attach=[_refusing])
        gc.collect()
    assert [str(each.message) for each in told] == []
