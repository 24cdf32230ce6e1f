"""The topology of the edges: who leads to whom. The only room that knows igraph.

A `Topology` is a snapshot and never changes: one added edge would cost igraph the same as all of
them (67 ms at 500,000), and its vertex numbers shift on a delete. What changed since is kept beside
it by `engine.edges`. Vertices are engram numbers, edges the places of `EdgeColumns`.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import igraph

Numbers = NDArray[np.int32]

_ROUNDS = 10  # of Leiden: the first few gain most; until none gains more took 26 s at 100,000 edges

_random_lock = threading.Lock()
_FORCES_UP_TO = 1_000  # vertices: each pushes each other, so ten times as many take a hundred times
_GAP = 1.1  # between what is linked and those without an edge, as a share of the radius


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


class Web:
    """The graph of what one scope sees, for questions about all of it.

    `numbers` are the engram numbers of the vertices, ascending; `source` and `target` engram
    numbers of the edges, all of them among `numbers`.
    """

    __slots__ = ("_graph", "numbers")

    def __init__(self, numbers: Numbers, source: Numbers, target: Numbers) -> None:
        import igraph

        self.numbers = numbers
        ends = np.stack([self._at(source), self._at(target)], axis=1)
        self._graph = igraph.Graph(n=len(numbers), edges=ends, directed=True)

    def _at(self, numbers: Numbers) -> NDArray[np.int64]:
        return np.searchsorted(self.numbers, numbers).astype(np.int64)

    def _vertex(self, no: int) -> int | None:
        at = int(np.searchsorted(self.numbers, no))
        return at if at < len(self.numbers) and self.numbers[at] == no else None

    def shortest(self, a: int, b: int, direction: str) -> list[int]:
        """The engram numbers along a shortest way from `a` to `b`, both included; [] for none."""
        ends = self._vertex(a), self._vertex(b)
        if None in ends:
            return []
        mode = {"out": "out", "in": "in", "both": "all"}[direction]
        if math.isinf(self._graph.distances(ends[0], ends[1], mode=mode)[0][0]):
            return []
        [way] = self._graph.get_shortest_paths(ends[0], to=ends[1], mode=mode)
        return [int(self.numbers[at]) for at in way]

    def rank(self, seeds: Mapping[int, float], damping: float) -> NDArray[np.float64]:
        """float64[vertices]: PageRank that starts anew at the seeds (engram number -> weight);
        without seeds everywhere alike. Edges are walked both ways. Sums to 1."""
        reset = None
        if seeds:
            weights = np.zeros(len(self.numbers))
            for no, weight in seeds.items():
                at = self._vertex(no)
                if at is not None:
                    weights[at] = weight
            reset = weights.tolist() if weights.any() else None
        ranks = self._graph.personalized_pagerank(damping=damping, reset=reset, directed=False)
        return np.array(ranks, np.float64)

    def communities(self, before: Iterable[Sequence[int]] = ()) -> list[list[int]]:
        """Engram numbers that belong together by modularity (Leiden's algorithm, with the same
        random numbers each time); the largest first, then by their first number.

        `before` are communities of an earlier time to begin with: they stay much as they were
        where little changed, while from nothing one more edge may turn all of them over.
        """
        plain = self._graph.as_undirected(mode="collapse")
        membership = self._membership(plain, before)
        rounds = _ROUNDS if membership is None else 1
        with _same_random():
            found = plain.community_leiden(
                objective_function="modularity", n_iterations=rounds, initial_membership=membership
            )
        groups = [[int(self.numbers[at]) for at in group] for group in found]
        return sorted(groups, key=lambda group: (-len(group), group[0]))

    def _membership(self, plain: igraph.Graph, groups: Iterable[Sequence[int]]) -> list[int] | None:
        """A community for each vertex: those of a group that are linked within it have one, all
        others one of their own, for nothing would drive them apart. None: no two are together."""
        alone = list(range(len(self.numbers)))
        group = list(alone)
        for members in groups:
            here = [at for no in members if (at := self._vertex(no)) is not None]
            for at in here:
                group[at] = here[0]
        if group == alone:
            return None
        within = [edge.index for edge in plain.es if group[edge.source] == group[edge.target]]
        linked = plain.subgraph_edges(within, delete_vertices=False).connected_components()
        return linked.membership if within else None

    def near(self, no: int, hops: int) -> list[list[int]]:
        """Engram numbers by their hops from `no`, itself first; edges are walked both ways."""
        at = self._vertex(no)
        if at is None:
            return []
        order, starts, _ = self._graph.bfs(at, mode="all")
        return [
            [int(self.numbers[each]) for each in order[start:end]]
            for start, end in pairwise(starts[: hops + 2])
        ]

    def degree(self, direction: str) -> NDArray[np.int64]:
        """int64[vertices]: how many edges lead out, in, or both."""
        mode = {"out": "out", "in": "in", "both": "all"}[direction]
        return np.array(self._graph.degree(mode=mode), np.int64)


def _graph(source: Numbers, target: Numbers) -> igraph.Graph:
    import igraph

    ends = np.ascontiguousarray(np.stack([source, target], axis=1), np.int64)
    return igraph.Graph(n=int(ends.max()) + 1, edges=ends, directed=True)


def layout(count: int, ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[count, 2]: a place in the plane for each vertex, the same each time; `ends` is
    int64[edges, 2]. What is linked lies together, within a circle of radius 1 for most of it, and
    those without an edge in rings around that.

    Up to a thousand by the forces of Fruchterman and Reingold (1991); more by UMAP (McInnes, Healy,
    Melville 2018), whose time grows with the edges, not with the pairs.
    """
    import igraph

    places = np.zeros((count, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    linked = np.unique(ends)
    if len(linked):
        graph = igraph.Graph(n=len(linked), edges=np.searchsorted(linked, ends)).simplify()
        with _same_random():
            if len(linked) <= _FORCES_UP_TO:
                found = graph.layout_fruchterman_reingold(grid=False)
            else:
                found = graph.layout_umap(min_dist=1.0, epochs=50)
        drawn = np.array(found.coords)
        drawn -= np.median(drawn, axis=0)
        radius = np.quantile(np.hypot(*drawn.T), 0.99)
        places[linked] = drawn / max(radius, 1e-9)
    alone = np.setdiff1d(np.arange(count), linked)
    # A sunflower's seeds, begun outside the circle and as dense as those within it.
    inside = math.ceil(len(linked) * _GAP**2)
    order = np.arange(len(alone)) + inside + 0.5
    away = np.sqrt(order / max(len(linked), 1)) if len(linked) else np.sqrt(order / len(alone))
    turn = order * math.pi * (3 - math.sqrt(5))
    places[alone] = np.stack([away * np.cos(turn), away * np.sin(turn)], axis=1)
    return places


@contextmanager
def _same_random() -> Iterator[None]:
    """The same random numbers for igraph each time: it has one source of them for all threads."""
    import igraph

    with _random_lock:
        igraph.set_random_number_generator(random.Random(0))
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)
