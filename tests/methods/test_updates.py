"""Dual updates computed together against the papers' formula, one agent after the other."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simnet.methods.duals import NodeDuals, constant
from simnet.methods.peer import Known
from simnet.methods.updates import MOST, Updates

agents = st.tuples(st.integers(0, 5), st.sampled_from([1, 3, 8]), st.floats(0, 2), st.integers(0, 2**32 - 1))
"""Degree, features, step and a seed for the numbers."""


def numbers(degree: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[Known]]:
    """A dual, a model and what is known of the neighbours, from tiny to huge, with zeros of both signs."""
    rng = np.random.default_rng(seed)
    draw = rng.normal(size=(degree + 2, features)) * 10.0 ** rng.integers(-9, 9, size=(degree + 2, features))
    draw[rng.random(draw.shape) < 0.1] = -0.0
    dual, model, *theirs = draw
    return dual, model, [Known(j, 1, (value,)) for j, value in enumerate(theirs)]


def alone(dual, model, degree, step, known, eta) -> tuple[np.ndarray, np.ndarray]:
    """λ_i after the update, and the linear term that follows."""
    total = np.zeros(len(model))
    for value in known:
        total = total + value.parts[0]
    after = (degree * model - total) * (step / 2) + dual
    return after, (after + after) - eta * (degree * model + total)


@given(st.lists(agents, min_size=1, max_size=12), st.data())
def test_each_update_is_to_the_last_bit_what_it_would_be_alone(towns, data):
    among = Updates()
    given = [(*numbers(degree, features, seed), degree, step) for degree, features, step, seed in towns]
    begun = [among.begin(dual, model, degree, step, known) for dual, model, known, degree, step in given]
    order = data.draw(st.permutations(range(len(towns))))
    for agent in order:
        dual, model, known, degree, step = given[agent]
        after, linear = alone(dual, model, degree, step, known, 0.3)
        assert begun[agent].dual().tobytes() == after.tobytes()
        assert begun[agent].linear(0.3).tobytes() == linear.tobytes()


def test_one_question_answers_all_and_no_more_wait_than_that():
    among = Updates()
    begun = [among.begin(*numbers(2, 4, agent)[:2], 2, 0.5, numbers(2, 4, agent)[2]) for agent in range(MOST + 2)]
    assert [update.found is None for update in begun] == [False] * MOST + [True] * 2
    begun[-1].dual()
    assert begun[-2].found is not None


def test_who_asks_later_is_told_the_dual_of_then():
    _, model, known = numbers(3, 4, 1)
    duals = NodeDuals(4, 3, constant(0.5))
    expected, laters = [np.zeros(4)], [duals.later()]
    for t in (1, 2, 3):
        duals.absorb(t, model + t, None, known)
        expected.append(alone(expected[-1], model + t, 3, 0.5, known, 0.1)[0])
        laters.append(duals.later())
    for after, later in zip(expected, laters, strict=True):
        np.testing.assert_array_equal(later(), after)


def test_what_an_update_was_made_of_is_let_go():
    update = Updates().begin(*numbers(2, 4, 1)[:2], 2, 0.5, numbers(2, 4, 1)[2])
    found = update.dual()
    assert update.known == ()
    assert update.before.size == 0
    assert found.base.size == 4 * 4, "of its own, not a part of what was computed together"


def test_an_update_that_is_saved_takes_nobody_along():
    among = Updates()
    mine, theirs = (among.begin(*numbers(2, 4, agent)[:2], 2, 0.5, numbers(2, 4, agent)[2]) for agent in (1, 2))
    copy = pickle.loads(pickle.dumps((mine, mine.model)))
    assert copy[0].model is copy[1], "who asks with the same model is known again"
    assert copy[0].dual().tobytes() == mine.dual().tobytes()
    assert copy[0].linear(0.3).tobytes() == mine.linear(0.3).tobytes()
    assert theirs.found.tobytes() not in pickle.dumps(mine)
