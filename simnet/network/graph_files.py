"""Graphs from files: edge lists, CSV, node-link JSON, GraphML and GML, as of the Internet Topology Zoo.

Edge list  one edge "a b" per line, perhaps with attributes: a b latency=20ms "bandwidth=10 Mbit/s", or as networkx
           writes them: a b {'latency_ms': 20}. A name with blanks stands in quotes. What follows a # is a comment.
CSV        a line of headings that begins with source,target; further columns are attributes.
JSON       {"nodes": [{"id": 0}, ...], "edges": [{"source": 0, "target": 1}, ...]}, or "links" for "edges" as older
           networkx writes it; a node may have a "position": [x, y].
GraphML, GML  as networkx reads them. An edge from a node to itself, which maps have, is left out here and refused
           elsewhere.

Names may be any text. If all are numbers they are the numbers of the agents, 0 to N − 1; otherwise agents are numbered
in the order of the file: nodes first, then what only edges name. Where nodes have a `label` or a `name` it is what
people read, and the id is what edges use.

Of an edge count `latency` or `delay` (also latency_ms and so on), `bandwidth` (also bandwidth_mbps and so on; the Zoo's
LinkSpeedRaw, in bit/s), `loss` and, for routing, `weight`; of a node, Latitude and Longitude or lat and lon. An edge
given several times is one link with the attributes that come first. In a directed graph an attribute is that of one
direction, and of both if the file has only one.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt

from simnet.allowance import Allowance, checked, read_whole
from simnet.errors import ScenarioError
from simnet.network.edge_attributes import edge_weight, link_fields
from simnet.network.globe import Coordinates

_LISTS, _MAPS = 8, 48
"""How much more than its text the objects of a file take: of plain lists, and of what networkx reads."""

Position = tuple[float, float]
Attributes = Mapping[str, Any]


_Edge = tuple[str, str, str, Attributes]
_Node = tuple[str, str, Attributes]


class _Content(NamedTuple):
    """What a file says, with the place where it says it."""

    edges: list[_Edge]
    nodes: list[_Node]
    directed: bool = False


class GraphFile(NamedTuple):
    """A graph on agents 0 to N − 1, and what the file says of them."""

    names: list[str]
    edges: npt.NDArray[np.int64]
    positions: dict[int, Position]
    coordinates: dict[int, Coordinates]
    given: dict[tuple[int, int], dict[str, Any]]
    """What each direction of a link is like, as fields of `LinkModel`."""
    weights: dict[tuple[int, int], float]
    """What each direction of a link costs who routes by it."""


def read_graph(path: Path, *, gaps: bool = False) -> GraphFile:
    """The graph of a file; with `gaps` numbers may be left out among the names."""
    import networkx as nx

    try:
        content = _read(path)
        labels = {name: label for where, name, attributes in content.nodes if (label := _label(attributes))}
        numbers = _numbers(content, labels, gaps=gaps)
        for where, a, b, _ in content.edges:
            if numbers[a] == numbers[b]:
                raise ScenarioError(f"{where} links agent {a} with itself")
        if not content.edges:
            raise ScenarioError("there is no edge in it")
        given = _given(content, numbers, link_fields)
        weights = {ends: found["weight"] for ends, found in _given(content, numbers, edge_weight).items()}
        positions, coordinates = _places(content, numbers)
    except (OSError, ValueError, ParseError, nx.NetworkXError) as error:
        raise ScenarioError(f"topology.file = {path}: {error}") from error
    except (RecursionError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ScenarioError(f"topology.file = {path}: it is damaged, or nested too deeply") from error
    names = [""] * (max(numbers.values()) + 1)
    for name, agent in numbers.items():
        names[agent] = labels.get(name, name)
    pairs = np.array([(numbers[a], numbers[b]) for _, a, b, _ in content.edges], dtype=np.int64)
    return GraphFile(names, np.unique(np.sort(pairs, axis=1), axis=0), positions, coordinates, given, weights)


def _numbers(content: _Content, labels: Mapping[str, str], *, gaps: bool) -> dict[str, int]:
    """The agent of each name."""
    ends = [name for _, a, b, _ in content.edges for name in (a, b)]
    names = list(dict.fromkeys([*(name for _, name, _ in content.nodes), *ends]))
    if not all(name.isascii() and name.isdigit() for name in names):
        return {name: number for number, name in enumerate(names)}
    order = sorted(set(map(int, names)))
    if labels or gaps:
        consecutive = order == list(range(len(order)))
        ranked = sorted(names, key=int) if consecutive or not labels else names
        place = {value: number for number, value in enumerate(dict.fromkeys(map(int, ranked)))}
        return {name: place[int(name)] for name in names}
    for expected, value in enumerate(order):
        if value != expected:
            raise ScenarioError(f"agent {expected} of 0 to {order[-1]} has no neighbour")
    return {name: int(name) for name in names}


def _given(
    content: _Content, numbers: Mapping[str, int], read: Callable[[Attributes, str], dict[str, Any]]
) -> dict[tuple[int, int], dict[str, Any]]:
    """What `read` finds in the attributes of each direction."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    there: set[tuple[int, int]] = set()
    for where, a, b, attributes in content.edges:
        ends = numbers[a], numbers[b]
        fields = read(attributes, where)
        there.add(ends)
        for direction in (ends,) if content.directed else (ends, ends[::-1]):
            if fields:
                found[direction] = fields | found.get(direction, {})
    for ends in there:
        if ends[::-1] not in there and ends in found:
            found[ends[::-1]] = found[ends]
    return dict(sorted(found.items()))


