"""The page of two runs, before a browser opens it."""

from __future__ import annotations

import pytest

from simnet import SimnetError, run
from simnet.record.fitness import LABELS_DEAL
from simnet.report import report
from tests.called import called
from tests.worlds import TICKS, world


@pytest.fixture
def runs(tmp_path):
    there = world(**{"network.pacing": TICKS, "rounds": 3})
    return [run(each, tmp_path).folder for each in (there, there.with_(seed=2))]


def test_two_runs_of_one_method_are_told_apart_by_their_seeds(runs, tmp_path):
    page = report(runs[0], tmp_path / "both.html", beside=runs[1]).read_text(encoding="utf-8")
    assert "<figcaption>admm, seed 1</figcaption>" in page
    assert "<figcaption>admm, seed 2</figcaption>" in page


def test_it_says_once_what_a_proven_epsilon_does_not_cover(tmp_path):
    private = {"algorithm": {"name": "pp-admm", "eta": 0.05}, "privacy.epsilon": 50.0, "data.partition": "skewed"}
    there = world(**private, **{"network.pacing": TICKS, "rounds": 3})
    first, second = (run(each, tmp_path).folder for each in (there, there.with_(seed=2)))
    page = report(first, tmp_path / "both.html", beside=second).read_text(encoding="utf-8")
    assert page.count(f"ε does not cover: {LABELS_DEAL}") == 1


def test_a_run_beside_itself_is_the_first_and_the_second(runs, tmp_path):
    page = report(runs[0], tmp_path / "both.html", beside=runs[0]).read_text(encoding="utf-8")
    assert "(first)</figcaption>" in page
    assert "(second)</figcaption>" in page


def test_the_command_writes_it_beside_the_report(runs):
    code, out, _ = called("report", str(runs[0]), "--beside", str(runs[1]))
    assert (code, out.strip()) == (0, f"wrote {runs[0] / 'pair.html'}")
    assert not (runs[0] / "report.html").exists()


def test_a_run_that_takes_no_time_has_no_clock_for_one_that_does(runs, tmp_path):
    still = run(world(rounds=3, compute={}, **{"network.pacing": "ideal"}), tmp_path).folder
    with pytest.raises(SimnetError, match="no clock can move both"):
        report(runs[0], beside=still)


def test_a_log_that_is_cut_makes_no_page(runs):
    log = next(runs[1].glob("events*"))
    log.write_bytes(log.read_bytes()[:-40])
    with pytest.raises(SimnetError):
        report(runs[0], beside=runs[1])
    assert not (runs[0] / "pair.html").exists()
