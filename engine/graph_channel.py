"""The graph channel: what the edges of the best hits lead to.

    g(e) = max over the seeds s of base(s) * 0.5 ** hops * confidence

A seed is a hit of the other channels, and base its fused score in 0..1; confidence is the product
of those on the way, one that is not set counts as 1. No seed is reached from itself, so that
without edges nothing changes. The formula is the design's; docs/adr/0018 has what was measured.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple, Protocol

import numpy as np

from engine.errors import GraphFailed
from engine.fusion import Floats, Mask
from engine.walk import Neighbour

log = logging.getLogger(__name__)

A_HOP = 0.5  # of a score is left after an edge


class Neighbours(Protocol):
    """Where the edges of an engram lead, by its number; `direction` as in `engine.walk`."""

    def __call__(self, no: int, /, direction: str) -> Sequence[Neighbour]: ...


@dataclass(frozen=True, slots=True)
class Spread:
    """How far to go: from the `seeds` best hits, and at each hop from as many of the best reached.

    `reverse`: also against the edges.
    """

    hops: int = 1
    reverse: bool = False
    seeds: int = 8


class Reached(NamedTuple):
    """How an engram was reached: its score g, and the last edge on the way there."""

    score: float
    relation: str
    outward: bool
    source: int  # number of the engram before it
    hop: int  # from 1


class _Step(NamedTuple):
    no: int
    score: float
    seed: int


@dataclass(frozen=True, slots=True)
class GraphChannel:
    """The channel for one question. `neighbours` sees what the question's scope sees."""

    neighbours: Neighbours
    how: Spread = Spread()

    def reach(self, base: Floats, hits: Mask) -> Mapping[int, Reached]:
        """Who is reached from the best hits, by number. Both arrays are over engrams.

        Raises GraphFailed, with the reason, for whatever keeps the edges from being read.
        """
        seeds = _best(np.where(hits, np.minimum(base, 1.0), 0.0), self.how.seeds)
        try:
            return self._from(seeds)
        except Exception as error:
            log.exception("the graph channel failed")
            raise unreadable(error) from error

    def _from(self, seeds: Sequence[_Step]) -> Mapping[int, Reached]:
        near = cache(partial(self.neighbours, direction="both" if self.how.reverse else "out"))
        reached: dict[int, Reached] = {}
        frontier = list(seeds)
        for hop in range(1, self.how.hops + 1):
            following: dict[tuple[int, int], float] = {}  # (engram, seed) -> score
            for no, score, seed in frontier:
                for each in near(no):
                    other = each.entry.no
                    own = 1.0 if each.confidence is None else each.confidence
                    g = score * A_HOP * own
                    if other == seed:
                        continue
                    following[other, seed] = max(g, following.get((other, seed), 0.0))
                    if other not in reached or g > reached[other].score:
                        reached[other] = Reached(g, each.relation, each.outward, no, hop)
            frontier = self._nearest(following)
        return reached

    def _nearest(self, following: Mapping[tuple[int, int], float]) -> list[_Step]:
        """The steps to the best engrams reached, from whichever seed."""
        best: dict[int, float] = {}
        for (no, _), score in following.items():
            best[no] = max(score, best.get(no, 0.0))
        kept = set(sorted(best, key=lambda no: (-best[no], no))[: self.how.seeds])
        return [_Step(no, score, seed) for (no, seed), score in following.items() if no in kept]


def unreadable(error: Exception) -> GraphFailed:
    """What to say when walking the edges failed."""
    reason = f"the edges cannot be read: {type(error).__name__}: {error}"
    return GraphFailed(reason, "run `engramfs check`")


def _best(scores: Floats, most: int) -> list[_Step]:
    """The `most` best, above 0; of equal ones the older engram."""
    inside = np.flatnonzero(scores > 0.0)
    if len(inside) > most:
        least = np.partition(scores[inside], len(inside) - most)[len(inside) - most]
        inside = inside[scores[inside] >= least]
    order = np.lexsort((inside, -scores[inside]))[:most]
    return [_Step(no, float(scores[no]), no) for no in inside[order].tolist()]
