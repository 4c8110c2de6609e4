"""A method that says only its fields, its noise and its mathematics fits; and each of ours is in one place."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from pydantic import Field

import simnet
from simnet.learning.dataset import Dataset
from simnet.learning.objective import LOGISTIC
from simnet.learning.task_parts import default_task
from simnet.methods import METHODS
from simnet.methods.method import AgentSize, Method, Surroundings
from simnet.methods.peer import Known, Peer, Proposal, alone
from simnet.parts.fields import Positive
from simnet.privacy.budget import Privacy
from simnet.privacy.ledger import Charge, account
from simnet.privacy.noise import gaussian
from simnet.privacy.noise_schedule import NoiseSchedule, RoundPlan, calibrated
from simnet.streams import Streams


class Gossip(Method):
    """Noisy gradient steps from the mean of what the neighbours sent."""

    name: Literal["gossip"]
    step: Positive = Field(0.5, description="length of a step")
    loss: Literal["logistic"] = Field("logistic", description="loss of one row")

    def plan(self, privacy, size, rounds):
        def at(sigma):
            numbers = {"rows": size.rows, "gradient_bound": LOGISTIC.lipschitz, "sigma": sigma}
            charge = Charge.of("noisy-gradient", numbers)
            return [RoundPlan(scale=sigma, tolerance=0.0, output_sigma=0.0, charge=charge)] * rounds

        return NoiseSchedule("gaussian", tuple(calibrated(at, privacy.epsilon, privacy.delta, part="nothing")))

    def peer(self, plan, objective, place, streams):
        return GossipPeer(objective, plan, self.step, streams.generator("noise", place.agent))


class GossipPeer(Peer):
    """One agent of it."""

    def __init__(self, objective, plan, step, rng):
        super().__init__(objective.features)
        self.objective, self.plan, self.step, self.rng = objective, plan, step, rng

    def propose(self, t):
        plan = self.plan.rounds[t - 1]
        gradient = self.objective.loss_gradient(self.theta) + gaussian(self.rng, plan.scale, len(self.theta))
        return Proposal((self.theta - self.step * gradient,), 1, 0.0, (plan.charge,))

    def absorb(self, t, sent, known):
        self.theta = np.mean([sent[0], *(value.parts[0] for value in known)], axis=0)


def test_a_method_of_forty_lines_needs_nothing_but_fields_a_plan_and_a_peer():
    rng = np.random.default_rng(1)
    part = Dataset("rows", rng.normal(size=(80, 3)) / 4, np.sign(rng.normal(size=80)))
    method, privacy, sizes = Gossip(name="gossip"), Privacy(epsilon=2.0), [AgentSize(80, 1)] * 2
    around = Surroundings(topology="ring", medium="unicast", entrywise_codec=False, states_get_lost=False)
    assert method.misfit(around) is method.misfit_of_privacy(privacy) is method.misfit_of_live() is None
    calibration = method.calibrate(privacy, sizes, 5)
    assert calibration.limit == 2.0
    assert account(calibration.plans[0].charges, privacy.delta).proven_epsilon == pytest.approx(2.0, abs=1e-4)
    objectives = [method.training_objective(default_task("logistic"), part, calibration.regulariser, privacy)] * 2
    peers = method.peers(calibration, objectives, sizes, 5, Streams(1))
    sent = [alone(peer.propose(1)).release for peer in peers]
    for me, peer in enumerate(peers):
        peer.absorb(1, sent[me], [Known(1 - me, 1, sent[1 - me])])
    assert np.array_equal(peers[0].theta, peers[1].theta)
    assert not np.array_equal(sent[0], sent[1])
    assert np.array_equal(peers[0].dual, np.zeros(3))
    assert peers[0].noise_of(2, sent[0][0], ()) is None
    assert method.problem_facts(sizes, 0.0) == {"step": 0.5}
    assert method.promise(account((), 1e-4), "proven", owner=0, reports_heard=True).epsilon == 0.0


def test_a_method_without_noise_has_no_limit_and_releases_no_finite_epsilon():
    method = METHODS["admm"](name="admm")
    calibration = method.calibrate(Privacy(), [AgentSize(10, 1)], 3)
    assert (calibration.plans, calibration.limit) == ([None], math.inf)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_named_in_at_most_three_files(name):
    if name == "admm":
        pytest.skip("the others are kinds of it")
    word = re.compile(rf"(?<![\w-])(?:{name}|{name.replace('-', '_')})(?![\w-])")
    files = [path for path in Path(simnet.__file__).parent.rglob("*.py") if word.search(path.read_text("utf-8"))]
    assert len(files) <= 3, files


def test_colours_tell_methods_apart():
    assert len({method.colour for method in METHODS.values()}) == len(METHODS)
