"""BM25 as DuckDB's full-text extension 1.5.5 computes it, over counts taken while the query runs.

From its macro `match_bm25`: a document's score is the sum over the distinct terms of the query of
    log10((N - df + 0.5) / (df + 0.5) + 1) * tf (k1 + 1) / (tf + k1 (1 - b + b len / avg))
with N the number of documents, df those that hold the term, avg their mean length in terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.tail import Postings

Groups = Sequence[Sequence[str]]


def scores(
    groups: Groups,
    postings: Callable[[str], Postings],
    lengths: NDArray[np.int32],
    visible: NDArray[np.bool_],
    *,
    k1: float,
    b: float,
) -> NDArray[np.float64]:
    """float64[documents]; 0 where no term occurs or the document is not visible.

    A group holds the alternatives of one word of the question (its stems in several languages): the
    best of them counts. Groups that are equal count once, as a word that is repeated. `postings`
    gives rows, each once, and counts, both int32[n]; only visible rows are counted anywhere.
    `lengths` is int32[documents], `visible` bool[documents].
    """
    found = np.zeros(len(lengths), np.float64)
    documents = int(np.count_nonzero(visible))
    if not documents:
        return found
    average = int(lengths.sum(where=visible, dtype=np.int64)) / documents
    for group in dict.fromkeys(tuple(dict.fromkeys(group)) for group in groups):
        best: NDArray[np.float64] | None = None
        for term in group:
            rows, counts = postings(term)
            seen = visible[rows]
            rows, tf = rows[seen], counts[seen].astype(np.float64)
            if not len(rows):
                continue
            idf = math.log10((documents - len(rows) + 0.5) / (len(rows) + 0.5) + 1)
            norm = k1 * ((1 - b) + b * (lengths[rows] / average))
            score = idf * (tf * (k1 + 1) / (tf + norm))
            if len(group) == 1:
                found[rows] += score
            else:
                best = np.zeros(len(lengths), np.float64) if best is None else best
                best[rows] = np.maximum(best[rows], score)
        if best is not None:
            found += best
    return found
