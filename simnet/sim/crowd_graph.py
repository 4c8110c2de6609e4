"""Who is whose neighbour, in arrays: the directions of all links, sender by sender."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import networkx as nx
import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]


class Directions:
    """Both directions of every link, by sender and then by receiver, both in rising order.

    A direction is a place in these arrays. `first[i]` to `first[i + 1]` are those in which agent i sends, and the ways
    back of the same are those in which it hears from its neighbours, in their order.
    """

    def __init__(self, graph: nx.Graph[int]) -> None:
        agents, links = graph.number_of_nodes(), graph.number_of_edges()
        ends: Iterable[int] = chain.from_iterable(graph.edges)
        one, other = np.fromiter(ends, np.int64, 2 * links).reshape(-1, 2).T
        # A direction as one number, whose order is that of sender and receiver.
        forth = np.concatenate((one * agents + other, other * agents + one))
        forth.sort()
        sender, receiver = np.divmod(forth, agents)
        self.sender, self.receiver = sender.astype(np.int32), receiver.astype(np.int32)
        self.back: npt.NDArray[np.int32] = np.argsort(receiver * agents + sender).astype(np.int32)
        """Of each direction the place of the opposite one."""
        self.degree = np.bincount(sender, minlength=agents)
        self.first = np.concatenate(([0], np.cumsum(self.degree)))

    def __len__(self) -> int:
        return len(self.sender)

    @property
    def agents(self) -> int:
        return len(self.degree)

    def of(self, first: int, last: int) -> slice:
        """The directions in which the agents from `first` up to `last` send."""
        return slice(int(self.first[first]), int(self.first[last]))
