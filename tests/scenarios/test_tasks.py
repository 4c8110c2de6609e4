"""Whole runs of every task: what is learned, what is refused, and what the record says of it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from simnet import Scenario, run
from simnet.audit import Audit, audit
from simnet.audit.result import Verdict
from simnet.build import build
from simnet.cli.terminal import compare_table, run_table
from simnet.errors import ScenarioError, TaskError
from simnet.learning.dataset import joined
from simnet.learning.task_parts import TASKS
from simnet.record import events
from simnet.record.lines import unpack
from simnet.record.verify import replay
from simnet.report.run_facts import read_run
from simnet.report.run_page import run_page
from simnet.studies.frames import run_row
from tests.live.test_fleet import same_course, with_kills
from tests.worlds import PATIENT, ROWS, unlawful

METHODS = Path(__file__).parents[2] / "scenarios" / "methods"
DP = {"name": "dp_gossip.py:DpGossip", "step": 1.0}


BLOBS, LINE = "tests.scenarios.labelled_rows:Blobs", "tests.scenarios.labelled_rows:Line"


def world(source: str = BLOBS, folder: Path = METHODS, **changes: Any) -> Scenario:
    base = {
        "seed": 1,
        "rounds": 25,
        "data": {"source": source, "bias": True, "train": 0.7},
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": DP,
        "privacy": {"epsilon": 4.0, "calibration": "proven"},
    }
    return Scenario.of(base | changes, folder=folder)


LEARNED = [("multinomial", BLOBS, 0.08), ("neural", BLOBS, 0.12), ("ridge", LINE, 0.2)]


@pytest.mark.parametrize(("task", "source", "enough"), LEARNED, ids=[task for task, _, _ in LEARNED])
def test_it_is_learned_by_noisy_gradients_at_a_proven_epsilon(task: str, source: str, enough: float):
    scenario = world(source, task=task, algorithm=DP | {"step": 1.8 if task == "ridge" else 1.0})
    result = run(scenario)
    assert result.summary["accuracy"]["test_error"] < enough
    assert result.rounds[0]["test_error"] > result.summary["accuracy"]["test_error"]
    assert 3.9 < result.summary["privacy"]["proven_epsilon"] <= 4.0
    assert unlawful(result) == []
    assert run(scenario).digest == result.digest
    started = next(event for _, _, event in result.events)
    assert isinstance(started, events.RunStarted)
    assert started.features == {"multinomial": 12, "neural": 16 * 5 + 3 * 17, "ridge": 4}[task]
    assert started.test_error_is == ("root mean square error" if task == "ridge" else None)


@pytest.mark.parametrize(("task", "source"), [("multinomial", BLOBS), ("ridge", LINE)])
def test_plain_admm_finds_the_optimum_of_all_rows(task: str, source: str):
    scenario = world(source, task=task, algorithm={"name": "admm", "eta": 0.1, "regulariser": 0.01}, rounds=150)
    result = run(scenario.with_(**{"privacy.calibration": "none"}))
    assert result.summary["accuracy"]["consensus"] < 1e-3
    if task == "ridge":
        rows = joined(list(build(scenario).learning.parts))
        optimum = np.linalg.solve(rows.X.T @ rows.X / rows.rows + 0.01 * np.eye(4), rows.X.T @ rows.y / rows.rows)
        released = [event.value for _, _, event in result.events if isinstance(event, events.ReleaseMade)]
        assert unpack(released[-1]) == pytest.approx(optimum, abs=2e-3)


def test_the_task_of_a_word_is_the_classifier_with_that_loss():
    plain = world("synthetic", data=ROWS, algorithm={"name": "pp-admm", "eta": 1.0, "loss": "smoothed-hinge"}, rounds=5)
    named = world("synthetic", data=ROWS, algorithm={"name": "pp-admm", "eta": 1.0}, task="smoothed-hinge", rounds=5)
    again = world("synthetic", data=ROWS, algorithm={"name": "pp-admm", "eta": 1.0}, rounds=5)
    assert run(plain).rounds == run(named).rounds != run(again).rounds
    assert Scenario.loads(named.to_toml(), folder=METHODS) == named
    assert "loss" not in named.resolved()["algorithm"]
    assert not {"task", "metric"} & plain.resolved().keys()


def refusal(**changes: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        run(world(**changes))
    return str(caught.value)


@pytest.mark.parametrize("method", ["pp-admm", "ipp-admm", "dvp", "r-admm", "gossip", "dp-admm"])
@pytest.mark.parametrize("task", ["ridge", "multinomial", "neural"])
def test_a_combination_whose_epsilon_is_not_proven_is_refused_in_one_sentence(method: str, task: str):
    kind = "star" if method == "dp-admm" else "ring"
    said = refusal(task=task, algorithm={"name": method}, topology={"kind": kind, "agents": 4})
    assert said == (
        f'task = "{task}": {method} needs a convex loss of the margin, which the proof of its ε is about, and {task} '
        "has none; logistic or smoothed-hinge would do"
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"task": "neural", "algorithm": {"name": "admm"}}, "admm needs a convex loss of bounded curvature"),
        ({"task": "smoothed-hinge", "algorithm": {"name": "pdml"}}, "pdml needs a loss that is convex when it is made"),
        (
            {"task": "ridge", "algorithm": {"name": "admm", "loss": "logistic"}},
            'algorithm.loss = "logistic": the task is ridge, which has a loss of its own; leave algorithm.loss away',
        ),
        (
            {"source": LINE, "task": "multinomial"},
            f"data.source = '{LINE}': its labels are finite numbers, and classes",
        ),
        (
            {"source": BLOBS},
            f"data.source = '{BLOBS}': its labels are classes, counted from 0, and -1 or +1 are needed",
        ),
        (
            {"task": "ridge", "data": {"source": LINE, "partition": "skewed"}},
            "data.partition = 'skewed': it deals by class, and the task's labels are numbers",
        ),
        ({"metric": ["worst-error", "worst-error"]}, "two are called worst_error, and a table has one such column"),
        ({"task": "ridgy"}, 'task = "ridgy": choose one of logistic, smoothed-hinge, ridge, multinomial, neural'),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_sentence(changes: dict[str, Any], sentence: str):
    said = refusal(**changes)
    assert sentence in said, said
    assert "\n" not in said


def test_classes_can_be_dealt_by_label():
    result = run(world(task="multinomial", data={"source": BLOBS, "partition": "skewed", "concentration": 0.3}))
    assert len(set(result.summary["last_rounds"])) == 1
    assert sum(next(event for _, _, event in result.events).rows) == 720  # type: ignore[attr-defined]


SHARP = """
import numpy as np
from simnet.learning.task import MarginTask

