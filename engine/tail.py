"""Postings of documents that are not yet folded into the store's index, in memory, compactly."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Postings = tuple[NDArray[np.int32], NDArray[np.int32]]
NO_POSTINGS: Postings = (np.zeros(0, np.int32), np.zeros(0, np.int32))


class Tail:
    """Term -> (row, count) pairs, rows ascending; written by one thread, read by any.

    Pairs lie in one flat array a term, because a million small objects would take 60 MB. A reader
    copies it in one step and may see pairs of rows that are newer than its snapshot.
    """

    def __init__(self) -> None:
        self._pairs: dict[str, array[int]] = {}
        self.documents = 0

    def add(self, row: int, terms: Iterable[str]) -> None:
        """Add one document's terms (repeats counted)."""
        for term, count in Counter(terms).items():
            pairs = self._pairs.get(term)
            if pairs is None:
                self._pairs[term] = array("i", (row, count))
            else:
                pairs.extend((row, count))
        self.documents += 1

    def postings(self, term: str) -> Postings:
        """(rows, counts) of a term, both int32[n]."""
        pairs = self._pairs.get(term)
        if pairs is None:
            return NO_POSTINGS
        flat = np.frombuffer(pairs.tobytes(), np.int32)
        flat = flat[: len(flat) // 2 * 2].reshape(-1, 2)
        return flat[:, 0], flat[:, 1]

    def terms(self) -> list[str]:
        """Every term in it."""
        return list(self._pairs)

    def items(self) -> Iterator[tuple[str, NDArray[np.int32], NDArray[np.int32]]]:
        """(term, rows, counts) of every term; for a tail that is no longer written."""
        for term in self.terms():
            yield term, *self.postings(term)
