"""Places on the page."""

from __future__ import annotations

import networkx as nx
import pytest

from simnet.report.run_page import layout


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
