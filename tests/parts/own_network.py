"""Parts of a user who makes mistakes; what is right stands in scenarios/parts/my_parts.py."""

from __future__ import annotations

import networkx as nx
import numpy as np

from simnet.extend import Acknowledged, Fault, Field, Latency, Pacing, PacketLoss, Topology, VaryingRate


class BadTimes(Latency):
    """Whatever the test wants."""

    what: str = Field("negative", description="what is wrong")

    def draw(self, rng, n):
        return {"negative": rng.normal(size=n), "nan": np.full(n, np.nan), "short": np.zeros(3)}[self.what]


class Trip(Latency):
    """It depends on the length of a link."""

    needs_length = True

    def draw(self, rng, n):
        return np.zeros(n)


class SoonOver(PacketLoss):
    """It forgets that there are more packets."""

    def fates(self, rng):
        yield False


class Everything(PacketLoss):
    """It does not say which."""


class Links(Topology):
    """The edges that the test wants."""

    links: tuple[tuple[int, int], ...] = Field(description="pairs of agents")

    def edges(self, rng):
        return self.links


class Placed(Topology):
    """A graph of networkx, with places."""

    def edges(self, rng):
        graph = nx.path_graph(4)
        nx.set_node_attributes(graph, {agent: (float(agent), 0.0) for agent in graph}, "position")
        return graph


class Nameless(Topology):
    """Agents that have no numbers."""

    def edges(self, rng):
        return nx.Graph([("a", "b")])


class Impatient(Pacing):
    """It waits for nobody, and has no patience."""

    def enough(self, round, neighbourhood):
        return True


class Stubborn(Pacing):
    """It never has enough."""

    patience: float = Field(0.25, description="longest wait")

    def enough(self, round, neighbourhood):
        return False


class Stopped(VaryingRate):
    """A line on which nothing ever leaves."""

    def steps(self, rng):
        return [(1.0, 0.0)]


class Bursty(VaryingRate):
    """On and off."""

    def steps(self, rng):
        return [(0.5, 8000.0), (0.5, 0.0)]


class Asleep(Fault):
    """An agent stands still, and it does not say so."""

    def outages(self, edges, rng):
        return [(0, 0.1, 0.2)]


class SaidAsleep(Asleep):
    """It says so."""

    halts = True


class Nowhere(Fault):
    """A link that is not there."""

    def outages(self, edges, rng):
        return [((0, 2), 0.1, 0.2)]


class Eager(Acknowledged):
    """A reliable transport with a short timeout."""

    timeout: float = Field(0.2, description="first retransmission timeout")
