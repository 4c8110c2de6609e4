"""Where the agents stand on the page."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np

_SPRUNG = 60
"""Up to here distances on the page can follow distances in the graph exactly; beyond, springs are cheaper."""
_CIRCLED = 2_000
"""Beyond, no drawing shows anything but its outline."""


def layout(agents: int, edges: Sequence[tuple[int, int]], seed: int) -> list[tuple[float, float]]:
    """A place in the unit square for every agent, the same for the same graph and seed."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(agents))
    graph.add_edges_from(edges)
    if agents > _CIRCLED or len(edges) == agents * (agents - 1) // 2:
        found = nx.circular_layout(graph)
    elif agents <= _SPRUNG and nx.is_connected(graph):
        found = nx.kamada_kawai_layout(graph)
    else:
        found = nx.spring_layout(graph, seed=seed % 2**32, iterations=100)
    places = np.array([found[agent] for agent in range(agents)])
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high - low > 1e-9, high - low, 1.0)
    middle = np.where(high - low > 1e-9, 0.0, 0.5)
    return [(round(float(x), 4), round(float(y), 4)) for x, y in (places - low) / span + middle]
