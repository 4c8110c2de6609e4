"""A record that may be given away: what it must not hold, what it keeps, and what is refused."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections import Counter

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.build import build
from simnet.errors import LogError
from simnet.record import events, fitness, publication
from simnet.record.log import read
from simnet.record.publication import publish
from simnet.record.verify import replay, verify
from simnet.report.run_facts import read_run
from tests.worlds import ROWS

BASE = {
    "name": "kept",
    "rounds": 6,
    "data": ROWS,
    "topology": {"kind": "ring", "agents": 3},
    "algorithm": {"name": "ipp-admm", "eta": 0.5, "max_releases": 4},
    "network": {"link": {"loss": 0.1}},
    "privacy": {"epsilon": 3.0, "noise": "fresh"},
    "log": {"private": True},
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return run(Scenario.of(BASE), tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def given(kept, tmp_path_factory):
    return publish(kept.folder, tmp_path_factory.mktemp("published"))


def test_nothing_that_looks_at_rows_without_noise_is_given_away(kept, given):
    told = list(read(given))
    for _, _, event in told:
        assert not isinstance(event, events.SolveFinished)
        if isinstance(event, events.EvaluationDone):
            assert event.train_loss is event.objective is event.agent_train_loss is None
        if isinstance(event, events.SvtTested):
            assert event.query is None
    summary = json.loads((given / "summary.json").read_text())
    assert summary["accuracy"]["train_loss"] is summary["accuracy"]["objective"] is None
    assert summary["work"] == {"gradients": None, "work_seconds": None}
    assert summary["time"]["wall"] is None
    rows = (given / "agents.csv").read_text().splitlines()
    columns = rows[0].split(",")
    for row in rows[1:]:
        cells = dict(zip(columns, row.split(","), strict=True))
        assert cells["train_loss"] == cells["gradients"] == ""


def test_the_whole_runs_digest_is_no_oracle_in_it(kept, given):
    """A hash over a figure that can be guessed tells whether a guess is right."""
    for path in given.rglob("*"):
        assert kept.digest[:12].encode() not in path.read_bytes()
    assert kept.digest[:12] not in str(given)
    raw = b"".join(path.read_bytes() for path in given.iterdir())
    for figure in kept.summary["accuracy"]["train_loss"], kept.summary["accuracy"]["objective"]:
        assert repr(figure).encode() not in raw


def test_releases_charges_messages_and_test_errors_stay(kept, given):
    def of(folder):
        return [(t, event) for _, t, event in read(folder)]

    whole, public = of(kept.folder), of(given)
    dropped = {events.RunStarted, events.SolveFinished, events.EvaluationDone, events.SvtTested, events.RunFinished}
    assert [each for each in whole if type(each[1]) not in dropped] == [
        each for each in public if type(each[1]) not in dropped
    ]
    counts = [Counter(type(event) for _, event in each) for each in (whole, public)]
    assert counts[0] - counts[1] == {events.SolveFinished: 18}
    summary = json.loads((given / "summary.json").read_text())
    for name in ("test_error", "consensus", "dual_drift"):
        assert summary["accuracy"][name] == kept.summary["accuracy"][name]
    for name in ("proven_epsilon", "claimed_epsilon"):
        assert summary["privacy"][name] == kept.summary["privacy"][name]
    assert summary["communication"] == kept.summary["communication"]


def test_it_is_a_sealed_record_of_its_own(given):
    found = verify(given, ALIGNED)
    assert found.findings == ()
    assert found.digest[:12] == given.name
    assert replay(given).findings == ()
    start = next(event for _, _, event in read(given))
    assert start.published
    assert start.fit == fitness.PUBLISHED
    assert not start.private
    Scenario.of(tomllib.loads((given / "scenario.toml").read_text()))


def test_every_kind_of_event_has_been_thought_about():
    assert set(publication._MADE_OF) == set(events.EVENTS.values()) - {events.RunStarted}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"privacy.noise": "seed"}, "the noise is drawn from the seed"),
        ({"algorithm": {"name": "admm"}}, "no noise is added"),
        ({"compute.per_gradient": 0.001}, "depends on the data"),
        ({"privacy.epsilon": 30.0}, "what float64 adds"),
        ({"data.partition": "skewed"}, "one label moves other rows"),
        ({"algorithm.test": "shared-noise", "privacy.calibration": "paper"}, "no finite ε is proven"),
    ],
)
def test_what_cannot_be_given_away_is_refused_unless_its_rows_are_public(tmp_path, changes, complaint):
    folder = run(Scenario.of(BASE).with_(**changes), tmp_path / "runs").folder
    with pytest.raises(LogError, match=complaint):
        publish(folder, tmp_path / "published")
    assert not (tmp_path / "published").exists()
    public = publish(folder, tmp_path / "published", public_rows=True)
    assert next(event for _, _, event in read(public)).fit == fitness.OF_PUBLIC_ROWS
    assert verify(public, ALIGNED).findings == ()
    assert replay(public).findings == ()


def test_rows_that_scale_each_other_are_not_given_away(tmp_path):
    """One row with the largest value of a column changes every other row, and ε counts with one row's change."""
    rng = np.random.default_rng(1)
    rows = np.round(rng.uniform(-0.5, 0.5, (90, 3)), 3)
    labels = np.where(rng.random(90) < 0.5, 1, -1)
    parts = {}
    for scale in (None, "rows"):
        for secret in (0.5, 40.0):
            rows[0, 1] = secret
            table = np.column_stack([rows, labels])
            np.savetxt(tmp_path / "own.csv", table, fmt="%g", delimiter=",", header="a,b,c,label", comments="")
            data = {"source": str(tmp_path / "own.csv")} | ({"scale": scale} if scale else {})
            scenario = Scenario.of(BASE | {"data": data, "privacy": {"epsilon": 9.0, "noise": "fresh"}})
            dealt = [part.X for part in build(scenario).learning.parts]
            parts[scale, secret] = np.vstack([each.toarray() if hasattr(each, "toarray") else each for each in dealt])
        folder = run(scenario, tmp_path / "runs").folder
        if scale is None:
            with pytest.raises(LogError, match="a row that holds one changes all others"):
                publish(folder, tmp_path / "published")
        else:
            publish(folder, tmp_path / "published")
    moved = {c: int(np.count_nonzero((parts[c, 0.5] != parts[c, 40.0]).any(axis=1))) for c in (None, "rows")}
    assert moved[None] > 60
    assert moved["rows"] <= 1


