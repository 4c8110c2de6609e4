"""Who is connected with whom: graphs on agents 0 to N − 1, always connected, the same for the same stream.

Neighbours are listed in rising order, whatever the kind of graph, so that nothing depends on how it was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, comb, log, pi, sqrt
from pathlib import Path

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from simnet.errors import ScenarioError
from simnet.network.graph_files import read_graph

Edges = npt.NDArray[np.int64]

DRAWS = 100
"""How many graphs are drawn before a kind that is not connected for sure is given up."""


def build(
    kind: str,
    agents: int | None,
    rng: np.random.Generator,
    *,
    mean_degree: float | None = None,
    degree: int | None = None,
    rewire: float | None = None,
    attach: int | None = None,
    radius: float | None = None,
    file: str | Path | None = None,
) -> nx.Graph[int]:
    """Draw the graph; a kind takes the settings that it needs and leaves the others alone.

    A file may tell by itself how many agents there are; all other kinds need `agents`.
    """
    if kind not in KINDS:
        raise ScenarioError(f"topology.kind = {kind!r}: must be one of {', '.join(KINDS)}")
    if agents is None and kind != "file":
        raise ScenarioError(f"topology.agents is missing: the kind {kind!r} needs it")
    if agents is not None and agents < 2:
        raise ScenarioError(f"topology.agents = {agents}: a network has at least 2 agents")
    given = {
        "mean_degree": mean_degree,
        "degree": degree,
        "rewire": rewire,
        "attach": attach,
        "radius": radius,
        "file": file,
    }
    draw, needs = KINDS[kind]
    for name in needs:
        if given[name] is None:
            raise ScenarioError(f"topology.{name} is missing: the kind {kind!r} needs it")
    return draw(agents, rng, *(given[name] for name in needs))


def _graph(agents: int, edges: Edges) -> nx.Graph[int]:
    """The graph of these edges, in one canonical order."""
    edges = np.sort(edges, axis=1)
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    graph: nx.Graph[int] = nx.Graph()
    # One object a number: a table finds an object without a look at it, and its equal only after one.
    numbers = list(range(agents))
    graph.add_nodes_from(numbers)
    graph.add_edges_from([(numbers[a], numbers[b]) for a, b in edges.tolist()])
    return graph


def _edges(pairs: Iterable[tuple[int, int]]) -> Edges:
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def _pieces(agents: int, edges: Edges) -> int:
    """Into how many parts the graph falls."""
    matrix = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(agents, agents))
    number, _ = connected_components(matrix, directed=False)
    return int(number)


def _connected(agents: int, draw: Callable[[], Edges], fault: str) -> Edges:
    """The first connected one of `DRAWS` graphs."""
    for _ in range(DRAWS):
        edges = draw()
        if _pieces(agents, edges) == 1:
            return edges
    raise ScenarioError(f"{fault} (none of {DRAWS} drawn graphs is connected)")


def _random(agents: int, rng: np.random.Generator, mean_degree: float) -> nx.Graph[int]:
    """A uniformly random tree and, uniformly among the other pairs, as many edges as the mean degree asks for."""
    number = round(agents * mean_degree / 2)
    if number < agents - 1:
        raise ScenarioError(
            f"topology.mean_degree = {mean_degree}: "
            f"{agents} agents need at least {2 * (agents - 1) / agents:.6g} to be connected"
        )
    if number > comb(agents, 2):
        raise ScenarioError(
            f"topology.mean_degree = {mean_degree}: {agents} agents have at most {agents - 1} neighbours each"
        )
    tree = _tree(agents, rng)
    taken = np.sort(_rank(tree))
    free = rng.choice(comb(agents, 2) - len(taken), size=number - len(taken), replace=False, shuffle=False)
    # The r-th free pair stands behind all taken ones that have at most r free pairs before them.
    further = free + np.searchsorted(taken - np.arange(len(taken)), free, side="right")
    return _graph(agents, np.concatenate((tree, _pair(further))))


def _tree(agents: int, rng: np.random.Generator) -> Edges:
    """A tree drawn uniformly from all agents^(agents − 2), by its Prüfer sequence."""
    sequence: list[int] = rng.integers(agents, size=agents - 2).tolist()
    tree: nx.Graph[int] = nx.from_prufer_sequence(sequence)
    return np.sort(_edges(tree.edges), axis=1)


def _rank(pairs: Edges) -> npt.NDArray[np.int64]:
    """The number of a pair u < v in the order (0,1), (0,2), (1,2), (0,3), ..."""
    u, v = pairs[:, 0], pairs[:, 1]
    return v * (v - 1) // 2 + u


def _pair(rank: npt.NDArray[np.int64]) -> Edges:
    """The pair with this number: the inverse of `_rank`."""
    v = ((1 + np.sqrt(8.0 * rank + 1)) / 2).astype(np.int64)
    # The square root of a large number may be rounded over the next integer, either way.
    v -= v * (v - 1) // 2 > rank
    v += v * (v + 1) // 2 <= rank
    return np.column_stack((rank - v * (v - 1) // 2, v))


def _ring(agents: int, rng: np.random.Generator) -> nx.Graph[int]:
    if agents < 3:
        raise ScenarioError(f"topology.agents = {agents}: a ring has at least 3 agents")
    here = np.arange(agents)
    return _graph(agents, np.column_stack((here, (here + 1) % agents)))


def _star(agents: int, rng: np.random.Generator) -> nx.Graph[int]:
    """Agent 0 in the middle."""
    return _graph(agents, np.column_stack((np.zeros(agents - 1, np.int64), np.arange(1, agents))))


def _complete(agents: int, rng: np.random.Generator) -> nx.Graph[int]:
    return _graph(agents, np.column_stack(np.triu_indices(agents, 1)))


def _grid(agents: int, rng: np.random.Generator) -> nx.Graph[int]:
    """Rows of ⌈√N⌉ agents, the last perhaps shorter, each linked with those beside, above and below."""
    width = ceil(sqrt(agents))
    here = np.arange(agents)
    beside = here[(here % width < width - 1) & (here < agents - 1)]
    above = here[: max(0, agents - width)]
    return _graph(
        agents, np.concatenate((np.column_stack((beside, beside + 1)), np.column_stack((above, above + width))))
    )


def _regular(agents: int, rng: np.random.Generator, degree: int) -> nx.Graph[int]:
    """Every agent has `degree` neighbours."""
    if not 0 < degree < agents:
        raise ScenarioError(f"topology.degree = {degree}: {agents} agents have 1 to {agents - 1} neighbours each")
    if agents * degree % 2:
        raise ScenarioError(
            f"topology.degree = {degree}: {agents} agents need an even degree, for every edge has two ends"
        )
    if degree == 1 and agents > 2:
        raise ScenarioError(f"topology.degree = 1: {agents} agents need at least 2 to be connected")
    if degree == 2:
        # The connected ones among these graphs are the circles, and a pairing gives few of them.
        order = rng.permutation(agents)
        return _graph(agents, np.column_stack((order, np.roll(order, -1))))
    if degree > (agents - 1) / 2:
        # Pairing gets stuck in a dense graph; the graph of the missing edges is as regular, and sparse.
        missing = _rank(_pairing(agents, rng, agents - 1 - degree))
        return _graph(agents, _pair(np.setdiff1d(np.arange(comb(agents, 2)), missing)))
    fault = f"topology.degree = {degree}: too small, choose a greater one"
    return _graph(agents, _connected(agents, lambda: _pairing(agents, rng, degree), fault))


def _pairing(agents: int, rng: np.random.Generator, degree: int) -> Edges:
    """A random graph of this degree at every agent, nearly uniform if large, by the pairing model (Bollobás 1980).

    Every agent has `degree` loose ends, which are tied in random pairs. Pairs that make a loop, or an edge for the
    second time, are untied with as many others, and their ends tied anew, until none is left.
    """
    pairs = np.sort(rng.permutation(np.repeat(np.arange(agents), degree)).reshape(-1, 2), axis=1)
    while True:
        bad = np.ones(len(pairs), np.bool_)
        bad[np.unique(pairs[:, 0] * agents + pairs[:, 1], return_index=True)[1]] = False
        bad |= pairs[:, 0] == pairs[:, 1]
        if not bad.any():
            return pairs
        bad[rng.integers(len(pairs), size=bad.sum())] = True
        pairs[bad] = np.sort(rng.permutation(pairs[bad].ravel()).reshape(-1, 2), axis=1)


def _small_world(agents: int, rng: np.random.Generator, degree: int, rewire: float) -> nx.Graph[int]:
    """A ring where each knows the `degree` nearest, each edge moved with chance `rewire` (Watts & Strogatz 1998)."""
    if degree < 2 or degree % 2 or degree >= agents:
        raise ScenarioError(
            f"topology.degree = {degree}: a small world of {agents} agents has an even degree from 2 to {agents - 1}"
        )
    if not 0 <= rewire <= 1:
        raise ScenarioError(f"topology.rewire = {rewire}: a probability lies between 0 and 1")

    def draw() -> Edges:
        graph: nx.Graph[int] = nx.watts_strogatz_graph(agents, degree, rewire, seed=int(rng.integers(2**32)))
        return _edges(graph.edges)

    fault = (
        f"topology.rewire = {rewire}: too much for topology.degree = {degree}, choose less of it or a greater degree"
    )
    return _graph(agents, _connected(agents, draw, fault))


def _scale_free(agents: int, rng: np.random.Generator, attach: int) -> nx.Graph[int]:
    """Each newcomer joins `attach` others, the well-connected more often (Barabási & Albert 1999)."""
    if not 0 < attach < agents:
        raise ScenarioError(
            f"topology.attach = {attach}: with {agents} agents a newcomer joins 1 to {agents - 1} others"
        )
    graph: nx.Graph[int] = nx.barabasi_albert_graph(agents, attach, seed=int(rng.integers(2**32)))
    return _graph(agents, _edges(graph.edges))


def _geometric(agents: int, rng: np.random.Generator, radius: float) -> nx.Graph[int]:
    """Agents at random places of the unit square, linked if at most `radius` apart; each has its `position`."""
    if not radius > 0:
        raise ScenarioError(f"topology.radius = {radius}: must be greater than 0 (the square has side 1)")
    positions = np.empty((agents, 2))

    def draw() -> Edges:
        positions[:] = rng.random((agents, 2))
        return KDTree(positions).query_pairs(radius, output_type="ndarray").astype(np.int64)

    # Connected with high probability if π·radius² exceeds ln N / N (Gupta & Kumar 1998).
    enough = sqrt(log(agents) / (pi * agents))
    edges = _connected(agents, draw, f"topology.radius = {radius}: {agents} agents need about {1.5 * enough:.2g}")
    graph = _graph(agents, edges)
    for agent, (x, y) in enumerate(positions.tolist()):
        graph.nodes[agent]["position"] = (x, y)
    return graph


def _file(agents: int | None, rng: np.random.Generator, file: str | Path) -> nx.Graph[int]:
    """A graph that somebody wrote down."""
    agents, edges, positions = read_graph(file, agents)
    linked = np.unique(edges)
    if len(linked) < agents:
        alone = np.flatnonzero(np.append(linked, agents) != np.arange(len(linked) + 1))[0]
        raise ScenarioError(f"topology.file = {file}: agent {alone} of 0 to {agents - 1} has no neighbour")
    pieces = _pieces(agents, edges)
    if pieces > 1:
        raise ScenarioError(
            f"topology.file = {file}: the graph of agents 0 to {agents - 1} falls into {pieces} parts, "
            "every agent must reach every other"
        )
    graph = _graph(agents, edges)
    for agent, position in positions.items():
        graph.nodes[agent]["position"] = position
    return graph


KINDS: dict[str, tuple[Callable[..., nx.Graph[int]], tuple[str, ...]]] = {
    "random": (_random, ("mean_degree",)),
    "ring": (_ring, ()),
    "star": (_star, ()),
    "complete": (_complete, ()),
    "grid": (_grid, ()),
    "regular": (_regular, ("degree",)),
    "small-world": (_small_world, ("degree", "rewire")),
    "scale-free": (_scale_free, ("attach",)),
    "geometric": (_geometric, ("radius",)),
    "file": (_file, ("file",)),
}
"""How each kind is drawn, and the settings that it needs."""
