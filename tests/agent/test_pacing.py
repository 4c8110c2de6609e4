"""An agent's time: how long its work takes, when its rounds end, and what is fresh then."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from simnet.agent.pacing import PACINGS, Compute, Deadline
from simnet.errors import ScenarioError, SimnetError
from simnet.methods.peer import Proposal
from simnet.record.events import ReleaseMade
from simnet.streams import Streams
from tests.worlds import TICKS, found, lawful, told, world


def ends(result) -> dict[int, list[float]]:
    times: dict[int, list[float]] = {}
    for t, event in found(result, "dual.updated"):
        times.setdefault(event.agent, []).append(t)
    return times


def test_agents_that_never_wait_work_one_round_after_another():
    result = lawful(**{"network.pacing": "free", "network.link.latency": 0.05})
    for times in ends(result).values():
        np.testing.assert_allclose(times, 0.02 * np.arange(1, 13))
    # A message takes two and a half rounds, so the newest value known is two or three rounds old.
    used = [event.staleness for _, event in found(result, "value.used") if event.round > 4]
    assert set(used) <= {2, 3}


def test_every_clock_has_its_own_rate_and_every_tick_its_own_delay():
    result = lawful(**{"network.pacing": TICKS | {"skew": 0.1, "jitter": 0.01}})
    periods = {}
    for agent, times in ends(result).items():
        gaps = np.diff(times)
        periods[agent] = np.mean(gaps)
        assert all(0.1 * 0.9 - 0.01 <= gap <= 0.1 * 1.1 + 0.01 for gap in gaps)
        assert np.ptp(gaps) > 1e-4, "ticks are not equally late"
    assert np.ptp(list(periods.values())) > 0.005, "clocks do not run alike"


def test_a_tick_is_late_by_up_to_the_jitter_and_never_early():
    clock = Deadline(kind="deadline", period=0.1, jitter=0.04).for_agent(Streams(1), 2)
    late = [clock.next_tick(0.1 * k) - 0.1 * (k + 1) for k in range(400)]
    assert min(late) >= -1e-9
    assert max(late) <= 0.04 + 1e-9
    assert np.mean(late) == pytest.approx(0.02, rel=0.1)


def test_clocks_are_fast_or_slow_by_up_to_the_skew_and_right_on_average():
    rule = Deadline(kind="deadline", period=0.1, skew=0.3, send_at=0.05)
    clocks = [rule.for_agent(Streams(1), agent) for agent in range(2000)]
    rates = np.array([clock.period for clock in clocks]) / 0.1
    assert 0.7 <= min(rates) < 0.71
    assert 1.29 < max(rates) <= 1.3
    assert np.mean(rates) == pytest.approx(1.0, abs=0.02)
    # What a clock measures is a share of its own period.
    assert [clock.send_at for clock in clocks] == pytest.approx(0.05 * rates)


@pytest.mark.parametrize(("skew", "jitter"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.01), (0.1, 0.01)])
def test_clocks_are_unlike_real_ones_only_if_they_all_tick_together(skew, jitter):
    said = Deadline(kind="deadline", period=0.1, skew=skew, jitter=jitter).leaves_out
    assert (said is not None) == (skew == jitter == 0.0)


def test_no_tick_of_the_fastest_clock_is_late_by_a_whole_period():
    Deadline(kind="deadline", period=0.1, skew=0.5, jitter=0.049)
    with pytest.raises(ValueError, match="jitter: below the period of the fastest clock"):
        Deadline(kind="deadline", period=0.1, skew=0.5, jitter=0.05)


def test_an_oracle_and_work_without_time_say_what_they_leave_out():
    assert "an oracle ends every round" in PACINGS["ideal"](kind="ideal").leaves_out
    assert Compute().leaves_out == "local work takes no time"
    assert Compute(per_gradient=0.1).leaves_out is None


def test_skew_and_jitter_change_no_other_draw():
    plain, skewed = (
        lawful(**{"network.pacing": pacing, "network.link.loss": 0.3})
        for pacing in (TICKS, TICKS | {"skew": 0.1, "jitter": 0.01})
    )
    lost = [sorted((e.agent, e.peer, e.round) for _, e in found(each, "message.lost")) for each in (plain, skewed)]
    assert lost[0] == lost[1]


def test_an_agent_that_comes_back_after_some_rounds_meets_the_late_ticks_that_are_left():
    rule = Deadline(kind="deadline", period=0.1, jitter=0.01)
    through, back = (rule.for_agent(Streams(1), 2) for _ in range(2))
    ticks = [through.next_tick(0.0) for _ in range(4)]

    back.resume(3)

    assert back.next_tick(0.0) == ticks[3]
    assert len(set(ticks)) == 4
    Deadline(kind="deadline").for_agent(Streams(1), 2).resume(3)  # whose ticks are never late


def test_a_rule_is_every_agents_own_only_where_chance_makes_it_so():
    for kind, pacing in PACINGS.items():
        rule = pacing(kind=kind)
        assert rule.for_agent(Streams(1), 2) is rule
        assert rule.meets == (kind == "ideal")
        assert rule.announces == (kind in ("barrier", "quorum"))
    for chance in ({"skew": 0.1}, {"jitter": 0.01}):
        clock = Deadline(kind="deadline", **chance)
        assert clock.for_agent(Streams(1), 2) is not clock


@pytest.mark.parametrize("quorum", [1 / 3, 2 / 3, 1.0])
def test_a_quorum_of_neighbours_is_fresh_when_a_round_ends(quorum):
    rule = {"kind": "quorum", "quorum": quorum, "max_staleness": 4, "patience": 100}
    result = lawful(
        **{"network.pacing": rule, "network.link.latency": {"kind": "lognormal", "median": 0.05, "sigma": 1}}
    )
    fresh, oldest = Counter(), Counter()
    for _, event in found(result, "value.used"):
        fresh[event.agent, event.round] += event.staleness == 0
        oldest[event.agent, event.round] = max(oldest[event.agent, event.round], event.staleness)
    assert min(fresh.values()) >= round(3 * quorum)
    assert max(oldest.values()) <= 4
    assert not found(result, "round.timeout")


def test_patience_ends_a_wait_for_a_quorum_that_does_not_come():
    rule = {"kind": "quorum", "quorum": 1.0, "max_staleness": 0, "patience": 0.5}
    result = lawful(**{"network.pacing": rule, "network.link.loss": 1.0})
    assert len(found(result, "round.timeout")) == 6 * 12
    assert result.summary["time"]["simulated"] == pytest.approx(12 * 0.52)


OVERTAKING = {"latency": {"kind": "lognormal", "median": 0.05, "sigma": 1}, "duplication": 0.2}


@pytest.mark.parametrize(
    "network",
    [{"link": OVERTAKING}, {"link": {"latency": 0.02, "loss": 0.2}, "transport": {"kind": "reliable", "attempts": 50}}],
    ids=["overtaking", "reliable"],
)
@pytest.mark.parametrize("duals", ["node", "healing", "edge"])
def test_a_patient_barrier_is_in_step_even_if_messages_overtake_each_other(network, duals):
    alike = {"rounds": 40, "topology": {"kind": "ring", "agents": 6}, "algorithm.duals": duals}
    ideal = lawful(**alike)
    patient = lawful(**alike, network=network | {"pacing": {"kind": "barrier", "patience": 1e9}})
    assert told(patient, ReleaseMade) == told(ideal, ReleaseMade)
    assert {event.staleness for _, event in found(patient, "value.used")} == {0}
    assert not found(patient, "round.timeout")


def test_a_round_of_which_a_message_was_lost_ends_with_patience():
    rule = {"kind": "barrier", "patience": 0.5}
    result = lawful(**{"network.pacing": rule, "network.link.loss": 0.1})
    short = Counter((event.agent, event.round) for _, event in found(result, "value.used") if event.staleness)
    assert short, "some messages were lost"
    assert {(e.agent, e.round): e.missing for _, e in found(result, "round.timeout")} == short


def test_an_agent_that_was_down_for_many_rounds_loses_patience_once_and_catches_up():
    crash = {"kind": "crash", "agent": 2, "at": 0.09, "duration": 3.0}
    result = lawful(
        rounds=40,
        **{"network.pacing": {"kind": "barrier", "patience": 0.5}, "network.link.latency": 0.005, "fault": [crash]},
    )
    times = ends(result)
    back = [t for t in times[2] if t > 3.1]
    waits = np.diff([3.09, *back])
    assert np.sum(waits > 0.3) <= 2
    assert max(each[-1] for each in times.values()) < 3.09 + 2 * 0.5 + 40 * 0.03


def test_a_slow_agent_falls_behind_and_nobody_minds():
    result = lawful(
        **{"network.pacing": TICKS, "fault": [{"kind": "straggler", "agent": 0, "factor": 20, "at": 0}]},
    )
    last = {agent: times[-1] for agent, times in ends(result).items()}
    assert last[0] > 4 * last[1]
    assert result.agents["rounds"].to_list() == [12] * 6


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_staleness_under_deadlines_and_loss_is_geometric(p):
    """A value is k rounds old if the last k messages were lost and the one before was not: P = (1 − p) p^k."""
    result = lawful(rounds=400, **{"network.pacing": TICKS, "network.link.loss": p})
    # Every 12th round of a link: nearly independent observations.
    seen = Counter(min(e.staleness, 5) for _, e in found(result, "value.used") if e.round % 12 == 0)
    total = seen.total()
    expected = [(1 - p) * p**k * total for k in range(5)] + [p**5 * total]
    observed = [seen[k] for k in range(6)]
    enough = [k for k in range(6) if expected[k] >= 5]
    tail = enough[-1]
    merged = ([*observed[:tail], sum(observed[tail:])], [*expected[:tail], sum(expected[tail:])])
    assert stats.chisquare(*merged).pvalue > 0.001
    assert result.summary["staleness"]["mean"] == pytest.approx(p / (1 - p), rel=0.1)


def test_rounds_of_one_agent_never_overlap():
    result = lawful(**{"network.pacing": TICKS | {"jitter": 0.05}, "compute.time": 0.15})
    for times in ends(result).values():
        assert all(later > earlier for earlier, later in pairwise(times))
    assert world().rounds == len(times)


def test_work_takes_as_long_as_its_gradients():
    result = lawful(compute={"time": "10 ms", "per_gradient": "1 ms"})
    started = {(e.agent, e.round): t for t, e in found(result, "round.started")}
    for t, event in found(result, "solve.finished"):
        assert t - started[event.agent, event.round] == pytest.approx(0.01 + 0.001 * event.gradients)


def test_a_gradient_of_more_rows_takes_longer_where_rows_have_a_price():
    result = lawful(compute={"time": "10 ms", "per_row_gradient": "10 us"})
    started = {(e.agent, e.round): t for t, e in found(result, "round.started")}
    for t, event in found(result, "solve.finished"):
        took = t - started[event.agent, event.round]
        assert took == pytest.approx(0.01 + 1e-5 * result.agents["rows"][event.agent] * event.gradients)
    times = (Compute(per_row_gradient=1e-5).for_agent(Streams(1), 0, rows) for rows in (86, 1461))
    few, many = (time(Proposal(None, 5)) for time in times)
    assert (few, many) == pytest.approx((0.0043, 0.07305))


def test_the_time_of_a_gradient_has_one_price():
    with pytest.raises(ValueError, match="without per_gradient"):
        Compute(per_gradient=0.1, per_row_gradient=0.1)


def test_work_times_of_a_distribution_lie_where_it_lies():
    result = lawful(**{"compute.time": {"kind": "uniform", "low": 0.01, "high": 0.03}, "network.pacing": "free"})
    works = [gap for times in ends(result).values() for gap in np.diff([0.0, *times])]
    assert 0.01 <= min(works) < max(works) <= 0.03
    assert np.mean(works) == pytest.approx(0.02, rel=0.1)


def test_measured_times_of_work_are_read_once_for_all_agents(tmp_path):
    (tmp_path / "times.csv").write_text("0.5\n")
    compute = Compute(time={"kind": "empirical", "file": "times.csv"}, per_gradient=0.1)
    read = compute.read(lambda name: tmp_path / name)
    (tmp_path / "times.csv").unlink()
    assert [read.for_agent(Streams(1), agent, 80)(Proposal(None, 3)) for agent in range(2)] == pytest.approx([0.8, 0.8])


SLOTS = {"network.pacing": TICKS | {"send_at": 0.05}, "compute.time": 0.0, "compute.per_gradient": 0.001}


def pattern(result) -> list[tuple[float, int, int, int, int]]:
    return [(t, e.agent, e.peer, e.round, e.wire_bytes) for t, e in found(result, "message.sent")]


def test_messages_leave_at_times_that_the_data_do_not_change():
    """Two hundred data sets each way: one traffic pattern, where the time of a solve tells them apart without slots."""
    base = {"algorithm": {"name": "pp-admm", "eta": 0.5}, "rounds": 3, "topology": {"kind": "ring", "agents": 3}}
    seeds = range(200)
    slotted = {tuple(pattern(lawful(**base, **SLOTS, **{"data.seed": seed}))) for seed in seeds}
    assert len(slotted) == 1
    prompt = SLOTS | {"network.pacing": {"kind": "barrier"}}
    assert len({tuple(pattern(lawful(**base, **prompt, **{"data.seed": seed}))) for seed in range(40)}) > 1


def test_where_the_time_of_a_solve_tells_something_messages_wait_by_default():
    tells, constant = (
        lawful(**{"network.pacing": TICKS, "compute.time": 0.02, "compute.per_gradient": each}) for each in (0.001, 0.0)
    )
    assert {round(t % 0.1, 9) for t, _ in found(tells, "message.sent")} == {0.05}
    assert {round(t % 0.1, 9) for t, _ in found(constant, "message.sent")} == {0.02}


def test_work_that_outlasts_its_slot_makes_the_run_invalid():
    with pytest.raises(SimnetError, match=r"network\.pacing\.send_at = 0\.05 s.*invalid"):
        lawful(**{"network.pacing": TICKS | {"send_at": 0.05}, "compute.time": 0.06})


@pytest.mark.parametrize("send_at", [0.1, 0.2])
def test_a_slot_lies_inside_the_period(send_at):
    with pytest.raises(ScenarioError, match="send_at"):
        world(**{"network.pacing": TICKS | {"send_at": send_at}})


def test_agents_that_go_down_cannot_keep_fixed_times():
    with pytest.raises(ScenarioError, match=r"network\.pacing\.send_at"):
        world(**SLOTS, fault=[{"kind": "crash", "agent": 0, "at": 0.1, "duration": 0.1}])
