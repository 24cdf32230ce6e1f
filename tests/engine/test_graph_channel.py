"""The graph channel against its formula, over small graphs."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import GraphFailed
from engine.graph_channel import GraphChannel, Reached, Spread
from engine.walk import Neighbour

NUMBERS = 6
Edge = tuple[int, int, float | None]  # source, target, confidence
EDGES = st.lists(
    st.tuples(
        st.integers(0, NUMBERS - 1), st.integers(0, NUMBERS - 1), st.sampled_from([None, 1.0, 0.5])
    ),
    max_size=12,
)
BASE = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=NUMBERS, max_size=NUMBERS)


class Graph:
    """Edges, and from whom they were asked for."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = [edge for edge in edges if edge[0] != edge[1]]
        self.asked: list[int] = []

    def __call__(self, no: int, /, direction: str) -> list[Neighbour]:
        self.asked.append(no)
        out = [(b, True, sure) for a, b, sure in self.edges if a == no]
        into = [(a, False, sure) for a, b, sure in self.edges if b == no]
        found = out + into if direction == "both" else out
        return [
            Neighbour(cast("Any", SimpleNamespace(no=other)), "about", outward, sure)
            for other, outward, sure in found
        ]


def reach(edges: Sequence[Edge], base: Sequence[float], how: Spread) -> dict[int, Reached]:
    scores = np.array(base, np.float64)
    return dict(GraphChannel(Graph(edges), how).reach(scores, scores > 0.0))


def formula(edges: Sequence[Edge], base: Sequence[float], how: Spread) -> dict[int, float]:
    """Every way of up to `hops` edges from every seed."""
    steps = [*edges, *((b, a, sure) for a, b, sure in edges if how.reverse)]
    found: dict[int, float] = {}
    for seed in [no for no in range(NUMBERS) if base[no] > 0.0]:
        ends = [(seed, base[seed])]
        for _ in range(how.hops):
            ends = [
                (b, score * 0.5 * (1.0 if sure is None else sure))
                for no, score in ends
                for a, b, sure in steps
                if a == no != b and b != seed
            ]
            for no, score in ends:
                found[no] = max(score, found.get(no, 0.0))
    return found


@given(EDGES, BASE, st.integers(1, 2), st.booleans())
def test_scores_are_the_formulas(
    edges: list[Edge], base: list[float], hops: int, reverse: bool
) -> None:
    how = Spread(hops, reverse, NUMBERS)
    found = reach(edges, base, how)
    assert {no: one.score for no, one in found.items()} == formula(edges, base, how)
    for no, one in found.items():
        assert 1 <= one.hop <= hops
        ends = (one.source, no) if one.outward else (no, one.source)
        assert ends in {(a, b) for a, b, _ in edges}
        assert one.outward or reverse


@given(BASE, st.integers(1, 2))
def test_without_edges_nobody_is_reached(base: list[float], hops: int) -> None:
    assert reach([], base, Spread(hops, reverse=True)) == {}


def test_it_starts_from_the_best_hits_and_reads_no_more_at_a_hop() -> None:
    edges: list[Edge] = [(0, 3, None), (1, 4, None), (2, 5, None)]
    base = [0.25, 1.0, 0.5, 0.0, 0.0, 0.0]
    assert reach(edges, base, Spread(seeds=2)).keys() == {4, 5}
    wide: list[Edge] = [(0, to, None) for to in range(1, NUMBERS)]
    graph = Graph(wide)
    scores = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    GraphChannel(graph, Spread(hops=2, seeds=2)).reach(scores, scores > 0.0)
    assert graph.asked == [0, 1, 2]


def test_who_is_no_hit_is_no_seed() -> None:
    scores = np.array([1.0, 0.5, 0.0])
    channel = GraphChannel(Graph([(0, 2, None), (1, 2, None)]))
    assert channel.reach(scores, np.array([False, True, False]))[2].score == 0.25


def test_a_base_above_one_counts_as_one() -> None:
    scores = np.array([1.2, 0.0])
    assert GraphChannel(Graph([(0, 1, None)])).reach(scores, scores > 0)[1].score == 0.5


def test_edges_that_cannot_be_read_are_told() -> None:
    def broken(no: int, /, direction: str) -> list[Neighbour]:
        raise RuntimeError("igraph is ill")

    scores = np.array([1.0])
    with pytest.raises(GraphFailed, match="RuntimeError: igraph is ill"):
        GraphChannel(broken).reach(scores, scores > 0)