def _places(content: _Content, numbers: Mapping[str, int]) -> tuple[dict[int, Position], dict[int, Coordinates]]:
    positions, coordinates = {}, {}
    for where, name, attributes in content.nodes:
        agent, known = numbers[name], {key.lower(): value for key, value in attributes.items()}
        if "position" in known:
            positions[agent] = known["position"]
        lat, lon = (next((known[key] for key in keys if key in known), None) for keys in _COORDINATES)
        if lat is None or lon is None or lat == "" or lon == "":
            continue
        place = float(lat), float(lon)
        if not (abs(place[0]) <= 90 and abs(place[1]) <= 360):
            raise ScenarioError(f"{where} is at {lat}, {lon}, which are no degrees of latitude and longitude")
        coordinates[agent] = place
    return positions, coordinates


_COORDINATES = (("latitude", "lat"), ("longitude", "lon", "lng", "long"))


def _label(attributes: Attributes) -> str:
    known = {key.lower(): value for key, value in attributes.items()}
    return str(known.get("label", known.get("name", ""))).strip()


def _read(path: Path) -> _Content:
    allowance = Allowance(ScenarioError)
    suffix = path.suffix.lower()
    raw = read_whole(path, allowance, _MAPS if suffix in (".graphml", ".gml") else _LISTS)
    match suffix:
        case ".json":
            allowance.json(raw)
            return _node_link(json.loads(raw))
        case ".graphml":
            import networkx as nx

            return _map(nx.read_graphml(io.BytesIO(raw)))
        case ".gml":
            return _gml(raw.decode())
        case ".csv":
            return _table(raw.decode("utf-8-sig"), allowance)
        case _:
            return _edge_list(raw.decode(), allowance)


def _gml(text: str) -> _Content:
    import networkx as nx

    # Many files have an edge twice and do not say that they may, which networkx wants to be told; and labels that occur
    # twice, which is why nodes go by their id.
    if not re.search(r"^\s*graph\s*\[", text, re.MULTILINE):
        raise ScenarioError("there is no graph in it")
    if not re.search(r"^\s*multigraph\s+1", text, re.MULTILINE):
        text = re.sub(r"^(\s*graph\s*\[)", r"\1\n  multigraph 1", text, count=1, flags=re.MULTILINE)
    return _map(nx.parse_gml(text, label="id"))


