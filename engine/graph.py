"""The topology of the edges: who leads to whom. The only room that knows igraph.

A `Topology` is a snapshot and never changes: one added edge would cost igraph the same as all of
them (67 ms at 500,000), and its vertex numbers shift on a delete. What changed since is kept beside
it by `engine.edges`. Vertices are engram numbers, edges the places of `EdgeColumns`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import igraph

Numbers = NDArray[np.int32]


class Topology:
    """The edges that lead somewhere: not those that dangle, nor those to their own engram."""

    __slots__ = ("_graph", "_places")

    def __init__(self, source: Numbers, target: Numbers) -> None:
        """int32[edges] both; a target below 0 dangles."""
        leads = (target >= 0) & (target != source)
        self._places = np.flatnonzero(leads)
        self._graph = _graph(source[leads], target[leads]) if len(self._places) else None

    def into(self, no: int) -> list[int]:
        """The places of the edges to an engram, in the order of their sources."""
        if self._graph is None or no >= self._graph.vcount():
            return []
        found = np.array(self._graph.incident(no, mode="in"), np.int64)
        return np.sort(self._places[found]).tolist() if len(found) else []


def _graph(source: Numbers, target: Numbers) -> igraph.Graph:
    import igraph

    ends = np.ascontiguousarray(np.stack([source, target], axis=1), np.int64)
    return igraph.Graph(n=int(ends.max()) + 1, edges=ends, directed=True)
