"""The vectors of embedded texts, one row a distinct text, in blocks that never move once full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]

BLOCK_ROWS = 131_072  # 200 MB at 384 floats: a matrix that grows copies no more than this
_AT_ONCE = 1_024  # rows gathered at a time, so that their copy stays in the processor's cache
_GATHERED = 3  # up to a third of the rows, gathering is cheaper than the product with all


@dataclass(frozen=True, slots=True)
class Rows:
    """What a reader sees of a matrix: its first `count` rows, which never change."""

    blocks: tuple[Vectors, ...] = ()
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def __matmul__(self, query: Vectors) -> Vectors:
        """float32[count]: the product of every row with float32[dimension]."""
        found: Vectors = np.empty(self.count, np.float32)
        for start, block in self._filled():
            np.dot(block, query, out=found[start : start + len(block)])
        return found

    def __getitem__(self, rows: NDArray[np.signedinteger]) -> Vectors:
        """float32[len(rows), dimension]: copies of some rows."""
        if len(self.blocks) == 1:
            return np.take(self.blocks[0], rows, axis=0)
        dimension = self.blocks[0].shape[1] if self.blocks else 0
        found: Vectors = np.empty((len(rows), dimension), np.float32)
        for number in np.unique(rows // BLOCK_ROWS).tolist():
            inside = np.flatnonzero(rows // BLOCK_ROWS == number)
            found[inside] = self.blocks[number][rows[inside] - number * BLOCK_ROWS]
        return found

    def products(self, rows: NDArray[np.signedinteger], query: Vectors) -> Vectors:
        """float32[len(rows)]: the products of some rows with float32[dimension]."""
        if len(rows) * _GATHERED > self.count:
            return np.take(self @ query, rows)
        found: Vectors = np.empty(len(rows), np.float32)
        for first, block in self._filled():
            inside = np.flatnonzero((rows >= first) & (rows < first + len(block)))
            for start in range(0, len(inside), _AT_ONCE):
                some = inside[start : start + _AT_ONCE]
                found[some] = np.take(block, rows[some] - first, axis=0) @ query
        return found

    def tolist(self) -> list[list[float]]:
        """All rows as lists."""
        return [row for _, block in self._filled() for row in block.tolist()]

    def _filled(self) -> list[tuple[int, Vectors]]:
        """(first row, the rows that are there) of each block."""
        starts = range(0, self.count, BLOCK_ROWS)
        return [(start, self.blocks[start // BLOCK_ROWS][: self.count - start]) for start in starts]


class Near(Protocol):
    """An approximate index of the first `rows` rows of a matrix."""

    @property
    def rows(self) -> int: ...

    def nearest(self, query: Vectors, most: int) -> Numbers | None:
        """int64[up to most]: the rows that are most likely nearest; None: it cannot say."""
        ...


class Matrix:
    """float32[rows, dimension], append-only; written by one thread, read by any.

    A reader takes `view()` once: the rows in it never change, later ones are not in it. `near` is
    an index of them, and goes with them.
    """

    def __init__(self) -> None:
        self._blocks: list[Vectors] = []
        self._count = 0
        self.row_of: dict[bytes, int] = {}
        self.near: Near | None = None

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while there is none."""
        return int(self._blocks[0].shape[1]) if self._blocks else 0

    def reserve(self, rows: int, dimension: int) -> None:
        """Make room for `rows` rows in all, so that loading them copies nothing twice."""
        if not self._count and dimension != self.dimension:
            self._blocks = []
        blocks, start = list(self._blocks), 0
        while start < rows:
            number, wanted = start // BLOCK_ROWS, min(rows - start, BLOCK_ROWS)
            if number == len(blocks):
                blocks.append(np.empty((wanted, dimension), np.float32))
            elif len(blocks[number]) < wanted:
                grown: Vectors = np.empty((wanted, dimension), np.float32)
                grown[: len(blocks[number])] = blocks[number]
                blocks[number] = grown
            start += BLOCK_ROWS
        self._blocks = blocks

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> None:
        """Add the vectors of new texts (a hash that is there already is left as it is).

        Raises ValueError when their dimension is another one than before.
        """
        if self._count and vectors.shape[1] != self.dimension:
            raise ValueError(f"a vector of {vectors.shape[1]} floats, not of {self.dimension}")
        fresh = {hash: at for at, hash in enumerate(hashes) if hash not in self.row_of}
        rows = vectors[list(fresh.values())]
        needed = self._count + len(fresh)
        if needed > sum(map(len, self._blocks)) or not self._count:
            self.reserve(max(needed, self._doubled()), vectors.shape[1])
        for number, block in enumerate(self._blocks):
            first = number * BLOCK_ROWS
            low, high = max(first, self._count), min(first + len(block), needed)
            if low < high:
                block[low - first : high - first] = rows[low - self._count : high - self._count]
        for offset, hash in enumerate(fresh):
            self.row_of[hash] = self._count + offset
        self._count = needed

    def _doubled(self) -> int:
        """Twice the rows, but no further than to the end of the block that is being filled."""
        return min(2 * self._count, (self._count // BLOCK_ROWS + 1) * BLOCK_ROWS)

    def view(self) -> Rows:
        """The rows so far."""
        return Rows(tuple(self._blocks), self._count)