@pytest.mark.parametrize("log", [{"kinds": ["release", "broadcast"]}, {"sample": 0.4}])
def test_a_record_without_all_charges_is_not_given_away_as_one_that_cost_nothing(tmp_path, log):
    folder = run(Scenario.of(BASE).with_(log=log), tmp_path / "runs").folder
    with pytest.raises(LogError, match="thinned"):
        publish(folder, tmp_path / "published", public_rows=True)


def test_fixed_times_make_a_run_fit(tmp_path):
    paced = {"kind": "deadline", "period": 1.0}
    changes = {"compute.per_gradient": 0.001, "network.pacing": paced}
    folder = run(Scenario.of(BASE).with_(**changes), tmp_path / "runs").folder
    times = {t % 1.0 for _, t, event in read(publish(folder, tmp_path / "published")) if "message" in event.kind}
    assert times == {0.5}


def test_a_published_record_is_not_published_again(given, tmp_path):
    with pytest.raises(LogError, match="published record already"):
        publish(given, tmp_path)


def test_labels_that_deal_the_rows_are_told_in_the_summary(tmp_path):
    skewed = run(Scenario.of(BASE).with_(**{"data.partition": "skewed"}))
    assert skewed.summary["privacy"]["caveats"] == [fitness.LABELS_DEAL]
    assert run(Scenario.of(BASE)).summary["privacy"]["caveats"] == []


def test_yardsticks_look_at_all_rows_so_a_published_record_has_none(kept, given, tmp_path):
    """The optimum of all rows is computed without noise: who knows all rows but one can try that one's values."""
    assert kept.summary["yardsticks"]["optimum"] is not None
    assert not any(b"yardsticks" in path.read_bytes() for path in given.iterdir())
    smuggled = tmp_path / "smuggled"
    shutil.copytree(given, smuggled)
    summary = json.loads((given / "summary.json").read_text()) | {"yardsticks": kept.summary["yardsticks"]}
    (smuggled / "summary.json").write_text(json.dumps(summary))
    (finding,) = verify(smuggled, ALIGNED).findings
    assert "a published record has none" in finding
    assert "yardsticks" not in read_run(smuggled).summary
