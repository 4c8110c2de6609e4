"""The facts of a run are its tables, and everything counted beside them adds up to them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.errors import LogError, SimnetError
from simnet.record import events as ev
from simnet.record.events import FATES
from simnet.record.log import read
from simnet.report.charges import Charges
from simnet.report.message_flow import MessageFlow
from simnet.report.run_facts import RunFacts, read_run
from tests.record import stories
from tests.record.stories import lawful

LOSSY = {
    "name": "lossy & <small>",
    "rounds": 6,
    "data": {"source": "synthetic", "rows": 900, "features": 4},
    "topology": {"kind": "ring", "agents": 4},
    "algorithm": {"name": "pp-admm", "eta": 0.05},
    "network": {
        "pacing": {"kind": "deadline", "period": 0.1},
        "link": {"latency": 0.03, "bandwidth": 40_000.0, "queue": 1, "loss": {"kind": "bernoulli", "p": 0.2}},
    },
}
TOTALS = ("messages", "delivered", "lost", "overflowed", "unreachable", "retransmissions", "wire_bytes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    stored = run(Scenario.of(LOSSY), tmp_path_factory.mktemp("runs")).folder
    assert stored is not None
    return stored


@pytest.fixture(scope="module")
def facts(folder) -> RunFacts:
    return read_run(folder)


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


def test_summary_and_tables_are_those_of_the_run_folder(folder, facts):
    assert facts.summary == json.loads((folder / "summary.json").read_text())
    for name, rows in (("rounds.csv", facts.rounds), ("agents.csv", facts.agents)):
        shown = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
        assert shown == table(folder / name)
    assert facts.environment == json.loads((folder / "environment.json").read_text())


def test_links_intervals_and_staleness_add_up_to_the_summary(facts):
    traffic, flow = facts.summary["communication"], facts.flow.intervals()
    for name in TOTALS:
        assert sum(row[name] for row in facts.links.rows()) == traffic[name]
    for fate in ("delivered", "lost", "overflowed", "unreachable"):
        assert sum(flow[fate]) == traffic[fate]
    used = sum(facts.staleness.values())
    assert sum(age * n for age, n in facts.staleness.items()) / used == pytest.approx(
        facts.summary["staleness"]["mean"]
    )
    assert facts.staleness.get(0, 0) / used == pytest.approx(facts.summary["staleness"]["fresh_share"])


def test_a_link_counts_both_directions(folder, facts):
    sent: Counter[tuple[int, int]] = Counter()
    for _, _, event in read(folder / "events.jsonl.zst"):
        if isinstance(event, ev.MessageSent):
            sent[min(event.agent, event.peer), max(event.agent, event.peer)] += 1
    assert {(row["a"], row["b"]): row["messages"] for row in facts.links.rows()} == sent


def test_the_ledger_ends_with_what_the_tables_say_each_agent_spent(facts):
    last = {entry["agent"]: entry for entry in facts.charges.entries}
    for row, account in zip(facts.agents, facts.accounts, strict=True):
        for epsilon in ("claimed_epsilon", "proven_epsilon"):
            assert row[epsilon] == account[epsilon] == last[row["agent"]][epsilon]
    assert sum(kind["charges"] for kind in facts.charges.kinds) == facts.charges.count == 4 * 6
    assert sum(account["charges"] for account in facts.accounts) == facts.charges.count


def test_an_agents_epsilon_never_falls_from_charge_to_charge(facts):
    for agent in range(4):
        spent = [entry["proven_epsilon"] for entry in facts.charges.entries if entry["agent"] == agent]
        assert spent == sorted(spent)


def test_many_charges_are_counted_all_and_listed_in_part(folder):
    charges = Charges(listed=5)
    for seq, t, event in read(folder / "events.jsonl.zst"):
        charges(seq, t, event)
    assert (len(charges.entries), charges.count) == (5, 24)


def test_a_log_without_its_folder_gives_the_same_figures(folder, facts, tmp_path):
    lonely = tmp_path / "published.jsonl.zst"
    lonely.write_bytes((folder / "events.jsonl.zst").read_bytes())
    found = read_run(lonely)
    assert found.rounds == facts.rounds
    assert found.environment is None
    assert found.summary["time"]["wall"] is None


def test_a_cut_log_is_refused(folder, tmp_path):
    broken = tmp_path / "cut.jsonl.zst"
    broken.write_bytes((folder / "events.jsonl.zst").read_bytes()[:-40])
    with pytest.raises(LogError, match="cut short"):
        read_run(broken)


def test_a_log_that_breaks_a_law_is_refused_with_the_law(tmp_path):
    story = stories.lawful(seed=4)
    place = next(i for i, (_, event) in enumerate(story) if isinstance(event, ev.ValueUsed))
    t, used = story[place]
    story[place] = (t, msgspec.structs.replace(used, staleness=used.staleness + 5))
    folder = stories.store(story, tmp_path)
    with pytest.raises(LogError, match=r"breaks a law of runs: event \d+ at t = .* uses a value of agent"):
        read_run(folder)


def test_a_summary_of_another_run_is_refused(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("events.jsonl.zst", "environment.json"):
        (other / name).write_bytes((folder / name).read_bytes())
    (other / "summary.json").write_text('{"digest": "0000"}')
    with pytest.raises(LogError, match="speaks of another run"):
        read_run(other)


def test_a_folder_without_a_log_is_one_sentence(tmp_path):
    with pytest.raises(SimnetError, match="is not a run folder"):
        read_run(tmp_path)


def told(story, count: int) -> MessageFlow:
    flow = MessageFlow(story[-1][0], count)
    for seq, (t, event) in enumerate(story, start=1):
        flow(seq, t, event)
    return flow


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_every_fate_is_counted_once_in_the_interval_in_which_it_is_met(seed, count):
    story = lawful(agents=4, rounds=4, seed=seed, notices=True, tested=True)
    found = told(story, count).intervals()
    edges = found["edges"]
    for kind, fate in FATES.items():
        times = [t for t, event in story if type(event) is kind]
        by_hand = [sum(low < t <= high for t in times) for low, high in pairwise(edges)]
        by_hand[0] += times.count(0.0)
        assert found[fate] == by_hand


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_most_messages_under_way_are_those_sent_and_not_met(seed, count):
    story = lawful(agents=4, rounds=4, seed=seed)
    found = told(story, count).intervals()
    edges = found["edges"]
    moments = sorted({t for t, _ in story})

    def under_way(moment: float) -> int:
        sent = sum(t <= moment for t, event in story if isinstance(event, ev.MessageSent))
        return sent - sum(t <= moment for t, event in story if type(event) in FATES)

    for place, (low, high) in enumerate(pairwise(edges)):
        before = [t for t in moments if t <= low][-1:] if place else []
        assert found["under_way"][place] == max(
            under_way(t) for t in [*before, *(t for t in moments if low < t <= high)] or [0.0]
        )


def test_a_run_that_takes_no_time_has_one_interval():
    flow = MessageFlow(0.0)
    flow(1, 0.0, ev.MessageSent(0, 1, 1, 1, "value", 16, 48))
    flow(2, 0.0, ev.MessageDelivered(1, 1, 0, 1))
    found = flow.intervals()
    assert (found["delivered"], found["under_way"]) == ([1], [0])


def test_rows_that_travel_before_the_first_round_are_counted_apart():
    flow = MessageFlow(1.0)
    flow(1, 0.5, ev.ReportsGathered(0, 10, 9, 1, 160, 480))
    assert flow.reports == 10
    assert sum(flow.intervals()["delivered"]) == 0
