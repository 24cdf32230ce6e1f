"""The vectors of embedded texts, one row a distinct text, in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Matrix:
    """float32[rows, dimension], append-only; written by one thread, read by any.

    A reader takes `view()` once: the rows in it never change, later ones are not in it.
    """

    def __init__(self) -> None:
        self._data: Vectors = np.zeros((0, 0), np.float32)
        self._count = 0
        self.row_of: dict[bytes, int] = {}

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while there is none."""
        return int(self._data.shape[1])

    def reserve(self, rows: int, dimension: int) -> None:
        """Make room for `rows` rows in all, so that loading them copies nothing twice."""
        if rows <= self._data.shape[0] and dimension == self.dimension:
            return
        grown: Vectors = np.empty((rows, dimension), np.float32)
        if self._count:
            grown[: self._count] = self._data[: self._count]
        self._data = grown

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> None:
        """Add the vectors of new texts (a hash that is there already is left as it is).

        Raises ValueError when their dimension is another one than before.
        """
        if self._count and vectors.shape[1] != self.dimension:
            raise ValueError(f"a vector of {vectors.shape[1]} floats, not of {self.dimension}")
        fresh = {hash: at for at, hash in enumerate(hashes) if hash not in self.row_of}
        needed = self._count + len(fresh)
        if needed > self._data.shape[0] or not self._count:
            self.reserve(max(needed, self._data.shape[0], 2 * self._count), vectors.shape[1])
        start = self._count
        self._data[start:needed] = vectors[list(fresh.values())]
        self._count = needed
        for offset, hash in enumerate(fresh):
            self.row_of[hash] = start + offset

    def view(self) -> Vectors:
        """float32[rows so far, dimension]."""
        return self._data[: self._count]
