"""The answers of a sparse vector test: how probable each is, and who notices that its noise is another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simnet.audit.answers import Answer, AnswerLikelihood, answer_groups, martingale_test
from simnet.privacy.sparse_vector import SparseVector, SvtPlan

PLAN = SvtPlan(
    threshold=0.5,
    clip=2.0,
    cap=4,
    epsilon1=1.0,
    epsilon2=1.0,
    threshold_scale=0.7,
    query_scale=1.3,
    redraw=False,
    shared_noise=False,
    regularised=False,
)


def asked(rng, queries, threshold_scale=0.7, query_scale=1.3):
    """The answers of one test, until it is exhausted."""
    test, likelihood = SparseVector(4, 0.5, threshold_scale, query_scale, False, rng), AnswerLikelihood(PLAN)
    found = []
    for t, query in enumerate(queries, 1):
        if test.exhausted:
            break
        found.append(likelihood.note(t, query, passed=test.test(query)))
    return found


def test_the_chance_of_an_answer_given_the_answers_before_is_the_frequency_of_it():
    rng = np.random.default_rng(1)
    queries = (0.2, 1.0, -0.5)
    runs = [asked(rng, queries) for _ in range(20_000)]
    for history in [(True, True), (True, False), (False, True), (False, False)]:
        some = [run for run in runs if (run[0].passed, run[1].passed) == history]
        frequency = np.mean([run[2].passed for run in some])
        assert some[0][2].chance == pytest.approx(frequency, abs=4 * math.sqrt(0.25 / len(some)))


def test_an_honest_test_is_accused_no_oftener_than_the_p_value_says():
    rng = np.random.default_rng(2)
    accused = 0
    for _ in range(200):
        answers = [each for _ in range(20) for each in asked(rng, (0.9, 0.4, 1.5, -0.2, 0.6))]
        accused += min(martingale_test(group) for group in answer_groups(answers).values()) <= 0.1
    # Ten groups at 10 % each, but every bet is far below its limit.
    assert accused < 60


@pytest.mark.parametrize(("threshold", "query"), [(0.0, 0.0), (0.35, 0.65)])
def test_a_test_with_no_noise_or_half_of_it_is_accused(threshold, query):
    rng = np.random.default_rng(3)
    answers = [each for _ in range(200) for each in asked(rng, (1.8, 1.8, 1.8, 1.8), threshold, query)]
    assert martingale_test(answers) < 1e-5


def test_the_bet_is_a_plain_mean_of_products():
    answers = [Answer(1, 0.3, True, None), Answer(2, 0.6, False, True), Answer(3, 0.5, True, False)]
    wealth = []
    for stake in (-3.0, -1.5, -0.75, -0.3, 0.3, 0.75, 1.5, 3.0):
        product = 1.0
        for each in answers:
            p = each.chance
            mean = p * math.exp(stake * (1 - p)) + (1 - p) * math.exp(-stake * p)
            product *= math.exp(stake * (each.passed - p)) / mean
        wealth.append(product)
    assert martingale_test(answers) == pytest.approx(min(1.0, 1.0 / np.mean(wealth)))
    assert martingale_test([]) == 1.0


def test_answers_are_grouped_by_round_and_by_what_came_before():
    answers = [Answer(1, 0.3, True, None), Answer(2, 0.6, False, True), Answer(3, 0.5, True, False)]
    sizes = {name: len(group) for name, group in answer_groups(answers).items()}
    assert sizes == {
        "all answers": 3,
        "round 1": 1,
        "round 2": 1,
        "round 3": 1,
        "the first answer": 1,
        "answers after a yes": 1,
        "answers after a no": 1,
    }
