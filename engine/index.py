"""The index in memory: dense arrays of documents, postings not yet folded, and vectors.

Readers take a `Snapshot`: published in one assignment after every change, so that a search sees all
of a commit or nothing of it, and never waits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.matrix import Matrix, Near, Vectors
from engine.snapshot import Base, NoBase, Snapshot
from engine.tail import Tail

T = TypeVar("T", bound=np.generic)

HASH_BYTES = 16
NO_HASH = bytes(HASH_BYTES)  # of a part that is never embedded
PENDING = -1  # in `doc_vector`: no vector yet
NEVER = -2  # … and none will come
COMPACT_ROWS = 4_096  # dead rows below which it is not worth moving the others


@dataclass(frozen=True, slots=True)
class Documents:
    """The parts of one version about to be indexed.

    `lengths` int32[n] are their numbers of terms, `hashes` those of their embedded texts (NO_HASH:
    never embedded). `terms` None: their postings are in the base already.
    """

    no: int
    first_doc: int
    lengths: Sequence[int] | NDArray[np.int32]
    hashes: Sequence[bytes]
    terms: Sequence[Sequence[str]] | None


class Index:
    """The writer's side. Every method that changes it is called under the store's writer lock."""

    def __init__(self, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._count = 0
        self._engram = np.zeros(0, np.int32)
        self._position = np.zeros(0, np.int32)
        self._length = np.zeros(0, np.int32)
        self._number = np.zeros(0, np.int64)
        self._vector = np.zeros(0, np.int32)
        self._hash = np.zeros((0, HASH_BYTES), np.uint8)
        self._live = np.zeros(0, np.bool_)
        self._rows_of: dict[int, tuple[int, int]] = {}  # engram -> first row, number of rows
        self._missing: dict[bytes, list[int]] = {}  # hash -> rows; the newest last
        self._matrix = Matrix()
        self._base: Base = NoBase()
        self._base_rows = np.zeros(0, np.int32)
        self._tails: tuple[tuple[Tail, int], ...] = ((Tail(), 0),)
        self._lock = threading.Lock()
        self._snapshot = self._picture()

    # -- reading ----------------------------------------------------------------
    def snapshot(self) -> Snapshot:
        """What one search reads, all of it at one moment."""
        return self._snapshot

    @property
    def documents(self) -> int:
        """Live documents."""
        return int(np.count_nonzero(self._snapshot.live))

    @property
    def tail_documents(self) -> int:
        """Documents that are not folded yet."""
        return sum(tail.documents for tail, _ in self._snapshot.tails)

    @property
    def dimension(self) -> int:
        """Length of the vectors; 0 while there is none."""
        return self._matrix.dimension

    def has_vector(self, hash: bytes) -> bool:
        """Whether the text of this hash is embedded."""
        return hash in self._matrix.row_of

    def pending(self, limit: int | None = None) -> list[bytes]:
        """Hashes of live parts' texts that have no vector, the newest text first."""
        with self._lock:
            return list(islice(reversed(self._missing), limit))

    @property
    def pending_count(self) -> int:
        """Number of texts that searches have no vector of."""
        with self._lock:  # a vector that is not published yet is not there
            return len(self._missing)

    def rows_waiting(self, hash: bytes) -> list[tuple[int, int]]:
        """(engram, position) of the live parts that wait for the vector of a text."""
        with self._lock:
            return [
                (int(self._engram[row]), int(self._position[row]))
                for row in self._missing.get(hash, ())
            ]

    # -- documents -----------------------------------------------------------------
    def add_many(self, many: Iterable[Documents], *, killed: Iterable[int] = ()) -> None:
        """Several engrams have new documents, others none any more, in one step for readers.

        Document numbers must be above all before them.
        """
        with self._lock:
            for no in killed:
                self._kill(no)
            for documents in many:
                self._kill(documents.no)
                self._append(documents)
            self._snapshot = self._picture()

    # -- vectors ----------------------------------------------------------------------
    def add_vectors(self, hashes: Sequence[bytes], vectors: Vectors) -> None:
        """The vectors (float32[n, dimension], of length 1) of some texts.

        Raises ValueError when the dimension differs from that of those before.
        """
        if not len(hashes):
            return
        with self._lock:
            self._matrix.add(hashes, vectors)
            for hash in hashes:
                rows = self._missing.pop(hash, None)
                if rows is not None:
                    self._vector[rows] = self._matrix.row_of[hash]
            self._snapshot = self._picture()

    def reserve_vectors(self, rows: int, dimension: int) -> None:
        """Make room, before many are loaded."""
        with self._lock:
            self._matrix.reserve(rows, dimension)

    @property
    def matrix(self) -> Matrix:
        """The vectors; another one after `drop_vectors`."""
        return self._matrix

    def set_near(self, matrix: Matrix, near: Near | None) -> None:
        """Searches may ask an approximate index of `matrix` from now on, or none any more."""
        with self._lock:
            matrix.near = near
            self._snapshot = self._picture()

    def drop_vectors(self) -> None:
        """Another model: every text waits for its vector again."""
        with self._lock:
            n = self._count
            self._vector = np.where(self._vector >= 0, np.int32(PENDING), self._vector)
            self._missing = {}
            for row in np.flatnonzero(self._live[:n] & (self._vector[:n] == PENDING)).tolist():
                self._await(row)
            self._matrix = Matrix()
            self._snapshot = self._picture()

    # -- folding --------------------------------------------------------------------------
    def freeze_tail(self) -> tuple[Snapshot, tuple[tuple[Tail, int], ...]]:
        """Begin a fold: (what is there now, its tails); later documents go to a new tail."""
        with self._lock:
            if self._tails[-1][0].documents:
                self._tails = (*self._tails, (Tail(), self._count))
                self._snapshot = self._picture()
            return self._snapshot, self._tails[:-1]

    def set_base(self, base: Base, folded: Sequence[tuple[Tail, int]]) -> None:
        """End a fold, or open: `base` holds all documents below `base.folded`.

        The tails `folded` hold no others and go; those that stay hold none of them.
        """
        with self._lock:
            gone = {id(tail) for tail, _ in folded}
            self._tails = tuple(pair for pair in self._tails if id(pair[0]) not in gone)
            below = int(np.searchsorted(self._number[: self._count], base.folded))
            dead = below - int(np.count_nonzero(self._live[:below]))
            if dead > max(COMPACT_ROWS, below // 2):
                below = self._compact(below)
            self._base = base
            self._base_rows = np.full(base.folded, -1, np.int32)
            self._base_rows[self._number[:below]] = np.arange(below, dtype=np.int32)
            self._snapshot = self._picture()

    # -- inside -----------------------------------------------------------------------------
    def _kill(self, no: int) -> None:
        first, count = self._rows_of.pop(no, (0, 0))
        self._live[first : first + count] = False
        for row in range(first, first + count):
            if self._vector[row] == PENDING:
                hash = self._hash[row].tobytes()
                rows = self._missing[hash]
                rows.remove(row)
                if not rows:
                    del self._missing[hash]

    def _append(self, documents: Documents) -> None:
        count = len(documents.lengths)
        first = self._count
        if first and documents.first_doc <= self._number[first - 1]:
            raise ValueError(f"document {documents.first_doc} after {self._number[first - 1]}")
        self._grow(first + count)
        rows = slice(first, first + count)
        self._engram[rows] = documents.no
        self._position[rows] = np.arange(count)
        self._length[rows] = documents.lengths
        self._number[rows] = np.arange(documents.first_doc, documents.first_doc + count)
        self._live[rows] = True
        hashes = np.frombuffer(b"".join(documents.hashes), np.uint8)
        self._hash[rows] = hashes.reshape(count, HASH_BYTES)
        known = self._matrix.row_of
        self._vector[rows] = [
            NEVER if hash == NO_HASH else known.get(hash, PENDING) for hash in documents.hashes
        ]
        for row, hash in enumerate(documents.hashes, first):
            if hash != NO_HASH and hash not in known:
                self._await(row)
        if documents.terms is not None:
            tail, origin = self._tails[-1]
            for row, terms in enumerate(documents.terms, first):
                tail.add(row - origin, terms)
        self._rows_of[documents.no] = (first, count)
        self._count = first + count

    def _await(self, row: int) -> None:
        """The text of a row waits for its vector, as the newest."""
        hash = self._hash[row].tobytes()
        rows = self._missing.pop(hash, [])
        rows.append(row)
        self._missing[hash] = rows

    def _grow(self, rows: int) -> None:
        room = len(self._engram)
        if rows <= room:
            return
        room = max(rows, 2 * room, 1_024)
        self._engram = _longer(self._engram, room)
        self._position = _longer(self._position, room)
        self._length = _longer(self._length, room)
        self._number = _longer(self._number, room)
        self._vector = _longer(self._vector, room)
        self._hash = _longer(self._hash, room)
        self._live = _longer(self._live, room)

    def _compact(self, below: int) -> int:
        """Drop the dead ones of the first `below` rows; returns how many stay of these."""
        stays = np.ones(self._count, np.bool_)
        stays[:below] = self._live[:below]
        moved = np.cumsum(stays) - 1
        dropped = self._count - int(np.count_nonzero(stays))
        for name in ("_engram", "_position", "_length", "_number", "_vector", "_hash", "_live"):
            setattr(self, name, getattr(self, name)[: self._count][stays])
        self._count -= dropped
        self._rows_of = {no: (int(moved[at]), n) for no, (at, n) in self._rows_of.items()}
        self._missing = {
            hash: [int(moved[row]) for row in rows] for hash, rows in self._missing.items()
        }
        self._tails = tuple((tail, origin - dropped) for tail, origin in self._tails)
        return below - dropped

    def _picture(self) -> Snapshot:
        n = self._count
        return Snapshot(
            doc_engram=self._engram[:n], doc_position=self._position[:n],
            doc_length=self._length[:n], doc_number=self._number[:n], doc_vector=self._vector[:n],
            live=self._live[:n].copy(), vectors=self._matrix.view(), near=self._matrix.near,
            base=self._base, base_rows=self._base_rows, tails=self._tails, k1=self._k1, b=self._b,
        )  # fmt: skip


def _longer(array: NDArray[T], room: int) -> NDArray[T]:
    longer = np.zeros((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