def _map(graph: Any) -> _Content:
    """What networkx has read."""
    edges = [(f"edge {number}", str(a), str(b), data) for number, (a, b, data) in enumerate(graph.edges(data=True), 1)]
    nodes = [(f"node {number}", str(name), data) for number, (name, data) in enumerate(graph.nodes(data=True), 1)]
    return _Content([edge for edge in edges if edge[1] != edge[2]], nodes, graph.is_directed())


def _edge_list(text: str, allowance: Allowance) -> _Content:
    edges: list[_Edge] = []
    for number, line in enumerate(checked(io.StringIO(text), allowance), 1):
        # A file that is no such list may be somebody's secret: it is quoted only once an edge was read.
        told = f"{line.strip()[:60]!r}, " if edges else ""
        ends, written = _dictionary(line)
        try:
            words = shlex.split(ends, comments=True) if '"' in ends else ends.partition("#")[0].split()
        except ValueError as error:
            raise ScenarioError(f"line {number} is {told}which has {str(error).lower()}") from None
        if not words:
            continue
        if len(words) == 1 or not all("=" in word for word in words[2:]):
            raise ScenarioError(
                f'line {number} is {told}not an edge "a b", perhaps with attributes such as latency=20ms'
            )
        attributes = {**dict(word.split("=", 1) for word in words[2:]), **written}
        edges.append((f"line {number}", words[0], words[1], attributes))
    return _Content(edges, [])


def _dictionary(line: str) -> tuple[str, Attributes]:
    """A line without the dictionary at its end, as networkx writes the attributes of an edge, and that dictionary."""
    ends, brace, rest = line.rstrip().partition("{")
    if not brace or not rest.endswith("}"):
        return line, {}
    try:
        found = ast.literal_eval(brace + rest)
    except (SyntaxError, ValueError, MemoryError):
        return line, {}
    known = isinstance(found, dict) and all(isinstance(name, str) for name in found)
    return (ends, found) if known else (line, {})


def _table(text: str, allowance: Allowance) -> _Content:
    rows = csv.DictReader(checked(io.StringIO(text), allowance), skipinitialspace=True)
    headings = [heading.strip() for heading in rows.fieldnames or ()]
    if [heading.lower() for heading in headings[:2]] != ["source", "target"]:
        raise ScenarioError("its first line is not source,target and perhaps names of attributes")
    edges: list[_Edge] = []
    for number, row in enumerate(rows, 2):
        cells = [row[heading] for heading in rows.fieldnames or ()]
        if None in row or None in cells or not cells[0] or not cells[1]:
            raise ScenarioError(f"line {number} has not one entry under each of {', '.join(headings)}")
        edges.append(
            (f"line {number}", cells[0].strip(), cells[1].strip(), dict(zip(headings[2:], cells[2:], strict=True)))
        )
    return _Content(edges, [], directed=_both_ways(edges))


def _both_ways(edges: list[_Edge]) -> bool:
    """Whether some link is given in both directions: then each has attributes of its own."""
    there = {(a, b) for _, a, b, _ in edges}
    return any((b, a) in there for a, b in there)


def _node_link(data: Any) -> _Content:
    try:
        edges = [
            (f"edge {number}", str(edge["source"]), str(edge["target"]), edge)
            for number, edge in enumerate(data["edges"] if "edges" in data else data["links"], 1)
        ]
        nodes: list[_Node] = []
        for number, node in enumerate(data["nodes"], 1):
            attributes = dict(node)
            if "position" in node:
                x, y = node["position"]
                attributes["position"] = float(x), float(y)
            nodes.append((f"node {number}", str(node["id"]), attributes))
    except (KeyError, TypeError, ValueError) as error:
        raise ScenarioError(
            "not node-link JSON: it has nodes with id (and position, two numbers) and edges with source and target"
        ) from error
    return _Content(edges, nodes, bool(data.get("directed", False)))
