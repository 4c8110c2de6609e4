"""The methods under scenarios/methods: users' files, which go wherever a method of the house goes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

import simnet
from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.cli import app
from simnet.record import events
from simnet.record.laws import Laws
from simnet.simulate import control
from tests.live.test_fleet import same_course, with_kills
from tests.portions import thorough
from tests.worlds import PATIENT, ROWS, told, unlawful

HERE = Path(__file__).parents[2] / "scenarios" / "methods"
FILES = sorted(HERE.glob("*.py"))
METHODS = {
    "choco.py:Choco": {"entries": 2},
    "coca.py:Coca": {"eta": 0.05, "censoring": 0.02},
    "gradient_tracking.py:GradientTracking": {},
}


def content(method: str, **changes: object) -> dict[str, object]:
    base = {
        "name": "ours",
        "seed": 1,
        "rounds": 8,
        "data": ROWS,
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": {"name": method} | METHODS.get(method, {}),
    }
    return base | changes


def world(method: str, **changes: object) -> Scenario:
    return Scenario.of(content(method), folder=HERE).with_(**changes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_method_is_one_short_file_against_the_public_module_alone(path):
    source = path.read_text()
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)} | {
        name.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for name in node.names
    }
    assert {name for name in imported if name.startswith("simnet")} == {"simnet.extend"}
    assert len(source.splitlines()) < 80
    names = {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    for module in (HERE.parents[1] / "simnet").rglob("*.py"):
        assert not any(name in module.read_text() for name in names), "no file of simnet names a user's method"


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_lawful_and_the_same_every_time(method):
    first, again = run(world(method)), run(world(method))
    assert first.digest == again.digest
    assert unlawful(first) == []
    assert first.summary["accuracy"]["test_error"] < 0.3


@thorough
def test_all_of_them_come_to_where_plain_admm_comes():
    wanted = {"rounds": 1500, "algorithm": {"name": "admm", "eta": 0.3}}
    goal = run(Scenario.of(content("coca.py:Coca") | wanted, folder=HERE)).summary["accuracy"]["objective"]
    for method, settings in METHODS.items():
        if method.startswith("dp"):
            continue  # its noise keeps it away
        quick = {"eta": 0.3, "censoring": 0.1} if method.startswith("coca") else {"step": 1.0}
        algorithm = {"name": method} | settings | quick
        scenario = Scenario.of(content(method) | {"rounds": 1500, "algorithm": algorithm}, folder=HERE)
        found = run(scenario).summary["accuracy"]
        assert found["objective"] == pytest.approx(goal, rel=0.1), method
        assert found["consensus"] < 0.1, method


def test_a_method_has_reasons_for_silence_and_figures_of_its_own():
    scenario = world("coca.py:Coca", **{"algorithm.censoring": 1.0, "algorithm.decay": 0.8, "log.private": True})
    result = run(scenario)
    assert result.summary["skips_by_reason"]["censored"] > 0
    assert result.rounds["skips_censored"][-1] == result.summary["skips_by_reason"]["censored"]
    assert "skips_test" in result.rounds.columns
    moved = [e.notes["moved"] for _, _, e in result.events if isinstance(e, events.SolveFinished)]
    sent = told(result, events.ReleaseMade)
    assert len(moved) == 4 * 8 > len(sent)


def test_a_method_that_censors_is_held_against_one_that_never_does():
    scenario = world("coca.py:Coca", **{"algorithm.censoring": 1.0, "algorithm.decay": 0.8})
    result = run(scenario)
    found = control(scenario, result)
    assert (found.of, found.method) == ("coca.py:Coca", "admm")
    assert found.same_bytes["wire_bytes"] <= result.summary["communication"]["wire_bytes"]
    assert found.same_bytes["round"] < found.same_time["round"] == scenario.rounds


def test_noise_protects_nothing_where_silence_depends_on_the_data(tmp_path):
    noisy = (HERE / "dp_gossip.py").read_text()
    (tmp_path / "noisy.py").write_text(
        noisy.replace("    noise_amounts =", "    private_silences = ('shy',)\n    noise_amounts =")
    )
    scenario = Scenario.of(content("coca.py:Coca") | {"algorithm": {"name": "noisy.py:DpGossip"}}, folder=tmp_path)
    with pytest.raises(simnet.errors.ScenarioError, match=r"silent \(shy\) depends on its data"):
        run(scenario)


def test_a_method_that_cannot_lose_its_state_is_refused_where_a_fault_would_take_it():
    crash = [{"kind": "crash", "agent": 1, "at": 0.1, "duration": 0.1, "state": "lost"}]
    with pytest.raises(simnet.errors.ScenarioError, match="cannot begin again without its state"):
        Scenario.of(content("choco.py:Choco", fault=crash), folder=HERE)
    assert run(Scenario.of(content("coca.py:Coca", fault=crash), folder=HERE)).summary["accuracy"]["test_error"] < 0.5


@pytest.mark.parametrize("method", [*METHODS, "dp_gossip.py:DpGossip"])
def test_live_agents_run_it_too_and_survive_a_kill(method, tmp_path):
    scenario = world(method, **{"network.pacing": PATIENT, "rounds": 20})
    result, fleet = with_kills(scenario, [(1, 4)], tls=False)
    assert fleet.restarts == 1
    same_course(result, run(scenario))


@pytest.mark.parametrize("cluster", [None, "local"])
def test_a_sweep_runs_it_in_worker_processes_from_wherever(tmp_path, monkeypatch, cluster):
    if cluster is not None:
        pytest.importorskip("distributed")
    study = {
        "name": "ours",
        "replicates": 1,
        "scenario": content("coca.py:Coca") | {"algorithm": {"name": "admm", "eta": 0.05}},
        "grid": {"algorithm.name": ["admm", "coca.py:Coca"]},
    }
    (tmp_path / "coca.py").write_bytes((HERE / "coca.py").read_bytes())
    monkeypatch.chdir(tmp_path)
    here = simnet.study(study, workers=2, cluster=cluster)
    assert here.failures.height == 0
    assert here.runs["algorithm.name"].to_list() == ["admm", "coca.py:Coca"]


READERS = (
    ("log", "verify"),
    ("log", "replay"),
    ("log", "export"),
    ("report",),
)


def test_nothing_that_only_reads_a_record_loads_its_code(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    (tmp_path / "coca.py").write_bytes((HERE / "coca.py").read_bytes())
    folder = run(Scenario.of(content("coca.py:Coca"), folder=tmp_path), tmp_path / "runs").folder
    (tmp_path / "coca.py").write_text("raise SystemExit('somebody loaded me')")
    for name in [name for name in sys.modules if name.startswith("simnet_part_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)
    for command in READERS:
        done = CliRunner().invoke(app, [*command, str(folder)])
        assert done.exit_code == 0, (command, done.output, done.exception)
    assert not any(name.startswith("simnet_part_") for name in sys.modules)


def test_metropolis_weights_leave_something_for_the_agent_itself():
    scenario = world("choco.py:Choco", topology={"kind": "star", "agents": 4})
    assert scenario.topology.word == "star"
    from simnet.extend import AgentPlace, AgentSize

    place = AgentPlace(1, AgentSize(10, 2), 4, 8, {0: 3, 2: 1})
    assert place.weights == {0: 1 / 4, 2: 1 / 3}
    assert sum(place.weights.values()) < 1
    assert np.isclose(1 - sum(place.weights.values()), 5 / 12)


def test_laws_know_the_reasons_that_the_first_line_lists():
    result = run(world("coca.py:Coca", **{"algorithm.censoring": 2.0}))
    laws = Laws(ALIGNED)
    for seq, t, event in result.events:
        laws(seq, t, msgspec.structs.replace(event, silences={}) if isinstance(event, events.RunStarted) else event)
    assert any("reason that the first line does not list: censored" in sentence for sentence in laws.finish())


def test_noise_is_secret_by_whatever_name_a_method_draws_it(tmp_path):
    source = (HERE / "dp_gossip.py").read_text().replace('streams.generator("noise", ', 'streams.generator("mine", ')
    (tmp_path / "mine.py").write_text(source)
    ours = content("coca.py:Coca") | {"algorithm": {"name": "mine.py:DpGossip"}}

    def error(**privacy: object) -> float:
        found = run(Scenario.of(ours | {"privacy": privacy}, folder=tmp_path))
        return found.summary["accuracy"]["objective"]

    assert error() == error(), "from the seed it can be repeated"
    assert error(noise="fresh") != error(noise="fresh")
    assert error(noise_name="one") != error(noise_name="two")


def test_no_paper_claims_anything_of_a_method_that_is_not_its_own(tmp_path):
    source = (HERE / "dp_gossip.py").read_text()
    borrowed = """
    def charge_of(self, t):
        numbers = {"rows": 60.0, "gradient_bound": 1.0, "sigma": 1.0}
        return Charge.of("noisy-gradient", numbers)

    def price(self, t):"""
    source = source.replace("import Field", "import Charge, Field")
    source = source.replace("charges=(self.plan.charge(t),)", "charges=(self.charge_of(t),)")
    source = source.replace("\n    def absorb", borrowed + "\n        return (self.charge_of(t),)\n\n    def absorb")
    source = source.replace("charges=self.charges(t)", "charges=(self.charge_of(t),)")
    (tmp_path / "borrowed.py").write_text(source)
    named = {"name": "borrowed.py:DpGossip", "sigma": 1.0}
    result = run(Scenario.of(content("coca.py:Coca") | {"algorithm": named}, folder=tmp_path), tmp_path / "runs")
    charged = {event.mechanism for _, _, event in result.events if isinstance(event, events.PrivacySpent)}
    assert charged == {"noisy-gradient"}
    privacy = result.summary["privacy"]
    assert privacy["claimed_epsilon"] is None
    assert privacy["proven_epsilon"] is not None


def test_explain_shows_the_fields_of_a_method_as_it_shows_those_of_ours():
    from simnet.cli.explain import explain

    facts = explain(world("dp_gossip.py:DpGossip"))
    assert {"step": 2.0, "clip": 1.0, "regulariser": 1e-4}.items() <= facts["local problem"].items()
    noise = next(found for title, found in facts.items() if title.startswith("noise of an agent"))
    assert noise["B, domain"] == 1e4
