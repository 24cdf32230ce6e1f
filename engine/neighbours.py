"""The cosines that a question needs, where an approximate index of the vectors may be asked.

The index (HNSW) names candidates. The engrams that own one, that have a vector newer than the index
as near as these, or that are best in the lexical channel are looked at whole: the cosines of all
their documents are computed exactly. Those of all other engrams are left unknown, which the fusion
counts as 0. What follows from that:

- An engram that is looked at has exactly the score, and the evidence, that exact search gives it,
  if the index found the nearest vector of all, by which cosines are normalised.
- One that is not has only cosines below the candidates' and lexical scores below those looked at.
  It is missing from the first hits only where the index missed it; further down, hits that vectors
  alone bring in end with the candidates, and with them the total.
- Ranks in the vector channel are ranks among what was looked at.

The candidates count only if they are of as many engrams as the asker wants. A scope, a filter, an
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
) -> Floats | None:
    """float64[documents]; NaN where it is not known. None: the index cannot answer this.

    `counted` are the documents that may be found, `lexical` their scores in that channel; `engrams`
    is how many must be the nearest ones.
    """
    near, vectors = snapshot.near, snapshot.vectors
    if near is None or engrams > config.hnsw_candidates:
        return None
    rows = near.nearest(query, config.hnsw_candidates)
    if rows is None or not len(rows):
        return None
    least = vectors.products(rows, query).min()  # what the index did not name is no nearer
    newer = np.arange(near.rows, len(vectors))
    named = np.zeros(len(vectors), np.bool_)
    named[rows] = True
    named[newer] = vectors.products(newer, query) >= least
    known = counted & (snapshot.doc_vector >= 0) & (snapshot.doc_vector < len(vectors))
    owners = np.unique(snapshot.doc_engram[known & named[np.where(known, snapshot.doc_vector, 0)]])
    if len(owners) < engrams:
        return None
    looked_at = np.zeros(int(snapshot.doc_engram.max()) + 1, np.bool_)
    looked_at[owners] = True
    looked_at[snapshot.doc_engram[_best(lexical, config.hnsw_lexical)]] = True
    return snapshot.cosines(query, known & looked_at[snapshot.doc_engram])


def _best(scores: Floats, most: int) -> Numbers:
    """int64[up to most]: where the greatest positive scores are."""
    positive = np.flatnonzero(scores > 0.0)
    if len(positive) > most:
        positive = positive[np.argpartition(scores[positive], len(positive) - most)[-most:]]
    return positive
