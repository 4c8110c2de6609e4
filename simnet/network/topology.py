"""[topology]: who is whose neighbour. Graphs on agents 0 to N − 1, always connected, the same for the same stream.

Neighbours are listed in rising order, whatever the kind of graph, so that nothing depends on how it was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import comb, log, pi, sqrt
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy
from pydantic import BeforeValidator, Field

from simnet.errors import ScenarioError
from simnet.network.globe import Coordinates, placed
from simnet.network.latency_matrix import read_matrix
from simnet.network.measured_times import Unit
from simnet.parts.fields import Count, FileName, Finder, Number, Positive, Probability, Switch
from simnet.parts.part import OneOf, Part, PartTable, table

if TYPE_CHECKING:
    import networkx as nx  # imported where a graph is drawn: a wrong scenario is refused before

Edges = npt.NDArray[np.int64]
Rng = np.random.Generator

DRAWS = 100
"""How many graphs are drawn before a kind that is not connected for sure is given up."""

Agents = Annotated[int, BeforeValidator(Number("a whole number of at least 2", 2, 2**31, whole=True))]


class Topology(Part):
    """A kind of graph. One of your own implements `edges`."""

    says: ClassVar[tuple[str, ...]] = ("edges", "draw")

    def edges(self, rng: Rng) -> Iterable[tuple[int, int]] | nx.Graph[int]:
        """The pairs of neighbours among agents 0 to N − 1, or a graph, whose nodes may have a `position`."""
        raise NotImplementedError

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        """A graph of this kind; `find` says where a file is."""
        found: Any = self.edges(rng)
        nodes = getattr(found, "nodes", {})
        try:
            return _proper(_edges(getattr(found, "edges", found)), nodes)
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"topology.kind = {self.word!r}: {error}") from None

    @property
    def expected_size(self) -> tuple[int, float] | None:
        """Agents and links, about, where they can be known before anything is drawn."""
        return None


class SizedTopology(Topology):
    """A kind of graph of so many agents."""

    agents: Agents = Field(5, description="number of agents")

    @property
    def expected_size(self) -> tuple[int, float]:
        return self.agents, min(self.agents * self.expected_degree / 2, comb(self.agents, 2))

    @property
    def expected_degree(self) -> float:
        """How many neighbours an agent has on average, about."""
        return 2.0


class Random(SizedTopology):
    """A connected random graph with a given mean degree.

    A uniformly random tree and, uniformly among the other pairs, as many edges as the mean degree asks for.
    """

    kind: Literal["random"]
    mean_degree: Positive = Field(3.0, description="mean number of neighbours")

    @property
    def expected_degree(self) -> float:
        return self.mean_degree

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        agents, number = self.agents, round(self.agents * self.mean_degree / 2)
        if number < agents - 1:
            raise ScenarioError(
                f"topology.mean_degree = {self.mean_degree}: "
                f"{agents} agents need at least {2 * (agents - 1) / agents:.6g} to be connected"
            )
        if number > comb(agents, 2):
            raise ScenarioError(
                f"topology.mean_degree = {self.mean_degree}: {agents} agents have at most {agents - 1} neighbours each"
            )
        tree = _tree(agents, rng)
        taken = np.sort(_rank(tree))
        free = rng.choice(comb(agents, 2) - len(taken), size=number - len(taken), replace=False, shuffle=False)
        # The r-th free pair stands behind all taken ones that have at most r free pairs before them.
        further = free + np.searchsorted(taken - np.arange(len(taken)), free, side="right")
        return _graph(agents, np.concatenate((tree, _pair(further))))


class Regular(SizedTopology):
    """A random graph in which everybody has the same number of neighbours."""

    kind: Literal["regular"]
    degree: Count = Field(3, description="neighbours of each agent")

    @property
    def expected_degree(self) -> float:
        return self.degree

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        agents, degree = self.agents, self.degree
        self._refuse_the_impossible()
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

    def _refuse_the_impossible(self) -> None:
        agents, degree = self.agents, self.degree
        if degree >= agents:
            raise ScenarioError(f"topology.degree = {degree}: {agents} agents have 1 to {agents - 1} neighbours each")
        if agents * degree % 2:
            raise ScenarioError(
                f"topology.degree = {degree}: {agents} agents need an even degree, for every edge has two ends"
            )
        if degree == 1 and agents > 2:
            raise ScenarioError(f"topology.degree = 1: {agents} agents need at least 2 to be connected")


class SmallWorld(SizedTopology):
    """Watts and Strogatz: a ring lattice with rewired links.

    Each agent of a ring knows the `degree` nearest, and each edge is moved with the probability `rewire` (1998).
    """

    kind: Literal["small-world"]
    degree: Count = Field(4, description="neighbours of each agent before rewiring; even")
    rewire: Probability = Field(0.1, description="probability that a link is rewired")

    @property
    def expected_degree(self) -> float:
        return self.degree

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        import networkx as nx

        agents, degree, rewire = self.agents, self.degree, self.rewire
        if degree % 2 or degree >= agents:
            raise ScenarioError(
                f"topology.degree = {degree}: "
                f"a small world of {agents} agents has an even degree from 2 to {agents - 1}"
            )

        def draw() -> Edges:
            graph: nx.Graph[int] = nx.watts_strogatz_graph(agents, degree, rewire, seed=int(rng.integers(2**32)))
            return _edges(graph.edges)

        much = f"too much for topology.degree = {degree}, choose less of it or a greater degree"
        return _graph(agents, _connected(agents, draw, f"topology.rewire = {rewire}: {much}"))


class ScaleFree(SizedTopology):
    """Barabási and Albert: new agents attach to well-connected ones.

    Each newcomer joins `attach` others, the well-connected more often (1999).
    """

    kind: Literal["scale-free"]
    attach: Count = Field(2, description="links of a new agent")

    @property
    def expected_degree(self) -> float:
        return 2 * self.attach

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        import networkx as nx

        agents, attach = self.agents, self.attach
        if attach >= agents:
            raise ScenarioError(
                f"topology.attach = {attach}: with {agents} agents a newcomer joins 1 to {agents - 1} others"
            )
        graph: nx.Graph[int] = nx.barabasi_albert_graph(agents, attach, seed=int(rng.integers(2**32)))
        return _graph(agents, _edges(graph.edges))


class Geometric(SizedTopology):
    """Agents at random places in the unit square, linked when near."""

    kind: Literal["geometric"]
    radius: Positive = Field(0.4, description="distance within which two agents are linked")

    @property
    def expected_degree(self) -> float:
        return self.agents * pi * self.radius**2

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        agents, radius = self.agents, self.radius
        positions = np.empty((agents, 2))

        def draw() -> Edges:
            positions[:] = rng.random((agents, 2))
            return scipy.spatial.KDTree(positions).query_pairs(radius, output_type="ndarray").astype(np.int64)

        # Connected with high probability if π·radius² exceeds ln N / N (Gupta & Kumar 1998).
        enough = sqrt(log(agents) / (pi * agents))
        edges = _connected(agents, draw, f"topology.radius = {radius}: {agents} agents need about {1.5 * enough:.2g}")
        graph = _graph(agents, edges)
        for agent, (x, y) in enumerate(positions.tolist()):
            graph.nodes[agent]["position"] = (x, y)
        return graph


class _Piecewise(Topology):
    component: Literal["largest"] | None = Field(
        None, description="`largest`: of a graph in several parts only the largest; refused if absent"
    )

    def connected(self, names: list[str], edges: Edges, where: str) -> tuple[nx.Graph[int], list[int]]:
        """The graph, or its largest part if that is asked for, and who of the file is in it."""
        agents = len(names)
        pieces, piece = _components(agents, edges)
        if pieces == 1:
            return _graph(agents, edges), list(range(agents))
        if self.component is None:
            linked = np.unique(edges)
            if len(linked) < agents:
                alone = int(np.setdiff1d(np.arange(agents), linked)[0])
                called = "" if names[alone] == str(alone) else f" ({names[alone]})"
                raise ScenarioError(f"{where}: agent {alone}{called} of 0 to {agents - 1} has no neighbour; {_LARGEST}")
            raise ScenarioError(
                f"{where}: the graph of agents 0 to {agents - 1} falls into {pieces} parts, "
                f"every agent must reach every other; {_LARGEST}"
            )
        # The first of the largest, if there are several.
        kept = np.flatnonzero(piece == np.argmax(np.bincount(piece)))
        inside = edges[np.isin(edges[:, 0], kept)]
        return _graph(len(kept), np.searchsorted(kept, inside)), kept.tolist()


_LARGEST = 'topology.component = "largest" keeps the largest part'


class FromFile(_Piecewise):
    """An edge list, CSV, JSON, GraphML or GML file, as of the Internet Topology Zoo.

    Agents are numbered by their names if these are the numbers 0 to N − 1, otherwise in the order of the file. Latency,
    bandwidth and loss of an edge are those of its link, but for `network.override`.
    """

    kind: Literal["file"]
    file: FileName = Field(description="path of the file; .csv, .json, .graphml and .gml say what they are")

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        from simnet.network.graph_files import read_graph  # here: few networks are read from a file

        path = find(self.file)
        found = read_graph(path, gaps=self.component is not None)
        graph, kept = self.connected(found.names, found.edges, f"topology.file = {path}")
        number = {before: agent for agent, before in enumerate(kept)}
        for before, position in found.positions.items():
            if before in number:
                graph.nodes[number[before]]["position"] = position
        known = {number[before]: place for before, place in found.coordinates.items() if before in number}
        _locate(graph, known)
        _name(graph, [found.names[before] for before in kept])
        for key, said in (("given", found.given), ("weights", found.weights)):
            graph.graph[key] = {
                (number[a], number[b]): value for (a, b), value in said.items() if a in number and b in number
            }
        return graph


class FromMatrix(_Piecewise):
    """The links and latencies of a matrix: row sender, column receiver; an empty cell is no link.

    Where only one direction has an entry it is that of both.
    """

    kind: Literal["matrix"]
    file: FileName = Field(description="CSV file, a row and a column per agent; a line of names may come first")
    unit: Unit | None = Field(None, description="what its numbers count; seconds if absent")
    round_trip: Switch | None = Field(None, description="`true`: they are there and back, and are halved")

    def draw(self, rng: Rng, find: Finder) -> nx.Graph[int]:
        from simnet.network.latency import Constant

        path = find(self.file)
        names, entries = read_matrix(path, "topology.file", self.unit, self.round_trip)
        names = names or [str(agent) for agent in range(len(entries))]
        entries = np.where(np.isnan(entries), entries.T, entries)
        edges = np.argwhere(np.triu(~np.isnan(entries), 1)).astype(np.int64)
        graph, kept = self.connected(names, edges, f"topology.file = {path}")
        _name(graph, [names[before] for before in kept])
        graph.graph["given"] = {
            ends: {"latency": Constant.model_construct(kind="constant", value=float(entries[kept[a], kept[b]]))}
            for edge in graph.edges
            for ends in (edge, edge[::-1])
            for a, b in (ends,)
        }
        return graph


def agent_names(graph: nx.Graph[int]) -> list[str] | None:
    """What the file of the graph calls the agents; None if only by their numbers."""
    found = [data.get("name") for _, data in graph.nodes(data=True)]
    return None if None in found else [str(name) for name in found]


def _name(graph: nx.Graph[int], names: list[str]) -> None:
    if names != [str(agent) for agent in graph]:
        for agent, name in enumerate(names):
            graph.nodes[agent]["name"] = name


def _locate(graph: nx.Graph[int], known: dict[int, Coordinates]) -> None:
    for agent, place in placed(known, graph.adj).items():
        graph.nodes[agent]["coordinates"] = place
    graph.graph["located"] = len(known)


_SHAPES = [(kind.lower(), f"simnet.library.graph_kinds:{kind}") for kind in ("Ring", "Star", "Complete", "Grid")]
TOPOLOGIES: PartTable[Topology] = table(
    Random, *_SHAPES, Regular, SmallWorld, ScaleFree, Geometric, FromFile, FromMatrix
)
AnyTopology = Annotated[Topology, OneOf(TOPOLOGIES)]


def _graph(agents: int, edges: Edges) -> nx.Graph[int]:
    """The graph of these edges, in one canonical order."""
    import networkx as nx

    edges = np.sort(edges, axis=1)
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    graph: nx.Graph[int] = nx.Graph()
    # One object per number: a table finds an object without a look at it, and its equal only after one.
    numbers = list(range(agents))
    graph.add_nodes_from(numbers)
    graph.add_edges_from([(numbers[a], numbers[b]) for a, b in edges.tolist()])
    return graph


def _proper(edges: Edges, nodes: Mapping[int, Any]) -> nx.Graph[int]:
    """The graph of somebody's edges, with what is said of its nodes; a ValueError says why it is none."""
    agents = 1 + int(max(edges.max(initial=0), len(nodes) - 1))
    if edges.min(initial=0) < 0 or agents < 2 or sorted(nodes) != [*range(agents if nodes else 0)]:
        raise ValueError("agents are numbered from 0, and there are two at least")
    if len(loops := edges[edges[:, 0] == edges[:, 1]]):
        raise ValueError(f"agent {loops[0, 0]} is no neighbour of itself")
    if agents > len(edges) + 1 or _components(agents, edges)[0] > 1:
        raise ValueError(f"not all of its {agents} agents are connected")
    graph = _graph(agents, np.unique(np.sort(edges, axis=1), axis=0))
    for agent in nodes:
        graph.nodes[agent].update(nodes[agent])
    return graph


def _edges(pairs: Iterable[tuple[int, int]]) -> Edges:
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def _components(agents: int, edges: Edges) -> tuple[int, npt.NDArray[np.int32]]:
    """Into how many parts the graph falls, and in which each agent is."""
    matrix = scipy.sparse.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(agents, agents))
    number, piece = scipy.sparse.csgraph.connected_components(matrix, directed=False)
    return int(number), piece


def _connected(agents: int, draw: Callable[[], Edges], fault: str) -> Edges:
    """The first connected one of `DRAWS` graphs."""
    for _ in range(DRAWS):
        edges = draw()
        if _components(agents, edges)[0] == 1:
            return edges
    raise ScenarioError(f"{fault} (none of {DRAWS} drawn graphs is connected)")


def _tree(agents: int, rng: Rng) -> Edges:
    """A tree drawn uniformly from all agents^(agents − 2), by its Prüfer sequence."""
    import networkx as nx

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


def _pairing(agents: int, rng: Rng, degree: int) -> Edges:
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
