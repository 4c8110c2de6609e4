"""Whoever follows the advice of a refusal is not refused again, whatever the other agents are like."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.methods import METHODS
from simnet.methods.advice import Advice
from simnet.methods.method import AgentSize
from simnet.privacy.budget import Privacy

sizes = st.lists(
    st.builds(AgentSize, st.integers(1, 400), st.integers(1, 5), st.just(8), st.just(1.0), st.just(0.25)),
    min_size=1,
    max_size=4,
)


def method(name, **fields):
    return METHODS[name](name=name, **fields)


@pytest.mark.parametrize("name", ["pp-admm", "ipp-admm", "r-admm"])
@given(sizes=sizes, rounds=st.integers(1, 20), epsilon=st.floats(0.1, 2.0))
@settings(max_examples=5, deadline=None)
def test_all_agents_can_do_what_a_refusal_advises(name, sizes, rounds, epsilon):
    chosen, privacy = method(name, eta=0.01), Privacy(epsilon=epsilon)
    try:
        chosen.calibrate(privacy, sizes, rounds)
    except BudgetError as error:
        said = Advice(chosen, privacy, sizes, rounds).sentence(error)
    else:
        assume(False)
        return
    agent, rows, degree = map(int, re.match(r"agent (\d+) \((\d+) rows?, (\d+) neighbours?\): ", said).groups())
    assert (sizes[agent].rows, sizes[agent].degree) == (rows, degree)
    with pytest.raises(BudgetError):
        chosen.calibrate(privacy, [sizes[agent]], rounds)
    if found := re.search(r"rounds = (\d+)", said):
        chosen.calibrate(privacy, sizes, int(found[1]))
        with pytest.raises(BudgetError):
            chosen.calibrate(privacy, [sizes[agent]], int(found[1]) + 1)
    if found := re.search(r"min_rows = (\d+)|with (?:rounds = \d+, )?([\d,]+) rows? per agent", said):
        least = int((found[1] or found[2]).replace(",", ""))
        chosen.calibrate(privacy, [replace(size, rows=max(size.rows, least)) for size in sizes], rounds)
    if found := re.search(r"algorithm\.eta = ([\d.e+-]+)", said):
        chosen.model_copy(update={"eta": float(found[1])}).calibrate(privacy, sizes, rounds)


def test_the_worst_agent_is_named_and_the_others_are_counted():
    sizes = [AgentSize(rows, 2, 8, 1.0, 0.25) for rows in (2000, 60, 40, 3000)]
    chosen, privacy = method("pp-admm", eta=0.02), Privacy(epsilon=1.0)
    with pytest.raises(BudgetError) as refused:
        chosen.calibrate(privacy, sizes, 30)
    said = Advice(chosen, privacy, sizes, 30).sentence(refused.value)
    assert said.startswith("agent 2 (40 rows, 2 neighbours): ε = 1 at δ = 0.0001 cannot be met: the curvature part of")
    assert said.endswith(
        "; 2 of 4 agents cannot; all could with rounds = 4, data.min_rows = 88 or algorithm.eta = 0.0441"
    )


def test_what_no_agent_is_to_blame_for_is_said_as_it_is():
    chosen, privacy = method("pp-admm", output_share=0.5), Privacy(epsilon=1.0)
    sizes = [AgentSize(1000, 2, 8)]
    with pytest.raises(BudgetError) as refused:
        chosen.calibrate(privacy, sizes, 3)
    assert "the task states no bounds" in Advice(chosen, privacy, sizes, 3).sentence(refused.value)
