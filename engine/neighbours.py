"""The cosines that a question needs, where an approximate index of the vectors may be asked.

The index (HNSW) names candidates; their cosines, those of vectors that are newer than the index,
and those of the documents that the lexical channel finds best are computed exactly. All others are
left unknown, which the fusion counts as 0. What follows from that:

- The greatest cosine is right, and with it every score that is computed, if the index found the
  nearest vector.
- A document that is left out has a cosine below `least` and a lexical score below those that were
  looked at: it could stand only below a bound that hits of the first pages are far above.
- Whether a document is among the candidates depends on the index; its score does not.

The candidates count only if they hold as many engrams as the asker wants; a scope, a filter, an
operator, the vector channel alone, and rrf (which needs every rank) are answered exactly, and so is
everything while the index is missing, is growing, or fails.
"""

from __future__ import annotations

import numpy as np

from engine.config import Config
from engine.fusion import Floats, Mask
from engine.masks import Masks
from engine.matrix import Numbers, Vectors
from engine.snapshot import Snapshot


def wanted(mask: Masks, allowed: Mask, fusion: str, hits: int) -> int | None:
    """How many engrams must be the nearest ones; None: every cosine must be right.

    `allowed` are the engrams that may be hits: `mask.allowed` or fewer.
    """
    restricted = bool((mask.covered & ~mask.hidden & ~allowed).any())
    return None if restricted or fusion == "rrf" else hits


def candidate_cosines(
    snapshot: Snapshot,
    query: Vectors,
    counted: Mask,
    lexical: Floats,
    engrams: int,
    config: Config,
) -> Vectors | None:
    """float32[documents]; NaN where it is not known. None: the index cannot answer this.

    `counted` are the documents that may be found, `lexical` their scores in that channel; `engrams`
    is how many must be the nearest ones.
    """
    near, vectors = snapshot.near, snapshot.vectors
    if near is None or engrams > config.hnsw_candidates:
        return None
    rows = near.nearest(query, config.hnsw_candidates)
    if rows is None or not len(rows):
        return None
    by_row = np.full(len(vectors), np.nan, np.float32)
    by_row[rows] = vectors.products(rows, query)
    least = float(by_row[rows].min())  # nothing in the index that was not named is nearer
    newer = np.arange(near.rows, len(vectors))
    by_row[newer] = vectors.products(newer, query)
    known = counted & (snapshot.doc_vector >= 0) & (snapshot.doc_vector < len(vectors))
    found: Vectors = np.full(snapshot.rows, np.nan, np.float32)
    found[known] = by_row[snapshot.doc_vector[known]]
    if len(np.unique(snapshot.doc_engram[found >= least])) < engrams:
        return None
    best = _best(np.where(known, lexical, 0.0), config.hnsw_lexical)
    found[best] = vectors.products(snapshot.doc_vector[best], query)
    return found


def _best(scores: Floats, most: int) -> Numbers:
    """int64[up to most]: where the greatest positive scores are."""
    positive = np.flatnonzero(scores > 0.0)
    if len(positive) > most:
        positive = positive[np.argpartition(scores[positive], len(positive) - most)[-most:]]
    return positive
