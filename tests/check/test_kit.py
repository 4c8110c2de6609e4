"""Every check has a method that fails it, and nothing else."""

from __future__ import annotations

import pytest

from simnet.check import Status, check
from simnet.check.kit import CHECKS, METHOD
from tests.check.mutants import failures, mutant, outcomes

PROPOSE = "        noisy = self.plan.perturb(t, self.gradient(), self.rng)\n"
OWN = "        own = self.theta if sent is None else sent[0]\n"
AVERAGE = "        self.theta = own + sum(self.weights[value.peer] * (value.parts[0] - own) for value in known)\n"
INIT = "        self.method, self.objective, self.weights = method, objective, weights\n"
CHARGE = "charges=(self.plan.charge(t),))"
PLAN = "gaussian_plan(privacy, rounds"
DOC = '    """Noisy gradient descent with averaging. (Users read this line in `simnet explain`.)"""\n'
ROWS_SEEN = "RUNS = []\ndef run_number(agent):\n    RUNS.append(agent)\n    return RUNS.count(agent)\n"

MISTAKES: dict[str, tuple[list[tuple[str, str]], str, str]] = {
    "no docstring": ([(DOC, "")], "", "described"),
    "a field without a description": ([(', description="length of a step"', "")], "", "described"),
    "a default that its own check refuses": (
        [('Field(1.0, description="length', 'Field(-1.0, description="length')],
        "",
        "defaults",
    ),
    "a field without a default": ([('Field(1.0, description="length', 'Field(description="length')], "", "defaults"),
    "a check that halves": (
        [("step: Positive", "step: Annotated[float, AfterValidator(lambda value: value / 2)]")],
        "from typing import Annotated\nfrom pydantic import AfterValidator",
        "comes back",
    ),
    "writes into what it is given": (
        [(AVERAGE, AVERAGE.replace("self.theta = own +", "own +=") + "        self.theta = own\n")],
        "",
        "hands off",
    ),
    "writes later into what it was given": (
        [
            (
                AVERAGE,
                "        if t == 3:\n            self.last *= 2\n        self.last = known[0].parts[0]\n" + AVERAGE,
            )
        ],
        "",
        "hands off",
    ),
    "ends in an exception": ([(PROPOSE, "        1 / (t - 3)\n" + PROPOSE)], "", "runs"),
    "models that are no numbers": (
        [(AVERAGE, AVERAGE + "        self.theta = self.theta / (t != 3) - self.theta / (t != 3)\n")],
        "",
        "runs",
    ),
    "a reason that it did not list": (
        [(PROPOSE, PROPOSE + '        if t == 3:\n            return Proposal(None, skipped="bored")\n')],
        "",
        "runs",
    ),
    "silent for ever": ([(PROPOSE, PROPOSE + '        return Proposal(None, skipped="listening")\n')], "", "runs"),
    "counts runs in its module": (
        [(INIT, INIT + "        self.theta = self.theta + run_number(id(type(self)))\n")],
        ROWS_SEEN,
        "same seed",
    ),
    "seeds everybody's generator": (
        [(PROPOSE, "        np.random.seed(7)\n" + PROPOSE)],
        "import numpy as np",
        "own chance",
    ),
    "draws from everybody's generator": (
        [(PROPOSE, PROPOSE + "        0 * random.random()\n")],
        "import random",
        "own chance",
    ),
    "looks at the clock": (
        [(PROPOSE, "        perf_counter()\n" + PROPOSE)],
        "from time import perf_counter",
        "no clock",
    ),
    "looks at the calendar": ([(PROPOSE, "        date.today()\n" + PROPOSE)], "from datetime import date", "no clock"),
    "cannot stand rounded numbers": (
        [
            ('Field(1.0, description="length', 'Field(0.3, description="length'),
            (OWN, OWN + "        assert sent is None or (own != own.astype('f4')).any()\n"),
        ],
        "",
        "float32",
    ),
    "says that it can begin again": (
        [("    # Fields of", "    begins_again = True\n    # Fields of")],
        "",
        "lost state",
    ),
    "changes its model in a proposal": (
        [(PROPOSE, "        self.theta = 1.01 * self.theta\n" + PROPOSE)],
        "",
        "proposes",
    ),
    "keeps state of a proposal": (
        [
            (INIT, INIT + "        self.kick = 0\n"),
            (PROPOSE, PROPOSE + "        self.kick = noisy\n"),
            (AVERAGE, AVERAGE + "        self.theta = self.theta - 1e-3 * self.kick\n"),
        ],
        "",
        "followed",
    ),
    "lets in values in which noise is lost": ([(INIT, INIT + "        self.limits = (1e150,) * 3\n")], "", "hostile"),
    "lets in everything": (
        [
            (
                "    def gradient(self)",
                "    def accepts(self, round, parts):\n        return True\n\n    def gradient(self)",
            )
        ],
        "",
        "hostile",
    ),
    "noise of its own making": (
        [('streams.generator("noise", place.agent)', "Streams(0).generator('noise', place.agent)")],
        "from simnet.extend import Streams",
        "noise",
    ),
    "a release that nothing pays for": ([(CHARGE, "charges=(self.plan.charge(t),) if t != 3 else ())")], "", "charges"),
    "recycles what is not there": (
        [(CHARGE, "charges=(self.plan.charge(t),) if t > 1 else (RECYCLED,))")],
        "from simnet.extend import RECYCLED",
        "charges",
    ),
    "pays less than its plan": (
        [(CHARGE, 'charges=(Charge.of("gaussian", {"sensitivity": 1.0, "sigma": 1e3}),))')],
        "from simnet.extend import Charge",
        "plan",
    ),
    "pays twice": (
        [(CHARGE, "charges=(replace(self.plan.charge(t), times=2),))")],
        "from dataclasses import replace",
        "plan",
    ),
    "more ε than was asked for": (
        [
            (PLAN, 'gaussian_plan(privacy.model_copy(update={"epsilon": 3.0}), rounds'),
            (
                "    def peer(self, plan",
                "    def limit(self, privacy):\n        return float('inf')\n\n    def peer(self, plan",
            ),
        ],
        "",
        "budget",
    ),
    "noise that was not asked for": (
        [(PLAN, 'gaussian_plan(privacy.model_copy(update={"calibration": "proven"}), rounds')],
        "",
        "bare",
    ),
    "holds what cannot be written down": (
        [(INIT, INIT + "        self.lock = Lock()\n")],
        "from threading import Lock",
        "checkpoint",
    ),
    "keeps state in a function": (
        [
            (INIT, INIT + "        self.last = lambda: 0.0\n"),
            (PROPOSE, PROPOSE.replace("self.gradient()", "self.gradient() + self.last()")),
            (AVERAGE, AVERAGE + "        self.last = lambda: 0.1 * t\n"),
        ],
        "",
        "checkpoint",
    ),
    "the gradient beside the model": (
        [
            ("step * noisy,), gradients", "step * noisy, self.gradient()), gradients"),
            ("    def plan(self", "    def message_lengths(self, n):\n        return (n, n)\n\n    def plan(self"),
            (
                "    def gradient(",
                "    def initial(self):\n        return (self.theta, 0 * self.theta)\n\n    def gradient(",
            ),
        ],
        "",
        "whole message",
    ),
    "the gradient as company": (
        [
            ("    def plan(self", "    def message_lengths(self, n):\n        return (n, n)\n\n    def plan(self"),
            (
                "    def gradient(",
                "    def initial(self):\n        return (self.theta, 0 * self.theta)\n\n"
                "    def accompany(self, t, model, known):\n        return (self.gradient(),)\n\n    def gradient(",
            ),
        ],
        "",
        "whole message",
    ),
    "silent by its data": (
        [
            ("    def plan(self", "    public_silences = ('quiet',)\n\n    def plan(self"),
            (
                PROPOSE,
                "        if int(1e6 * self.gradient()[0]) % 2:\n            return Proposal(None, skipped='quiet')\n"
                + PROPOSE,
            ),
        ],
        "",
        "whole message",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_by_its_check_and_by_no_other(mistake, tmp_path):
    changes, head, name = MISTAKES[mistake]
    found = outcomes(mutant(tmp_path, *changes, head=head))
    assert list(failures(found)) == [name], failures(found)


def test_the_starter_method_passes_everything(tmp_path):
    result = check(mutant(tmp_path))
    assert {each.status for each in result.outcomes} == {Status.PASSED}, result.summary()
    assert [each.name for each in result.outcomes] == [each.name for each in CHECKS if each.at in ("", METHOD)]


STALE = "        assert all(value.round == t for value in known)\n"


def test_a_method_that_counts_on_fresh_values_fails_wherever_they_are_old(tmp_path):
    found = failures(outcomes(mutant(tmp_path, (OWN, STALE + OWN))))
    assert list(found) == ["loss", "reordering", "stale values", "some neighbours", "crash"]
    assert all("mutant.py, line 4" in sentence for sentence in found.values()), found


def test_a_check_waits_for_what_it_needs(tmp_path):
    found = outcomes(mutant(tmp_path, (PROPOSE, "        1 / (t - 3)\n" + PROPOSE)))
    assert found["runs"].sentence == "ZeroDivisionError: division by zero (mutant.py, line 38)"
    assert found["same seed"].sentence == "waits for `runs`"
    assert found["no clock"].sentence == "waits for `same seed`"
    assert found["described"].status is Status.PASSED


def test_the_order_of_a_set_differs_in_another_process(tmp_path):
    order = "ORDER = list({str(i) for i in range(99)})\n"
    step = (PROPOSE, PROPOSE + "        noisy = noisy + ORDER.index('7')\n")
    found = outcomes(mutant(tmp_path, step, head=order), "new process")
    assert list(failures(found)) == ["new process"]


def test_a_worker_has_no_file_that_the_scenario_does_not_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weight.txt").write_text("2.0")
    step = (PROPOSE, PROPOSE + "        noisy = noisy * float(open('weight.txt').read())\n")
    found = outcomes(mutant(tmp_path, step), "new process", "worker")
    assert list(failures(found)) == ["worker"]
    assert "weight.txt" in found["worker"].sentence


SLOW = ("live", "live, killed", "audit", "audit of a lie")
BOARD = "BOARD = {}\n"
SLOW_MISTAKES: dict[str, tuple[list[tuple[str, str]], str, str]] = {
    "agents that share a module": (
        [
            ("    def __init__(self, method", "    def __init__(self, me, method"),
            ("NoisyDescentPeer(self, plan", "NoisyDescentPeer(place.agent, self, plan"),
            (INIT, INIT + "        self.me = me\n        BOARD[me] = 0 * self.theta\n"),
            (
                AVERAGE,
                AVERAGE + "        BOARD[self.me] = self.theta\n        self.theta = self.theta + 0.1 * BOARD[1]\n",
            ),
            ("    def noise_of(", "    def nobody_asks("),
        ],
        BOARD,
        "live",
    ),
    "state in a function, later": (
        [
            (INIT, INIT + "        self.last = lambda: 0.0\n"),
            (PROPOSE, PROPOSE.replace("self.gradient()", "self.gradient() + self.last()")),
            (AVERAGE, AVERAGE + "        self.last = (lambda: 0.1 * t) if t > 1 else self.last\n"),
            ("    def noise_of(", "    def nobody_asks("),
        ],
        "",
        "live, killed",
    ),
    "less noise than it says": (
        [(PROPOSE, PROPOSE + "        noisy = self.gradient() + 0.5 * (noisy - self.gradient())\n")],
        "",
        "audit",
    ),
    "a plan that cannot be weakened": (
        [(PLAN, "Stubborn.of(gaussian_plan)(privacy, rounds")],
        """
from dataclasses import fields
from simnet.extend import ReadyPlan
class Stubborn(ReadyPlan):
    @classmethod
    def of(cls, make):
        def made(*given):
            plan = make(*given)
            return cls(**{each.name: getattr(plan, each.name) for each in fields(plan)})
        return made
    def weakened(self, factor):
        return self
""",
        "audit of a lie",
    ),
}


@pytest.mark.parametrize("mistake", SLOW_MISTAKES)
def test_a_mistake_that_takes_processes_or_an_audit_to_be_seen(mistake, tmp_path):
    changes, head, name = SLOW_MISTAKES[mistake]
    found = outcomes(mutant(tmp_path, *changes, head=head), *SLOW)
    assert list(failures(found)) == [name], failures(found)
