"""SQL on stored studies, and what a notebook shows of them."""

from __future__ import annotations

import pytest

import simnet
from simnet.errors import SimnetError
from simnet.studies.results import query
from tests.worlds import study_content


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    simnet.study(study_content(replicates=1), out, workers=1)
    simnet.study(study_content(name="<other>", replicates=1, grid={"topology.agents": [3, 290]}), out, workers=1)
    return out


def test_a_query_asks_one_study_or_all_of_them(results):
    one = query('select "algorithm.eta", messages from runs order by 1', results / "small")
    assert one.rows() == [(0.01, 24), (0.05, 24), (0.2, 24)]
    both = query("select study, count(*) as n, max(agents) as most from runs group by study order by study", results)
    assert both.rows() == [("<other>", 2, 3), ("small", 3, 4)]


def test_rounds_can_be_joined_with_their_runs(results):
    found = query(
        "select runs.run, max(rounds.wire_bytes) as sent, max(runs.wire_bytes) as total "
        "from runs join rounds on runs.key = rounds.key group by runs.run order by 1",
        results / "small",
    )
    assert found.height == 3
    assert found["sent"].equals(found["total"], check_names=False)


@pytest.mark.parametrize("sql", ["selec", "select nothing from runs", "select * from elsewhere", ""])
def test_a_query_that_cannot_be_answered_is_a_sentence(sql, results):
    with pytest.raises(SimnetError, match="query: "):
        query(sql, results)


def test_results_show_themselves_in_a_notebook(results):
    found = simnet.study(study_content(name="<other>", replicates=1, grid={"topology.agents": [3, 290]}), results)
    page = found._repr_html_()
    assert "&lt;other&gt;: 2 of 2 runs, 1 failed" in page
    assert "more agents than the 240 training rows" in page
    one = simnet.run(simnet.Scenario.of(study_content()["scenario"]))
    assert "accuracy.test_error" in one._repr_html_()


def test_a_run_has_the_same_kind_of_frame_as_a_study(results):
    found = simnet.study(study_content(replicates=1, grid={}), results)
    one = simnet.run(simnet.Scenario.of(study_content()["scenario"]).with_(seed=found.runs["seed"][0]))
    assert found.rounds.select(one.rounds.columns).equals(one.rounds)
    assert one.rounds["round"].to_list() == [1, 2, 3]
    assert one.agents["agent"].to_list() == [0, 1, 2, 3]


def test_a_difference_allows_for_what_changes_together(results):
    pace = [{"kind": "deadline", "period": 0.1}, {"kind": "barrier", "patience": 2.0}]
    found = simnet.study(study_content(name="paces", grid={"network.pacing": pace, "rounds": [1, 2]}), workers=1)
    changes = found.differences("network.pacing.kind", "deadline", "simulated")
    assert changes.select("network.pacing.kind", "rounds", "n").rows() == [("barrier", 1, 2), ("barrier", 2, 2)]
    assert changes["mean"].to_list() == pytest.approx([-0.1, -0.2])


def test_a_plot_has_a_line_per_setting_through_the_means(results):
    found = simnet.study(study_content(replicates=1), results)
    lines = found.plot(x="round", y="test_error").axes[0].lines
    assert len(lines) == 3
    expected = found.rounds.filter(run=1)["test_error"].to_list()
    assert list(lines[1].get_ydata()) == expected


def test_a_statement_without_a_table_is_refused(tmp_path):
    simnet.study(study_content(), tmp_path, workers=1)
    with pytest.raises(SimnetError, match=r"such as select \* from runs"):
        query("select *", tmp_path)
