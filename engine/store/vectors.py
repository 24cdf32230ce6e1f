"""The vectors as stored: one row a distinct embedded text, all of one model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import Unsupported
from engine.store import meta
from engine.store.documents import DOCUMENT, HASH_BYTES, NO_HASH, unpack_documents
from engine.store.extensions import Cursor

Vectors = NDArray[np.float32]

UNIT = 1e-3  # how far the length of a vector may be from 1
TROUBLE = "vectors"  # in `Store.troubles`: stored ones were damaged
_ANEW = "vectors_anew"  # meta: the fingerprint of the model that is making all vectors anew


@dataclass(frozen=True, slots=True)
class Model:
    """Which model made the vectors, and how long they are."""

    fingerprint: str
    dimension: int


def are_unit(vectors: Vectors) -> NDArray[np.bool_]:
    """bool[n]: which of the vectors float32[n, dimension] are of length 1; none that has a nan."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        return np.asarray(np.abs(lengths - 1.0) <= UNIT)


def model(cursor: Cursor) -> Model | None:
    """The model of the vectors in the store; None while it never had one."""
    fingerprint = meta.get(cursor, "model_fingerprint")
    if fingerprint is None:
        return None
    return Model(fingerprint, meta.number(cursor, "model_dimension"))


def agree(cursor: Cursor, wanted: Model) -> None:
    """Take `wanted` as the store's model, if it has none yet or no vector.

    Raises Unsupported when the vectors are another model's: they are never mixed.
    """
    present = model(cursor)
    if present == wanted:
        return
    if present is not None and count(cursor):
        raise Unsupported(
            f"the vectors in the store are of the model {present.fingerprint} "
            f"({present.dimension} numbers), not of {wanted.fingerprint} ({wanted.dimension})",
            "run `engramfs reindex --embed` to embed everything with the new model, or configure "
            "the old one",
        )
    meta.put(cursor, "model_fingerprint", wanted.fingerprint)
    meta.put(cursor, "model_dimension", wanted.dimension)


def count(cursor: Cursor) -> int:
    """Number of vectors."""
    row = cursor.execute("SELECT count(*) FROM vector").fetchone()
    return int(row[0]) if row else 0


def load(
    cursor: Cursor, dimension: int, batch: int, damaged: list[int]
) -> Iterator[tuple[list[bytes], Vectors]]:
    """All sound vectors, `batch` rows at a time: (hashes, float32[n, dimension]).

    Those that are not of so many numbers or not of length 1 are left out: their rows' numbers are
    added to `damaged`.
    """
    size = 4 * dimension
    cursor.execute("SELECT rowid, hash, embedding FROM vector")
    while rows := cursor.fetchmany(batch):
        whole = [row for row in rows if len(row[2]) == size and len(row[1]) == HASH_BYTES]
        joined = b"".join(row[2] for row in whole)
        matrix = np.frombuffer(joined, "<f4").reshape(-1, dimension).astype(np.float32, copy=False)
        sound = are_unit(matrix)
        if not sound.all():
            whole, matrix = [whole[at] for at in np.flatnonzero(sound)], matrix[sound]
        if len(whole) < len(rows):
            kept = {row[0] for row in whole}
            damaged += [row[0] for row in rows if row[0] not in kept]
        yield [row[1] for row in whole], matrix


def add(cursor: Cursor, hashes: Sequence[bytes], vectors: Vectors) -> None:
    """Store the vectors (float32[n, dimension]) of texts that have none."""
    if len(hashes):
        rows = np.ascontiguousarray(vectors, "<f4")
        cursor.execute(
            "INSERT INTO vector SELECT unnest(?::BLOB[]), unnest(?::BLOB[])",
            [list(hashes), [row.tobytes() for row in rows]],
        )


def drop_all(cursor: Cursor) -> None:
    """Forget every vector: another model embeds everything again."""
    cursor.execute("DELETE FROM vector")


def begin_anew(cursor: Cursor, wanted: str) -> None:
    """Forget every vector, and remember until `end_anew` that a model makes them anew."""
    drop_all(cursor)
    meta.put(cursor, _ANEW, wanted)


def is_anew(cursor: Cursor, wanted: str) -> bool:
    """Whether the model of a fingerprint has begun to make every vector anew, and not ended."""
    return meta.get(cursor, _ANEW) == wanted


def end_anew(cursor: Cursor) -> None:
    """Every vector is made."""
    if meta.get(cursor, _ANEW):
        meta.put(cursor, _ANEW, "")


def drop_damaged(cursor: Cursor, damaged: Sequence[int]) -> None:
    """Drop the rows that `load` left out."""
    numbers = ", ".join(map(str, damaged))
    cursor.execute(f"DELETE FROM vector WHERE rowid IN ({numbers})")


def drop_unused(cursor: Cursor) -> int:
    """Drop the vectors of texts that no kept version has; returns how many."""
    used = {NO_HASH}
    cursor.execute("SELECT documents FROM version")
    while rows := cursor.fetchmany(10_000):
        for (packed,) in rows:
            if len(packed) % DOCUMENT.itemsize == 0:  # else a damaged row, which `check` names
                used.update(unpack_documents(packed)[1])
    stored = [row[0] for row in cursor.execute("SELECT hash FROM vector").fetchall()]
    unused = [hash for hash in stored if hash not in used or len(hash) != HASH_BYTES]
    if unused:
        cursor.execute("DELETE FROM vector WHERE hash IN (SELECT unnest(?::BLOB[]))", [unused])
    return len(unused)
