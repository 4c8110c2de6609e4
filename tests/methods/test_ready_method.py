"""A method by a ready plan alone: it is run, audited honest and lying, declared and told in every table."""

from __future__ import annotations

import json

import pytest

from simnet import run
from simnet.agent.pacing import ALIGNED
from simnet.audit import audit
from simnet.build import build
from simnet.cli.explain import explain
from simnet.cli.terminal import compare_table, run_table
from simnet.errors import ScenarioError
from simnet.privacy.ledger import Charge
from simnet.privacy.ready_plans import ReadyPlan
from simnet.record.verify import replay, verify
from simnet.report import report
from simnet.studies.frames import rounds_frame, runs_frame
from simnet.studies.results import StudyResult
from tests.methods.noisy_descent import GatedDescent, NoisyDescent, PerturbedSolve, SampledDescent, running
from tests.worlds import audited_world, unlawful, world

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer")


METHODS = {
    "gaussian": NoisyDescent(loss="smoothed-hinge"),
    "laplace": NoisyDescent(loss="smoothed-hinge", noise="laplace"),
    "sampled": SampledDescent(loss="smoothed-hinge"),
    "gated": GatedDescent(loss="smoothed-hinge"),
    "objective": PerturbedSolve(loss="smoothed-hinge"),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_ready_plan_carries_a_method_within_its_budget(method):
    found = run(running(world(privacy={"epsilon": 3.0}), METHODS[method]))
    assert unlawful(found) == []
    assert found.summary["privacy"]["proven_epsilon"] == pytest.approx(3.0, abs=1e-2)
    assert found.summary["privacy"]["claimed_epsilon"] is None
    assert found.summary["skips_by_reason"]["budget"] == 0
    bare = run(running(world(privacy={"calibration": "none"}), METHODS[method]))
    assert unlawful(bare) == []
    assert bare.summary["privacy"]["proven_epsilon"] is None
    assert bare.summary["accuracy"]["test_error"] < 0.3


def test_a_gate_lets_as_many_releases_pass_as_were_paid_for():
    found = run(running(world(privacy={"epsilon": 50.0}, rounds=40), METHODS["gated"]))
    assert found.summary["privacy"]["releases_max"] == 5
    assert found.summary["skips_by_reason"]["exhausted"] > 0
    assert unlawful(found) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("lie", "verdict"), [(None, "holds"), ("half-noise", "broken (mechanism)")])
def test_its_audit_needs_one_line(method, lie, verdict):
    scenario, plan = audited_world(audit={"runs": 40, "evidence": "rounds"} | ({"lie": lie} if lie else {}))
    found = audit(running(scenario, METHODS[method]), plan)
    assert found.verdict == verdict
    assert found.promise.proven == pytest.approx(2.0, abs=1e-3)
    assert found.promise.claimed is None
    assert (lie is None) == (found.conformance.broken_by == ())


def test_a_declared_price_has_a_column_of_its_own_wherever_there_are_two(tmp_path):
    declares = running(world(privacy={"calibration": "none"}), NoisyDescent(charges="declared"))
    found = run(declares, tmp_path)
    privacy = found.summary["privacy"]
    assert (privacy["proven_epsilon"], privacy["claimed_epsilon"]) == (None, None)
    # Twelve rounds of 0.01 each, by the sharper of two compositions.
    assert 0.0 < privacy["declared_epsilon"] <= 0.12
    assert found.rounds["declared_epsilon"][-1] == privacy["declared_epsilon"]
    assert set(found.agents["declared_epsilon"]) == {privacy["declared_epsilon"]}
    folder = found.folder
    assert replay(folder).findings == ()
    assert verify(folder, ALIGNED).findings == ()
    assert verify(folder, ALIGNED).privacy.declared_epsilon == privacy["declared_epsilon"]
    shown = [str(cell) for column in run_table(found).columns for cell in column.cells]
    assert "ε declared" in shown
    page = report(folder).read_text(encoding="utf-8")
    assert "ε declared" in page
    assert '"declared_epsilon":[' in page
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary["privacy"]["declared_epsilon"] = 0.001
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert any("declared_epsilon" in finding for finding in verify(folder, ALIGNED).findings)


def test_an_audit_holds_a_method_to_what_its_author_declares():
    scenario, plan = audited_world(audit={"runs": 60, "evidence": "rounds"}, privacy__calibration="none")
    found = audit(running(scenario, NoisyDescent(loss="smoothed-hinge", charges="declared")), plan)
    assert found.promise.kept_by == "declared"
    assert 0.0 < found.summary()["declared_epsilon"] <= 0.04
    assert found.bound.epsilon > 1.0
    assert found.broken


def test_compare_has_the_column_only_if_somebody_declares_something():
    plain = run(world())
    declares = run(running(world(privacy={"calibration": "none"}), NoisyDescent(charges="declared")))
    assert "declared_epsilon" not in plain.summary["privacy"]
    assert "declared_epsilon" not in plain.rounds.columns
    headings = [column.header for column in compare_table([plain, declares]).columns]
    assert headings[-1] == "ε declared"
    assert "ε declared" not in [column.header for column in compare_table([plain, plain]).columns]


class Declared(ReadyPlan):
    """A plan whose price is its author's word."""

    def charge(self, t: int) -> Charge:
        return Charge.of("declared-pure", {"epsilon": 0.01})

    @property
    def charges(self) -> tuple[Charge, ...]:
        return tuple(self.charge(t) for t in range(1, len(self.rounds) + 1))


def test_a_study_has_the_column_where_one_of_its_methods_declares_something():
    declares = running(world(privacy={"calibration": "none"}), NoisyDescent(charges="declared"))
    records = [
        {"key": key, "seed": 1, "error": None, "final": True, "scenario": {}, "code": ""}
        | {"summary": found.summary, "rounds": found.rounds.to_dicts()}
        for key, found in (("plain", run(world())), ("declares", run(declares)))
    ]
    plan = {"name": "small", "question": None, "fields": [], "together": [], "runs": []}
    plain, both = (StudyResult(None, plan, runs_frame(some)) for some in (records[:1], records))
    assert "declared_epsilon" not in plain.headlines
    assert both.headlines[-1] == "declared_epsilon"
    empty, told = both.runs["declared_epsilon"].to_list()
    assert (empty, told) == (None, records[1]["summary"]["privacy"]["declared_epsilon"])
    assert rounds_frame(records)["declared_epsilon"].null_count() == 12


def test_what_is_declared_is_refused_where_a_proof_is_asked_for():
    class Declares(NoisyDescent):
        def plan(self, privacy, size, rounds):
            found = super().plan(privacy.model_copy(update={"calibration": "proven"}), size, rounds)
            return Declared(found.noise, found.rounds)

    scenario = running(world(), Declares())
    with pytest.raises(ScenarioError, match=r"privacy\.calibration = 'proven': declared-pure is what noisy-descent"):
        build(scenario)
    told = explain(running(world(privacy={"calibration": "paper"}), Declares()))
    facts = next(facts for title, facts in told.items() if title.startswith("noise of an agent"))
    assert facts["ε proven"] == "no finite one"
    assert facts["ε declared"] == pytest.approx(0.12, rel=0.5)
