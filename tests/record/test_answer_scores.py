"""Was the skip right? From the log alone, and only a private one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.privacy.sparse_vector import answer_noise
from simnet.record.answer_scores import AnswerScores, auc
from simnet.record.events import PrivacySpent, SvtTested
from simnet.record.metrics import Metrics
from simnet.record.publication import publish
from simnet.record.verify import replay
from simnet.studies.frames import run_row
from tests.worlds import ROWS

BASE = {
    "rounds": 12,
    "data": ROWS,
    "topology": {"kind": "ring", "agents": 4},
    "algorithm": {"name": "ipp-admm", "eta": 0.05, "max_releases": 5, "threshold": 0.02},
    "privacy": {"epsilon": 20.0},
    "log": {"private": True},
}
few = st.lists(st.integers(0, 5), max_size=6)


@given(few, few)
def test_the_auc_is_the_share_of_pairs_in_the_right_order(above: list[int], below: list[int]) -> None:
    found = auc(np.array(above, dtype=float), np.array(below, dtype=float))
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in above for b in below]
    assert found == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_a_coin_scores_a_half_and_a_test_without_noise_is_always_right() -> None:
    coin, sure, rng = AnswerScores(3), AnswerScores(3), np.random.default_rng(3)
    for query in rng.normal(size=4000):
        coin.asked(SvtTested(0, 1, bool(rng.random() < 0.5), query))
        sure.asked(SvtTested(0, 1, bool(query >= 0.3), query))
    found = coin.summary(0.3)["tests"]
    assert found["auc"] == pytest.approx(0.5, abs=0.03)
    assert found["right_share"] == pytest.approx(0.5, abs=0.03)
    assert sure.summary(0.3)["tests"] | {"auc": 1.0, "right_share": 1.0} == sure.summary(0.3)["tests"]


def test_a_run_tells_its_answers_and_its_log_gives_them_again() -> None:
    result = run(Scenario.of(BASE))
    told = [event for _, _, event in result.events if isinstance(event, SvtTested)]
    spent = [event.parameters for _, _, event in result.events if isinstance(event, PrivacySpent)]
    found = result.summary["tests"]
    assert found["asked"] == len(told)
    assert found["passed"] == result.summary["communication"]["broadcasts"] == sum(event.passed for event in told)
    assert found["improvement"] == np.median([event.query for event in told])
    assert found["right_share"] == np.mean([(event.query >= 0.02) == event.passed for event in told])
    scales = [answer_noise(p["threshold_scale"], p["query_scale"]) for p in spent if "query_scale" in p]
    assert min(scales) <= found["noise"] <= max(scales)
    again = Metrics()
    for seq, t, event in result.events:
        again(seq, t, event)
    assert again.summary(result.digest, None)["tests"] == found
    stored = {"key": "", "seed": 1, "error": None, "final": True, "scenario": {}, "code": ""}
    row = run_row(stored | {"summary": result.summary})
    assert row["tests_auc"] == found["auc"]


def test_only_a_private_log_knows_whether_the_answers_were_right(tmp_path) -> None:
    whole = run(Scenario.of(BASE), tmp_path / "runs")
    silent = run(Scenario.of(BASE | {"log": {"private": False}}))
    public = {name: whole.summary["tests"][name] for name in ("asked", "passed", "pass_rate", "noise")}
    assert silent.summary["tests"] == public
    folder = publish(whole.folder, tmp_path / "published", public_rows=True)
    assert replay(folder).findings == ()
    raw = b"".join(path.read_bytes() for path in folder.iterdir())
    for name in ("improvement", "auc", "right_share"):
        assert name.encode() not in raw
    assert "tests" not in run(Scenario.of(BASE | {"algorithm": {"name": "pp-admm"}})).summary
