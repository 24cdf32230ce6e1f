"""What one search reads: all documents at one moment.

A document is one part of one version of an engram; its number grows over the whole store, its row
is its place in the arrays of the index, in the same order. It is live while its engram's present
version has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine import bm25
from engine.bm25 import Groups
from engine.matrix import Near, Rows, Vectors
from engine.tail import NO_POSTINGS, Postings, Tail

Numbered = tuple[
    NDArray[np.signedinteger], NDArray[np.int32]
]  # document numbers and counts, both [n]

# Fewer are as quick one by one; of 16 all at once take half the time, of 64 a fifth, and a question
# of 20,000 characters has thousands.
MANY_TERMS = 4
SHARPENED = 256  # cosines that are computed again in 64 bits: more than a page or a pack shows


class Base(Protocol):
    """The folded index: postings of the documents below `folded`, by document number."""

    folded: int

    def fetch(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(document numbers, counts) of a term."""
        ...

    def fetch_many(self, terms: Iterable[str]) -> Mapping[str, Numbered]:
        """Those of several terms; a term that has none is left out."""
        ...

    def terms(self) -> Collection[str]:
        """Every term it may have, in an order to which later ones are only appended."""
        ...


class NoBase:
    """Nothing folded yet."""

    folded = 0

    def fetch(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Nothing."""
        return np.zeros(0, np.int64), np.zeros(0, np.int32)

    def fetch_many(self, terms: Iterable[str]) -> Mapping[str, Numbered]:
        """Nothing."""
        return {}

    def terms(self) -> Collection[str]:
        """None."""
        return ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Arrays of one element a row, never written once published (but for vectors that arrive).

    `tails` are (tail, the row that its row 0 is).
    """

    doc_engram: NDArray[np.int32]
    doc_position: NDArray[np.int32]
    doc_length: NDArray[np.int32]
    doc_number: NDArray[np.int64]
    doc_vector: NDArray[np.int32]  # row of `vectors`; negative or beyond: none
    live: NDArray[np.bool_]
    vectors: Rows
    near: Near | None  # an approximate index of the first of them
    base: Base
    base_rows: NDArray[np.int32]  # document number below `base.folded` -> row, -1: gone
    tails: tuple[tuple[Tail, int], ...]
    k1: float
    b: float

    @property
    def rows(self) -> int:
        """Number of rows, dead ones too."""
        return len(self.doc_engram)

    def visible(self, engrams: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[rows] from bool[engrams]: the live documents of those engrams.

        An engram whose number is beyond the mask is not visible.
        """
        known = self.doc_engram < len(engrams)
        if known.all():
            seen: NDArray[np.bool_] = engrams[self.doc_engram] & self.live
            return seen
        seen = np.zeros(self.rows, np.bool_)
        seen[known] = engrams[self.doc_engram[known]]
        return seen & self.live

    def lexical(self, groups: Groups, visible: NDArray[np.bool_]) -> NDArray[np.float64]:
        """float64[rows]: BM25 with N, df and the mean length counted over the visible documents.

        Equal to the FTS extension's scores of an index over just those documents.
        """
        terms = {term for group in groups for term in group}
        held = self.postings_of(terms) if len(terms) > MANY_TERMS else None
        postings = self.postings if held is None else held.__getitem__
        return bm25.scores(groups, postings, self.doc_length, visible, k1=self.k1, b=self.b)

    def postings(self, term: str) -> Postings:
        """(rows, counts) of a term over base and tails, both int32[n]; dead rows among them."""
        return self._joined(term, self.base.fetch(term))

    def postings_of(self, terms: Iterable[str]) -> dict[str, Postings]:
        """The postings of several terms, in their order, each once."""
        wanted = tuple(dict.fromkeys(terms))
        folded, none = self.base.fetch_many(wanted), NoBase().fetch("")
        return {term: self._joined(term, folded.get(term, none)) for term in wanted}

    def _joined(self, term: str, folded: Numbered) -> Postings:
        found: list[Postings] = []
        docs, counts = folded
        if len(docs):
            rows = self.base_rows[docs]
            there = rows >= 0
            found.append((rows[there], counts[there]))
        for tail, origin in self.tails:
            rows, counts = tail.postings(term)
            known = int(np.searchsorted(rows, self.rows - origin))
            if known:
                found.append((rows[:known] + np.int32(origin), counts[:known]))
        if not found:
            return NO_POSTINGS
        if len(found) == 1:
            return found[0]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([tf for _, tf in found])

    def cosines(
        self, query: Vectors, wanted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """float64[rows] of cosines to float32[dimension]; NaN where there is no vector (yet).

        With `wanted`, bool[rows], only these are computed, and NaN stands for the others. The best
        ones are computed again in 64 bits: a float32 product differs in its last bits with its
        place in the matrix, and so with what else there is in the store.
        """
        found = np.full(self.rows, np.nan)
        if len(self.vectors):
            known = (self.doc_vector >= 0) & (self.doc_vector < len(self.vectors))
            if wanted is not None:
                known &= wanted
            documents = np.flatnonzero(known)
            near = self.vectors.products(self.doc_vector[documents], query)
            found[documents] = near
            best = documents[_best(near)]
            vectors = self.vectors[self.doc_vector[best]].astype(np.float64)
            found[best] = (vectors * query).sum(axis=1)
        return found


def _best(near: Vectors) -> NDArray[np.int64]:
    """Where the greatest numbers stand; nowhere, if too many are alike to be looked at again."""
    if len(near) <= SHARPENED:
        return np.arange(len(near))
    least = np.partition(near, len(near) - SHARPENED)[len(near) - SHARPENED]
    best = np.flatnonzero(near >= least)
    return best if len(best) <= 4 * SHARPENED else best[:0]
