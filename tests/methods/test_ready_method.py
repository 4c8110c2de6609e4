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
from tests.methods.noisy_descent import NoisyDescent, running
from tests.worlds import audited_world, world

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer")


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(("lie", "verdict"), [(None, "holds"), ("half-noise", "broken (mechanism)")])
def test_its_audit_needs_one_line(noise, lie, verdict):
    scenario, plan = audited_world(audit={"runs": 40, "evidence": "rounds"} | ({"lie": lie} if lie else {}))
    found = audit(running(scenario, NoisyDescent(loss="smoothed-hinge", noise=noise)), plan)
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
    assert found.rounds[-1]["declared_epsilon"] == privacy["declared_epsilon"]
    assert {row["declared_epsilon"] for row in found.agents} == {privacy["declared_epsilon"]}
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


def test_compare_has_the_column_only_if_somebody_declares_something():
    plain = run(world())
    declares = run(running(world(privacy={"calibration": "none"}), NoisyDescent(charges="declared")))
    assert "declared_epsilon" not in plain.summary["privacy"]
    assert "declared_epsilon" not in plain.rounds[0]
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
