"""Stacks: who is computed with together, and where."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simnet.learning.losses import LOGISTIC, SMOOTHED_HINGE, Loss
from simnet.learning.objective import LocalObjective
from simnet.learning.stacks import ROOM, Stacks, batches, margins


def objective(rows: int, features: int, loss: Loss = LOGISTIC) -> LocalObjective:
    X = np.random.default_rng(rows + features).standard_normal((rows, features))
    return LocalObjective(X, np.ones(rows), loss, 0.01)


def test_small_objectives_of_one_shape_and_loss_are_of_one_kind():
    assert objective(20, 10).kind == objective(20, 10).kind is not None
    kinds = {objective(20, 10).kind, objective(10, 20).kind, objective(20, 10, SMOOTHED_HINGE).kind}
    assert len(kinds) == 3


def test_what_is_large_sparse_or_a_single_row_is_of_no_kind():
    sparse = sp.csr_array(np.eye(400, 100))
    assert objective(300, 20).kind is None
    assert objective(2, 300).kind is None
    assert objective(1, 20).kind is None
    assert objective(20, 1).kind is None
    assert LocalObjective(sparse, np.ones(400), LOGISTIC, 0.01).kind is None


def test_batches_hold_what_is_alike_in_its_order_and_leave_the_rest():
    a, b = (20, 20, 0), (7, 20, 0)
    assert batches([a, b, a, None, a, b, a, a, b]) == [[0, 2, 4, 6, 7]]


def test_a_batch_is_no_larger_than_the_room_for_it():
    kind = (20, 20, 0)
    found = batches([kind] * 1000)
    assert [place for batch in found for place in batch] == list(range(1000))
    assert max(map(len, found)) == ROOM // 400


def test_memory_is_used_again_and_grows_when_it_must():
    stacks = Stacks()
    small = stacks.of("rows", [np.full((2, 3), float(n)) for n in range(4)])
    assert small[:, 0, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    again = stacks.of("rows", [np.full((3, 2), 7.0)])
    assert np.shares_memory(small, again)
    assert not np.shares_memory(stacks.empty("other", 4), again)
    assert stacks.empty("rows", 100, 2, 3).shape == (100, 2, 3)


def test_the_margins_of_a_stack_are_those_of_its_objectives():
    objectives = [objective(6, 4) for _ in range(5)]
    thetas = np.random.default_rng(1).standard_normal((5, 4))
    found = margins(Stacks().rows(objectives), thetas)
    assert found.tolist() == [f.margins(theta).tolist() for f, theta in zip(objectives, thetas, strict=True)]


def test_rows_that_are_stacked_already_stay_and_others_take_their_place():
    stacks = Stacks()
    some, others = ([objective(6, 4) for _ in range(5)] for _ in range(2))
    others[0] = objective(6, 4, SMOOTHED_HINGE)
    stacks.rows(some)[0] = 7.0
    assert stacks.rows(list(some))[0].tolist() == np.full((4, 6), 7.0).tolist()
    assert stacks.rows(others)[0].tolist() == others[0].transposed.tolist()
    assert stacks.rows(some[:3]).tolist() == [f.transposed.tolist() for f in some[:3]]
