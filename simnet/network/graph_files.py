"""Graphs from files: an edge list, node-link JSON or GraphML.

Edge list: one edge "a b" per line; what follows a # is a comment.
JSON: {"nodes": [{"id": 0}, ...], "edges": [{"source": 0, "target": 1}, ...]}, or "links" for "edges" as older networkx
writes it; a node may have a "position": [x, y].
Agents are named 0 to N − 1 everywhere. An edge given twice, or in both directions, is one edge.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt

from simnet.errors import ScenarioError

Position = tuple[float, float]


class _Content(NamedTuple):
    """What a file says, with the place where it says it."""

    edges: list[tuple[str, Any, Any]]
    nodes: list[tuple[str, Any, Position | None]]


def read_graph(path: Path) -> tuple[int, npt.NDArray[np.int64], dict[int, Position]]:
    """The number of agents, which the greatest name tells, the edges, and the positions that the file gives."""
    import networkx as nx

    try:
        content = _read(path)
        edges = [(_agent(where, a), _agent(where, b)) for where, a, b in content.edges]
        nodes = [(_agent(where, name), position) for where, name, position in content.nodes]
        for (where, name, _), (a, b) in zip(content.edges, edges, strict=True):
            if a == b:
                raise ScenarioError(f"{where} links agent {name} with itself")
        if not edges:
            raise ScenarioError("there is no edge in it")
    except (OSError, ValueError, ParseError, nx.NetworkXError) as error:
        raise ScenarioError(f"topology.file = {path}: {error}") from error
    pairs = np.unique(np.sort(np.array(edges, dtype=np.int64), axis=1), axis=0)
    greatest = max(int(pairs.max()), *(agent for agent, _ in nodes), 0)
    positions = {agent: position for agent, position in nodes if position is not None}
    return greatest + 1, pairs, positions


def _read(path: Path) -> _Content:
    match path.suffix:
        case ".json":
            return _node_link(json.loads(path.read_text(encoding="utf-8")))
        case ".graphml":
            import networkx as nx

            graph = nx.read_graphml(path)
            edges = [(f"edge {number}", a, b) for number, (a, b, *_) in enumerate(graph.edges, 1)]
            return _Content(edges, [(f"node {number}", name, None) for number, name in enumerate(graph, 1)])
        case _:
            return _edge_list(path.read_text(encoding="utf-8"))


def _edge_list(text: str) -> _Content:
    edges = []
    for number, line in enumerate(text.splitlines(), 1):
        names = line.partition("#")[0].split()
        if len(names) not in (0, 2):
            raise ScenarioError(f'line {number} is {line.strip()!r}, not an edge "a b"')
        if names:
            edges.append((f"line {number}", names[0], names[1]))
    return _Content(edges, [])


def _node_link(data: Any) -> _Content:
    try:
        edges = [
            (f"edge {number}", edge["source"], edge["target"])
            for number, edge in enumerate(data["edges"] if "edges" in data else data["links"], 1)
        ]
        nodes: list[tuple[str, Any, Position | None]] = []
        for number, node in enumerate(data["nodes"], 1):
            position = None
            if "position" in node:
                x, y = node["position"]
                position = float(x), float(y)
            nodes.append((f"node {number}", node["id"], position))
    except (KeyError, TypeError, ValueError) as error:
        raise ScenarioError(
            "not node-link JSON: it has nodes with id (and position, two numbers) and edges with source and target"
        ) from error
    return _Content(edges, nodes)


def _agent(where: str, name: Any) -> int:
    """The agent of this name."""
    text = str(name)
    if not (text.isascii() and text.isdigit()):
        raise ScenarioError(f"{where} names {text!r}, agents are called 0, 1, 2 and so on")
    return int(text)
