"""Personalised PageRank on what lies within two hops of some engrams, as recall could afford it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engine.graph import Web
from engine.walk import Neighbour

HOPS = 2
WIDE = 64  # edges of a vertex
MOST = 1_000  # vertices
DAMPING = 0.85  # Page and Brin's

Neighbours = Callable[[int], Sequence[Neighbour]]


def bounded_rank(neighbours: Neighbours, seeds: Mapping[int, float]) -> dict[int, float]:
    """The rank of each engram within reach by its number; the seeds' weights are where it starts
    anew. Edges are walked both ways."""
    met, frontier = set(seeds), list(seeds)
    edges: set[tuple[int, int]] = set()
    for _ in range(HOPS):
        following = []
        for no in frontier:
            for near in neighbours(no)[:WIDE]:
                other = near.entry.no
                if other not in met:
                    if len(met) == MOST:
                        continue
                    met.add(other)
                    following.append(other)
                edges.add((no, other) if near.outward else (other, no))
        frontier = following
    if not edges:
        return dict.fromkeys(seeds, 0.0)
    numbers = np.array(sorted(met), np.int32)
    ends = np.array(sorted(edges), np.int32)
    ranks = Web(numbers, ends[:, 0], ends[:, 1]).rank(seeds, DAMPING)
    return dict(zip(numbers.tolist(), ranks.tolist(), strict=True))
