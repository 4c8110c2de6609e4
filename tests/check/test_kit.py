"""Every check has a method that fails it, and nothing else."""

from __future__ import annotations

import pytest

from simnet.check import Status, check
from simnet.check.kit import CHECKS
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
            (
                OWN,
                OWN
                + "        for v in known:\n            x = v.parts[0]\n            assert not x.any() or (x != x.astype('f4')).any()\n",
            )
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
    "noise that is not secret": ([('"noise", place.agent', '"mine", place.agent')], "", "noise"),
    "noise of its own making": (
        [('streams.generator("noise", place.agent)', "np.random.default_rng(place.agent)")],
        "import numpy as np",
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
    "plans for half of the rounds": (
        [(PLAN, "gaussian_plan(privacy, rounds, weights=[1] * rounds, sensitivity=0.5 *")],
        "",
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
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_by_its_check_and_by_no_other(mistake, tmp_path):
    changes, head, name = MISTAKES[mistake]
    found = outcomes(mutant(tmp_path, *changes, head=head))
    assert list(failures(found)) == [name], failures(found)


def test_the_starter_method_passes_everything(tmp_path):
    result = check(mutant(tmp_path))
    assert {each.status for each in result.outcomes} == {Status.PASSED}, result.summary()
    assert [each.name for each in result.outcomes] == [each.name for each in CHECKS]
