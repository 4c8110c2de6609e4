"""Places on the page, and what its cards tell."""

from __future__ import annotations

import networkx as nx
import pytest

from simnet import run
from simnet.record.publication import publish
from simnet.report.run_facts import read_run
from simnet.report.run_page import layout, run_page
from tests.worlds import world


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(2),
        nx.cycle_graph(7),
        nx.complete_graph(9),
        nx.star_graph(70),
        nx.empty_graph(1),
        nx.empty_graph(4),
    ],
)
def test_all_agents_stand_in_the_unit_square_in_places_of_their_own(graph):
    places = layout(len(graph), list(graph.edges), seed=3)
    assert len(set(places)) == len(graph)
    assert all(0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 for x, y in places)
    assert places == layout(len(graph), list(graph.edges), seed=3)


def test_of_an_underlay_the_busiest_link_has_a_card(tmp_path):
    slow = {"graph": {"kind": "star", "agents": 6}, "link": {"bandwidth": 1e5}}
    folder = run(world(**{"network.underlay": slow}), tmp_path).folder
    assert folder is not None
    page = run_page(read_run(folder))
    assert "Busiest link" in page
    assert "routes over it:" in page


def test_a_test_error_stands_beside_its_yardsticks(tmp_path):
    folder = run(world(), tmp_path).folder
    assert folder is not None
    page = run_page(read_run(folder))
    assert "Constant answer" in page
    assert "of all rows without privacy" in page
    assert "Constant answer" not in run_page(read_run(folder / "events.jsonl.zst"))


def test_a_published_record_says_what_it_is_fit_for_and_that_nobody_can_repeat_it(tmp_path):
    kept = run(world(**{"algorithm": {"name": "pp-admm", "eta": 0.5}, "privacy.noise": "fresh"}), tmp_path / "runs")
    page = run_page(read_run(publish(kept.folder, tmp_path / "published")))
    assert "This record is fit for publication" in page
    assert "nobody else can repeat the run" in page
    assert "Save the scenario below" not in page


def test_a_page_says_which_output_its_test_error_is_of(tmp_path):
    chosen = [{"kind": "tail", "headline": True}, "last"]
    page = run_page(read_run(run(world(output=chosen), tmp_path).folder))
    assert "mean over agents, of tail" in page
    assert '"measures": ["test_error_last"]' in page or '"measures":["test_error_last"]' in page