class Sharp(MarginTask):
    \"\"\"log(1 + e^−sz)/s × {times}\"\"\"

    lipschitz = 2.0
    smoothness = 2.0

    def value(self, z):
        return {times} * np.logaddexp(0.0, -z)

    def slope(self, z):
        return -{times} / (1.0 + np.exp(np.clip(z, -700, 700))){bump}

    def bend(self, z):
        e = np.exp(-np.abs(z))
        return {times} * e / (1.0 + e) ** 2
"""


def with_loss(folder: Path, times: float, bump: str = "") -> Scenario:
    (folder / "sharp.py").write_text(SHARP.format(times=times, bump=bump))
    changes = {"data": ROWS, "task": "sharp.py:Sharp", "algorithm": {"name": "pp-admm", "eta": 1.0}, "rounds": 5}
    return world("synthetic", folder, **changes)


def test_a_loss_of_ones_own_with_a_false_constant_is_refused(tmp_path: Path):
    with pytest.raises(ScenarioError) as caught:
        with_loss(tmp_path, 2.61)
    assert str(caught.value) == (
        'task = "sharp.py:Sharp": |l\'| is 2.61 at the margin -1e+04, and its lipschitz constant is declared as 2; '
        "ε would be wrong"
    )


def test_a_loss_of_ones_own_is_calibrated_by_its_own_constants(tmp_path: Path):
    mine = with_loss(tmp_path, 2.0)
    ours = build(mine.with_(task="logistic"))
    plan, other = build(mine).calibration.plans[0], ours.calibration.plans[0]
    assert plan is not None
    assert other is not None
    assert plan.sigma1 > 1.5 * other.sigma1, "twice as steep, so nearly twice the noise"  # type: ignore[attr-defined]
    result = run(mine)
    assert result.summary["privacy"]["proven_epsilon"] <= 4.0
    assert unlawful(result) == []


def test_a_constant_that_only_a_run_disproves_ends_it_with_a_sentence(tmp_path: Path):
    # The bump is too narrow for the grid, and margins of exactly 0 occur at the first model.
    scenario = with_loss(tmp_path, 2.0, " - 0.61 * 2 * (np.abs(z - 0.0013) < 0.0005)")
    scenario = scenario.with_(**{"data.rows": 4000, "data.train": 3200})
    with pytest.raises(TaskError, match=r"task sharp.py:Sharp: .* declared as 2; ε would be wrong"):
        run(scenario)


def test_metrics_are_in_the_log_the_tables_and_the_summary_and_come_back_from_the_log_alone(tmp_path: Path):
    metrics = ["worst-error", {"kind": "error-spread", "ignoring": 0.2}, "mean-model-error"]
    result = run(world(task="multinomial", metric=metrics), tmp_path)
    names = ["test_loss", "worst_error", "error_spread", "mean_model_error"]
    assert list(result.summary["measures"]) == names
    assert result.folder is not None
    with (result.folder / "rounds.csv").open() as text:
        rows = list(csv.DictReader(text))
    assert [float(row["worst_error"]) for row in rows] == [row["worst_error"] for row in result.rounds]
    assert all(float(row["worst_error"]) >= float(row["test_error"]) for row in rows)
    stored = json.loads((result.folder / "summary.json").read_text())
    assert stored["measures"] == result.summary["measures"]
    assert replay(result.folder).findings == ()


CLUMSY = """
from simnet.extend import Method, Peer, Proposal

