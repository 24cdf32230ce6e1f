"""The vector of an engram: the normalised mean of its parts', by whose cosine engrams are found.

The cosine of a question q to it is sum(v . q) / |sum(v)| over the vectors v of the engram's parts
(the head's among them), so only the length |sum(v)| is kept, 20 bytes an engram.
"""

from __future__ import annotations

import threading

import numpy as np

from engine.fusion import Floats, Ints, Longs, Mask, fitted
from engine.matrix import Vectors
from engine.snapshot import Snapshot

_BATCH = 20_000  # vectors summed at a time: 30 MB


class EngramVectors:
    """Lengths of the summed vectors, kept from one call to the next and made anew as they change.

    An engram's sum is known by the first of its documents that has a vector and their number:
    documents never change and their vectors only arrive, until all of them go at once, by which
    the first vector of all becomes another one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._oldest: Vectors = np.zeros((0, 0), np.float32)
        self._first = np.zeros(0, np.int64)
        self._count = np.zeros(0, np.int32)
        self._length = np.zeros(0, np.float64)

    def cosines(self, snapshot: Snapshot, question: Vectors, counted: Mask, engrams: int) -> Floats:
        """float64[engrams], in 0..1; 0 for an engram without a vector or outside `counted`.

        `question` is float32[dimension] of length 1, `counted` bool[documents].
        """
        found = np.zeros(engrams, np.float64)
        known = (snapshot.doc_vector >= 0) & (snapshot.doc_vector < len(snapshot.vectors))
        rows = np.flatnonzero(counted & known)
        if not len(rows):
            return found
        owners = snapshot.doc_engram[rows]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))  # an engram's rows stand together
        cosines = snapshot.cosines(question)[rows].astype(np.float64)
        lengths = self._lengths(snapshot, rows, starts)
        numbers = owners[starts]
        found[numbers] = np.maximum(np.add.reduceat(cosines, starts), 0.0) / lengths
        return found

    def _lengths(self, snapshot: Snapshot, rows: Longs, starts: Longs) -> Floats:
        """float64[starts]: the lengths of the sums of the vectors of these runs of rows."""
        numbers: Ints = snapshot.doc_engram[rows[starts]]
        first = snapshot.doc_number[rows[starts]]
        count = np.diff(starts, append=len(rows))
        with self._lock:
            self._fit(snapshot, int(numbers.max()) + 1)
            stale = (self._first[numbers] != first) | (self._count[numbers] != count)
            which = np.flatnonzero(stale)
            self._length[numbers[which]] = _summed(snapshot, rows, starts[which], count[which])
            self._first[numbers], self._count[numbers] = first, count
            return self._length[numbers]

    def _fit(self, snapshot: Snapshot, engrams: int) -> None:
        oldest: Vectors = snapshot.vectors[np.zeros(1, np.int64)]
        if not np.array_equal(oldest, self._oldest):
            self._oldest = oldest
            self._count[:] = 0
        room = max(engrams, len(self._first))  # nothing is copied where it is there already
        self._first = fitted(self._first, room)
        self._count = fitted(self._count, room)
        self._length = fitted(self._length, room)


def _summed(snapshot: Snapshot, rows: Longs, starts: Longs, counts: Longs) -> Floats:
    """float64[starts]: |sum of the vectors| of each run of `counts` rows from `starts` on."""
    lengths = np.zeros(len(starts), np.float64)
    ends = np.cumsum(counts)
    done = 0
    while done < len(starts):
        before = ends[done - 1] if done else 0
        upto = max(int(np.searchsorted(ends, before + _BATCH, side="right")), done + 1)
        here = np.concatenate(
            [
                rows[start : start + count]
                for start, count in zip(starts[done:upto], counts[done:upto], strict=True)
            ]
        )
        sums = np.add.reduceat(
            snapshot.vectors[snapshot.doc_vector[here]],
            np.concatenate([[0], ends[done : upto - 1] - before]).astype(np.int64),
        )
        lengths[done:upto] = np.linalg.norm(sums, axis=1)
        done = upto
    # Vectors that cancel out leave no direction; such a mean is near nothing.
    return np.where(lengths > 0.0, lengths, np.inf)
