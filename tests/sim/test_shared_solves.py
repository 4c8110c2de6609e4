"""Large problems, solved by several processes: the run is the same to the last bit, and none of them is left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from weakref import ref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from simnet import Scenario, SimnetError, run, simulate
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.learning.batch_solver import BatchSolver
from simnet.learning.solver import Problem, Solver
from simnet.methods.peer import Proposal
from simnet.record.bus import Bus
from simnet.sim import shared_solves
from simnet.sim.shared_solves import SharedSolves
from simnet.sim.solve_batches import solve_all
from simnet.sim.workers import Worker
from simnet.simulate import peers_of, play
from tests.conftest import PROFILE
from tests.scenarios.test_digests import DIGESTS, SCENARIOS
from tests.sim.test_random_networks import scenarios
from tests.worlds import TICKS, world

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a run is forked on Linux alone")

ROWS = {"source": "synthetic", "rows": 2100, "train": 1800, "features": 15}
"""Three hundred rows of fifteen features for each of six agents: just too large for batches."""


def shared_world(**changes):
    return world(**{"data": ROWS, "network.pacing": TICKS, "rounds": 6} | changes)


@pytest.fixture
def asked(monkeypatch):
    """How many problems each worker of a run was given."""
    counts: Counter[Worker] = Counter()
    honest = Worker.ask

    def counted(self, request):
        counts[self] += 1
        honest(self, request)

    monkeypatch.setattr(Worker, "ask", counted)
    return counts


@pytest.fixture(autouse=True)
def _nobody_is_left_behind():
    yield
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize(
    "name", ["quickstart.toml", "quickstart.toml as admm", "quickstart.toml as m-admm", "quickstart.toml as pdml"]
)
def test_a_shipped_scenario_gives_the_same_events_with_several_workers(name, workers, asked):
    path, _, method = name.partition(" as ")
    scenario = Scenario.load(SCENARIOS / path)
    assert run(scenario.with_method(method) if method else scenario, workers=workers).digest in DIGESTS[name]
    assert len(asked) == workers - 1


@given(scenarios())
@settings(max_examples=200 if PROFILE == "explore" else 25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_network_lets_a_run_tell_how_many_workers_it_had(scenario):
    scenario = scenario.with_(data={"source": "synthetic", "rows": 1400, "train": 1200, "features": 15})
    alone, shared = told(scenario, 1), told(scenario, 2)
    assert shared == alone


def told(scenario: Scenario, workers: int) -> object:
    """All that a run tells, or the sentence that refuses it."""
    try:
        result = run(scenario, workers=workers)
    except ScenarioError as error:
        return str(error)
    return result.log, result.rounds.to_dicts(), result.agents.to_dicts()


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": {"name": "pp-admm", "eta": 0.05}, "privacy": {"epsilon": 10.0}},
        {"algorithm": {"name": "r-admm", "eta": 0.05}, "privacy": {"epsilon": 10.0}},
        {"network.pacing": TICKS | {"jitter": 0.03}},
        {"network.pacing": {"kind": "barrier", "patience": 1.0}, "network.link": {"latency": 0.01, "loss": 0.1}},
        {"compute": {"time": 0.0}},
        {"compute": {"time": 0.01, "per_gradient": 0.001}},
        {"fault": [{"kind": "crash", "agent": 2, "at": 0.11, "duration": 0.2, "state": "lost"}]},
        {"until": 0.31},
        {"log.private": True},
    ],
    ids=str,
)
def test_whatever_a_run_is_like_workers_change_nothing(changes, asked):
    scenario = shared_world(**changes)
    alone = run(scenario)
    assert not asked
    shared = run(scenario, workers=3)
    assert asked.total() > 3
    assert shared.log == alone.log
    assert shared.agents.equals(alone.agents)


LATER = {
    "network.pacing": TICKS | {"jitter": 0.03},
    "algorithm": {"name": "scaled-pp-admm", "eta": 0.05},
    "rounds": 10,
}


@pytest.mark.parametrize(("rounds", "forked"), [(2, False), (30_000, True)])
def test_only_a_run_that_is_long_takes_all_cores_unasked(rounds, forked, asked, monkeypatch):
    monkeypatch.setattr(simulate, "cores", lambda: 2)
    run(shared_world(rounds=rounds, until=0.3))
    assert bool(asked) == forked


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two"])
def test_a_number_of_workers_that_cannot_be_is_refused(workers):
    with pytest.raises(ScenarioError, match=f"workers = {workers!r}: a whole number of processes, 1 or more"):
        run(shared_world(), workers=workers)


def test_agents_that_begin_one_after_the_other_are_known_to_workers_from_their_second_problem_on(asked):
    """Two that have been met are enough to begin with; the others have come back a round later."""
    run(shared_world(**LATER), workers=2)
    assert len(asked) == 2  # one after the other: the second knows all


def test_small_problems_are_solved_in_batches_and_nothing_is_forked(asked):
    run(world(**{"network.pacing": TICKS}), workers=2)
    assert not asked


def test_one_large_problem_alone_is_not_shared(asked, monkeypatch):
    built = build(shared_world())
    few = {id(objective) for objective in built.training[1:]}
    monkeypatch.setattr(shared_solves, "large", lambda objective: id(objective) not in few)
    play(built, Bus(), workers=2)
    assert not asked


def test_a_problem_that_cannot_be_solved_is_told_in_the_same_words(asked):
    scenario = shared_world(algorithm={"name": "admm", "eta": 0.05, "tolerance": 1e-30})
    with pytest.raises(SimnetError) as alone:
        run(scenario)
    with pytest.raises(SimnetError) as shared:
        run(scenario, workers=2)
    assert asked
    assert str(shared.value) == str(alone.value)


def test_solvers_that_serve_once_are_not_kept(asked):
    objectives, shared, met = build(shared_world()).training, SharedSolves(2), []

    def work(objective):
        solver = Solver(objective)
        met.append(ref(solver))
        yield Problem(solver, np.full(15, 0.01), 1.0, np.zeros(15), 1e-6)
        return Proposal(None)

    for instant in range(4):
        for place, objective in enumerate(objectives):
            shared.begin(work(objective), instant, place)
        shared.all_have_begun()
        shared.settle()
    shared.close()
    assert asked.total() > 0
    assert sum(each() is not None for each in met) <= 2 * len(objectives)  # those that workers know, at most


FAILURES = [
    [[1e-6, 1e-30], [2e-30], [3e-30]],
    [[1e-6, 1e-30], [1e-6, 2e-30], [1e-6]],
    [[1e-6, "mine"], [2e-30]],
    [[1e-6, "mine"], [1e-6, 2e-30]],
    [[1e-6], [1e-6, "mine"], [1e-6, "yours"]],
]
"""Of each agent, the tolerances of its problems, and what it says in the end. None reaches 1e-30."""


@pytest.mark.parametrize("agents", FAILURES, ids=str)
def test_of_several_errors_that_one_is_told_which_is_met_first_without_sharing(agents):
    objectives = build(shared_world()).training

    def work(objective, story):
        solver = Solver(objective)
        for each in story:
            if isinstance(each, str):
                raise ValueError(each)
            yield Problem(solver, np.full(15, 0.01), 1.0, np.zeros(15), each)
        return Proposal(None)

    def works():
        return [work(objective, story) for objective, story in zip(objectives, agents, strict=False)]

    with pytest.raises((SimnetError, ValueError)) as alone:
        solve_all(works(), BatchSolver())
    for processes in (1, 2):
        shared = SharedSolves(processes)
        for place, each in enumerate(works()):
            shared.begin(each, 0, place)
        shared.all_have_begun()
        with pytest.raises(type(alone.value)) as caught:
            shared.settle()
        shared.close()
        assert str(caught.value) == str(alone.value)


def test_a_worker_that_dies_ends_the_run_with_a_sentence_and_no_folder(tmp_path):
    def kill(round, rounds):
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(SimnetError, match="a worker process of the run ended, killed by SIGKILL"):
        run(shared_world(), tmp_path, workers=2, progress=kill)
    assert not list(tmp_path.glob("*/summary.json"))


def test_control_c_in_the_middle_of_a_run_stops_its_workers(asked):
    def interrupt(round, rounds):
        if round == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(shared_world(), workers=3, progress=interrupt)
    assert asked


INTERRUPTED = """
import os, signal
from simnet import run
from tests.sim.test_shared_solves import shared_world
def interrupt(round, rounds):
    if round == 2:
        os.killpg(0, signal.SIGINT)  # as a terminal does
run(shared_world(), workers=3, progress=interrupt)
"""


def test_control_c_at_a_terminal_leaves_no_process_and_is_told_once():
    """Whoever is left would hold the other end of its output, and this would not return."""
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], stderr=subprocess.PIPE, text=True, timeout=120, start_new_session=True
    )
    assert run.stderr.rstrip().endswith("KeyboardInterrupt")
    assert "_serve" not in run.stderr  # no worker has a word to say


def test_whoever_asks_a_solver_itself_finds_what_a_worker_has_learned(monkeypatch):
    """The solvers of the run's own process are where they would be without workers, whoever solved last."""
    found = []
    for workers in (1, 2):
        built = build(shared_world())
        peers = peers_of(built)
        play(built, Bus(), peers, workers=workers)
        found.append([peer.minimise() for peer in peers])
    for alone, shared in zip(*found, strict=True):
        assert alone.theta.tobytes() == shared.theta.tobytes()
        assert alone[1:] == shared[1:]