class Clumsy(Method):
    \"\"\"It begins at zero, whatever is learned.\"\"\"

    def peer(self, plan, objective, place, streams):
        return ClumsyPeer(objective.features)

class ClumsyPeer(Peer):
    def propose(self, t):
        return Proposal((self.theta,))

    def absorb(self, t, sent, known):
        pass
"""


def test_a_method_that_would_begin_a_network_at_zero_is_refused(tmp_path: Path):
    (tmp_path / "clumsy.py").write_text(CLUMSY)
    scenario = world(folder=tmp_path, task="neural", algorithm={"name": "clumsy.py:Clumsy"})
    with pytest.raises(ScenarioError, match=r"neural begins at a point of its own.*__init__\(objective.start\)"):
        run(scenario)
    run(scenario.with_(task="multinomial"))


def test_a_method_whose_loss_is_nobodys_is_asked_for_a_task(tmp_path: Path):
    (tmp_path / "clumsy.py").write_text(CLUMSY.replace("    def peer", '    loss: str = "squared"\n\n    def peer'))
    with pytest.raises(ScenarioError, match=r"algorithm.loss.*: without a task it is logistic or smoothed-hinge; name"):
        world(folder=tmp_path, algorithm={"name": "clumsy.py:Clumsy"})


def test_every_task_is_listed_with_a_line():
    assert all((task.__doc__ or "").strip() for task in TASKS.values())


PAGE = (METHODS.parents[1] / "docs" / "tasks.md").read_text()


def test_the_examples_of_the_page_run_and_come_near_the_optimum(tmp_path: Path):
    files = re.findall(r"```python\n# (\w+\.py): task = \"(\S+)\"\n(.*?)```", PAGE, re.S)
    assert [file for file, _, _ in files] == ["my_loss.py", "my_task.py"]
    for file, _, source in files:
        (tmp_path / file).write_text(source)
    (tmp_path / "dp_gossip.py").write_text((METHODS / "dp_gossip.py").read_text())
    hinge = {"task": files[0][1], "data": ROWS, "algorithm": {"name": "pp-admm", "eta": 1.0}, "rounds": 10}
    assert run(world(folder=tmp_path, **hinge)).summary["accuracy"]["test_error"] < 0.25
    robust = world(LINE, tmp_path, task=files[1][1], metric=["my_task.py:Norm"])
    noisy = run(robust).summary
    assert noisy["test_error_is"] == "mean absolute error"
    assert noisy["measures"]["Norm"] > 0.1
    admm = {"algorithm": {"name": "admm", "eta": 0.1}, "privacy": {"calibration": "none"}}
    plain = run(world(LINE, tmp_path, task=files[1][1], rounds=100, **admm)).summary
    assert plain["accuracy"]["test_error"] < 0.1
    assert plain["accuracy"]["consensus"] < 1e-3


def test_the_table_of_the_page_is_what_the_tasks_say():
    for word, task in TASKS.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{word}`")).split(" | ")
        assert row[1] == task.labels
        assert set(row[5].rstrip(" |").split(", ")) == task.has


def test_a_run_of_another_task_is_shown_in_tables_pages_and_studies(tmp_path: Path):
    result = run(world(LINE, task="ridge", metric=["worst-error"]), tmp_path)
    plain = run(world("synthetic", data=ROWS))
    console = Console(width=300, file=io.StringIO(), record=True)
    console.print(run_table(result), compare_table([result, plain]), run_table(plain))
    shown = console.export_text()
    assert "root mean square error, mean over agents" in shown
    assert re.search(r"worst error .*0\.\d+", shown)
    assert re.search(r"time s\s+mean absolute error\s+worst error", shown)
    assert result.folder is not None
    page = run_page(read_run(result.folder))
    assert re.search(r'"test_error_is": ?"root mean square error"', page)
    assert "Worst error" in page
    row = run_row(
        {"key": "k", "seed": 1, "error": None, "final": True, "summary": result.summary, "scenario": {}, "code": ""}
    )
    assert row["error"] is None
    assert row["worst_error"] == result.summary["measures"]["worst_error"]
    assert not {"measures", "test_error_is"} & plain.summary.keys()


@pytest.mark.parametrize(("task", "source"), [("multinomial", BLOBS), ("ridge", LINE), ("neural", BLOBS)])
@pytest.mark.parametrize("canary", ["label-flip", "worst-case"])
def test_an_auditor_recovers_the_noise_of_every_task(task: str, source: str, canary: str):
    scenario = world(source, task=task, rounds=4)
    plan = {"runs": 60, "canary": canary}
    honest = audit(scenario, Audit.model_validate(plan))
    assert honest.conformance.broken_by == ()
    assert honest.conformance.f90 is not None, "there is noise to look at"
    lied = audit(scenario, Audit.model_validate(plan | {"lie": "half-noise"}))
    assert lied.verdict == Verdict.BROKEN_MECHANISM


@pytest.mark.parametrize("task", ["multinomial", "ridge", "neural"])
def test_live_agents_learn_what_simulated_ones_learn(task: str):
    base = {"data": ROWS, "task": task, "rounds": 6, "network": {"pacing": PATIENT}}
    scenario = world("synthetic", topology={"kind": "ring", "agents": 3}, **base)
    result, fleet = with_kills(scenario, [(1, 3)], tls=False)
    assert fleet.restarts == 1
    same_course(result, run(scenario))


def test_a_file_with_classes_is_learned_from_and_other_sources_know_their_labels(tmp_path: Path):
    rng = np.random.default_rng(1)
    rows = [(*(2.0 * np.eye(3)[k] + 0.5 * rng.standard_normal(3)), ["oak", "elm", "fir"][k]) for k in [0, 1, 2] * 60]
    (tmp_path / "trees.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    data = {"source": "trees.csv", "labels": "class", "bias": True}
    admm = {"algorithm": {"name": "admm", "eta": 0.1}, "privacy": {"calibration": "none"}}
    result = run(world(folder=tmp_path, task="multinomial", data=data, **admm))
    assert result.summary["accuracy"]["test_error"] < 0.1
    assert refusal(data={"source": "adult", "labels": "class"}) == (
        'data.labels = "class": adult knows what its labels are; only a file is told'
    )
