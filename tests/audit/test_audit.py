"""Whole audits: honest methods keep their promise, and what is found is found again."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simnet import Scenario
from simnet.audit import Audit, audit, load_audit
from simnet.audit.bounds import lower_bound
from simnet.audit.lies import LIES
from simnet.audit.pair import pair
from simnet.audit.trials import listen, run_once, run_trials
from simnet.errors import ScenarioError
from simnet.methods import METHODS
from tests.portions import some, thorough
from tests.worlds import audited_world

SHIPPED = Path(__file__).parents[2] / "scenarios" / "audit"
LIARS = {"half-gradient-noise", "absorber", "redrawn-threshold", *LIES} - {"no-domain"}
QUICK = sorted(LIARS - {"redrawn-threshold", "faint-noise", "half-test-noise", "half-flips", "summed-formula"})
"""Liars that 20 runs per side are enough for."""


@pytest.mark.parametrize("method", [name for name in METHODS if name != "admm"])
def test_every_honest_method_stays_below_its_proven_epsilon(method):
    # At seed 1 half of its runs choose a score that is evidently no Gaussian.
    seed = 2 if method == "prox-rounds" else 1
    scenario, plan = audited_world(method, audit={"runs": 60, "evidence": "rounds"}, seed=seed)
    found = audit(scenario, plan)
    assert found.promise.epsilon == pytest.approx(2.0, abs=1e-3)
    assert found.verdict == "holds"
    assert found.gaussian is not None
    assert found.gaussian < 2.0


AS_IN_THE_STUDY = {
    "one-shot on rows as they are": ("one-shot", {"algorithm__scaled": False}),
    "mr-admm": ("r-admm", {"algorithm__agent_eta": [0.15, 0.3, 0.6], "algorithm__dual_step": 0.3}),
    "gossip with noise that cancels": ("gossip", {"algorithm__pair_sigma": 1.0}),
    "four models": ("prox-rounds", {"algorithm__solves": 4, "rounds": 10}),
}
"""Ways in which the study of the frontier uses methods, but for their defaults."""


@pytest.mark.parametrize("used", some(AS_IN_THE_STUDY, 1))
def test_a_method_stays_below_its_proven_epsilon_as_the_study_of_the_frontier_uses_it(used):
    method, fields = AS_IN_THE_STUDY[used]
    found = audit(*audited_world(method, audit={"runs": 60, "evidence": "rounds"}, **fields))
    assert found.promise.epsilon == pytest.approx(2.0, abs=1e-3)
    assert found.verdict == "holds"


def test_a_method_without_noise_gives_its_row_away_and_promises_nothing():
    found = audit(*audited_world("admm", audit={"runs": 60}))
    assert found.bound.epsilon > 1.3
    assert not found.broken
    assert found.verdict == "nothing is promised"


def test_the_scores_come_out_the_same_whatever_the_number_of_workers():
    scenario, plan = audited_world(audit={"runs": 60})
    alone, together = run_trials(scenario, plan, 1), run_trials(scenario, plan, 2)
    assert np.array_equal(alone.first, together.first)
    assert np.array_equal(alone.second, together.second)
    assert alone.charges == together.charges


def test_progress_counts_the_runs_of_both_sides():
    told = []
    scenario, plan = audited_world(audit={"runs": 60})
    run_trials(scenario, plan, 1, lambda done, total: told.append((done, total)))
    assert told[-1] == (120, 120)
    assert told == sorted(told)


def test_an_eavesdropper_on_one_link_learns_no_more_than_one_on_all():
    scenario, everywhere = audited_world(audit={"runs": 80})
    few = everywhere.model_copy(update={"links": [(0, 1)]})
    all_links, one_link = (run_trials(scenario, plan, 1) for plan in (everywhere, few))

    def distance(trials):
        column = trials.names.index("likelihood")
        first, second = trials.first[:, column], trials.second[:, column]
        return (first.mean() - second.mean()) / np.sqrt((first.var() + second.var()) / 2)

    assert distance(one_link) < distance(all_links)


def test_the_tests_alone_are_held_against_what_the_test_alone_promises():
    scenario, plan = audited_world(
        "ipp-admm",
        audit={"evidence": "tests", "runs": 20},
        privacy__calibration="paper",
        algorithm__max_releases=1,
        algorithm__threshold_noise="redrawn",
    )
    found = audit(scenario, plan)
    test = pair(scenario, plan).worlds[0].calibration.plans[0].test
    assert found.promise.claimed == pytest.approx(test.epsilon1 + test.epsilon2)
    assert found.trials.names == ("tests",)


def test_the_score_of_the_tests_depends_on_the_length_of_the_silence_alone():
    # The driver holds the problem still, so every round asks the same question whatever the noise.
    scenario, plan = load_audit(SHIPPED / "redrawn-threshold.toml")
    worlds, seen = pair(scenario, plan), {}
    for seed in range(40):
        heard = listen(worlds, seed % 2, seed)
        silence = (len(heard.rounds), heard.releases)
        score = run_once(worlds, seed % 2, seed).scores["tests"]
        assert seen.setdefault(silence, score) == pytest.approx(score, abs=1e-6)
    lengths = [rounds for rounds, _ in sorted(seen)]
    scores = [seen[silence] for silence in sorted(seen)]
    assert len(lengths) > 5
    assert scores == sorted(scores, reverse=True)


def test_the_summary_says_what_was_counted(tmp_path):
    scenario, plan = audited_world(audit={"runs": 60})
    found = audit(scenario, plan)
    folder = found.store(tmp_path)
    assert {path.name for path in folder.iterdir()} == {"audit.json", "audit.png", "scores.csv", "scenario.toml"}
    summary = json.loads((folder / "audit.json").read_text())
    assert summary == found.summary()
    with (folder / "scores.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    tables = [
        np.array([[float(row[name]) for name in found.trials.names] for row in rows if row["data"] == side])
        for side in ("1", "2")
    ]
    assert lower_bound(*tables, scenario.privacy.delta, 0.975).epsilon == pytest.approx(found.bound.epsilon)
    stored, attack = load_audit(folder / "scenario.toml")
    assert (stored.resolved(), attack) == (scenario.resolved(), plan)
    assert found.store(tmp_path) == folder


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_audits_load_and_only_liars_lie(path):
    scenario, plan = load_audit(path)
    redrawn = getattr(scenario.algorithm, "threshold_noise", "once") == "redrawn"
    assert (plan.lie is not None or redrawn) == (path.stem in LIARS)
    pair(scenario, plan)


def test_every_lie_is_shipped():
    told = {load_audit(path)[1].lie for path in SHIPPED.glob("*.toml")}
    assert told == {None, *LIES}


@pytest.mark.parametrize("name", QUICK)
def test_twenty_runs_per_side_are_enough_to_catch_a_shipped_liar(name):
    found = audit(*load_audit(SHIPPED / f"{name}.toml", {"audit.runs": 20}))
    assert found.verdict == "broken (mechanism)"
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("half-flips", 200),
        pytest.param("half-test-noise", 200, marks=thorough),
        pytest.param("faint-noise", 600, marks=thorough),
    ],
)
def test_liars_whose_lie_is_small_take_more_runs(name, runs):
    assert audit(*load_audit(SHIPPED / f"{name}.toml", {"audit.runs": runs})).verdict == "broken (mechanism)"


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SHIPPED.glob("honest*.toml")) if path.stem != "honest-absorber"],
    ids=lambda p: p.stem,
)
def test_shipped_honest_scenarios_pass_twenty_runs_per_side(path):
    found = audit(*load_audit(path, {"audit.runs": 20}))
    assert found.conformance.broken_by == ()
    # Forty labels say too little about how often labels are flipped.
    assert found.verdict == ("inconclusive" if path.stem == "honest-pdml-labels" else "holds")


@pytest.mark.parametrize(("name", "verdict"), [("honest-r-admm", "holds"), ("true-gradient", "broken (mechanism)")])
def test_r_admm_keeps_its_promise_with_penalties_of_the_agents_own_and_its_liar_is_caught(name, verdict):
    own = {"agent_eta": [0.3, 0.5], "agent_growth": [1.2, 0.9], "dual_step": 0.25}
    changes = {"audit.runs": 20} | {f"algorithm.{field}": value for field, value in own.items()}
    assert audit(*load_audit(SHIPPED / f"{name}.toml", changes)).verdict == verdict


@pytest.mark.parametrize("name", ["honest-m-admm", "honest-r-admm"])
def test_an_agent_with_a_noise_of_its_own_keeps_the_promise_of_that_noise(name):
    """The victim has the one or the other α_i: whoever has less noise is promised less, whatever its neighbour has."""
    promised = []
    for rates in ([60.0, 200.0], [200.0, 60.0]):
        changes = {"audit.runs": 20, "algorithm.agent_noise_rate": rates, "algorithm.agent_noise_growth": [1.1, 0.9]}
        found = audit(*load_audit(SHIPPED / f"{name}.toml", changes))
        assert found.conformance.broken_by == ()
        assert found.verdict == "holds"
        promised.append(found.promise.epsilon)
    assert promised[1] > 3 * promised[0]


def test_an_agent_that_refuses_what_rounding_cannot_bear_keeps_its_promise_beside_an_absorber():
    assert audit(*load_audit(SHIPPED / "honest-absorber.toml", {"audit.runs": 20})).verdict == "holds"


def test_four_runs_per_side_prove_nothing():
    found = audit(*load_audit(SHIPPED / "honest.toml", {"audit.runs": 4}))
    assert found.verdict == "inconclusive"
    assert found.exit_code == 3
    assert not found.broken
    assert found.summary()["f90"] < 0.8


@thorough
def test_the_reuse_of_noise_shows_in_epsilon_too_where_the_neighbour_alternates():
    changes = {"audit.runs": 300, "privacy.epsilon": 2.0}
    steady = audit(*load_audit(SHIPPED / "late-reuse.toml", changes | {"audit.canary": "adversarial"}))
    alternating = audit(*load_audit(SHIPPED / "late-reuse.toml", changes))
    assert alternating.score == "closest pair"
    assert alternating.bound.epsilon > 2.0
    assert alternating.bound.epsilon > steady.bound.epsilon + 1.0


def test_a_state_that_is_lost_or_a_coarse_codec_leaves_the_auditor_nothing_to_say():
    crash = [{"kind": "crash", "agent": 1, "at": 0.3, "duration": 0.3, "state": "lost"}]
    slow = {"pacing": {"kind": "deadline", "period": 0.2}}
    for changes in ({"fault": crash, "network": slow}, {"network__codec": "top-k"}):
        found = audit(*audited_world(audit={"runs": 20, "victim": 1}, algorithm__duals="healing", **changes))
        assert found.verdict == "inconclusive"
        assert found.conformance.f90 is None


def test_work_that_takes_time_by_its_gradients_is_not_taken_for_a_leak_of_this_audit():
    changes = {"network": {"pacing": {"kind": "deadline", "period": 0.2}}, "compute": {"per_gradient": 1e-3}}
    assert audit(*audited_world(audit={"runs": 20}, **changes)).verdict == "holds"


def test_a_file_with_a_lie_does_not_run():
    with pytest.raises(ScenarioError, match="audit: only `simnet audit` reads this section"):
        Scenario.load(SHIPPED / "reused-noise.toml")


def test_a_mistake_in_the_audit_section_is_a_sentence():
    with pytest.raises(ScenarioError, match=r"audit.canary = \"canary\": choose one of label-flip"):
        audited_world(audit={"canary": "canary"})
    with pytest.raises(ScenarioError, match=r"audit\.rnus"):
        audited_world(audit={"rnus": 3})


def test_the_command_line_prints_json_and_exits_with_1_when_the_promise_is_broken(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from simnet.cli import main; main()",
        "audit",
        str(SHIPPED / "true-gradient.toml"),
    ]
    command += [
        "--runs",
        "60",
        "--json",
        "--workers",
        "1",
        "--out",
        str(tmp_path),
        "--set",
        "rounds=2",
        "--set",
        "privacy.epsilon=1.5",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.stderr == ""
    assert done.returncode == 1
    assert json.loads(done.stdout)["broken"]


@pytest.mark.parametrize("method", ["pp-admm", "ipp-admm", "m-admm", "pvp"])
def test_a_method_told_to_add_no_noise_is_audited_like_one_that_has_none(method):
    found = audit(*audited_world(method, audit={"runs": 40}, privacy__calibration="none", algorithm__tolerance=1e-8))
    assert found.bound.epsilon > 1.0
    assert found.verdict == "nothing is promised"


def test_a_label_has_its_local_epsilon_against_whoever_hears_the_reports():
    scenario, plan = audited_world("pdml", audit={"runs": 400}, rounds=1, algorithm__label_epsilon=1.5)
    found = audit(scenario, plan)
    assert (found.promise.claimed, found.promise.proven) == (1.5, 1.5)
    assert found.score == "reports"
    assert 0.9 < found.bound.epsilon < 1.5
    scores = np.unique(np.round(found.trials.first[:, found.bound.column], 12))
    assert scores == pytest.approx([-1.5, 1.5])


def test_who_hears_an_upload_to_a_trusted_hub_is_promised_nothing_and_needs_nothing_else():
    scenario, plan = audited_world("dp-admm", audit={"runs": 40, "victim": 1}, rounds=1)
    everything, rounds = audit(scenario, plan), audit(scenario, plan.model_copy(update={"evidence": "rounds"}))
    assert everything.score == "reports"
    assert everything.bound.epsilon > 1.0
    assert everything.verdict == "nothing is promised"
    assert rounds.verdict == "holds"
    assert rounds.promise.proven == pytest.approx(2.0, abs=1e-3)


def test_the_hubs_own_rows_never_travel():
    scenario, plan = audited_world("dp-admm", audit={"runs": 20, "victim": 0}, rounds=1)
    found = audit(scenario, plan)
    assert "reports" not in found.trials.names
    assert found.verdict == "holds"


def test_the_documentation_lists_every_field_of_the_section_with_its_meaning():
    text = (SHIPPED.parents[1] / "docs" / "audit.md").read_text(encoding="utf-8")
    for name, field in Audit.model_fields.items():
        assert f"| `{name}` |" in text
        assert f"| {field.description} |" in text


def test_the_documentation_lists_every_lie_with_its_meaning():
    text = (SHIPPED.parents[1] / "docs" / "audit.md").read_text(encoding="utf-8")
    for name, lie in LIES.items():
        assert f"| `{name}` | {lie.meaning} |" in text
