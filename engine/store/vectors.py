"""The vectors as stored: one row a distinct embedded text, all of one model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import StoreCorrupt, Unsupported
from engine.store import meta
from engine.store.extensions import Cursor
from engine.store.versions import DOCUMENT, HASH_BYTES, NO_HASH, unpack_documents

Vectors = NDArray[np.float32]

_ANEW = "vectors_anew"  # meta: the fingerprint of the model that is making all vectors anew


@dataclass(frozen=True, slots=True)
class Model:
    """Which model made the vectors, and how long they are."""

    fingerprint: str
    dimension: int


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


def load(cursor: Cursor, dimension: int, batch: int) -> Iterator[tuple[list[bytes], Vectors]]:
    """All vectors, `batch` at a time: (hashes, float32[n, dimension])."""
    cursor.execute("SELECT hash, embedding FROM vector")
    while rows := cursor.fetchmany(batch):
        joined = b"".join(row[1] for row in rows)
        if len(joined) != 4 * dimension * len(rows):
            raise StoreCorrupt(
                f"the store holds vectors that are not of {dimension} numbers",
                "run `engramfs reindex --embed`",
            )
        matrix = np.frombuffer(joined, "<f4").reshape(-1, dimension)
        yield [row[0] for row in rows], matrix.astype(np.float32, copy=False)


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


def drop_damaged(cursor: Cursor, dimension: int) -> int:
    """Drop the vectors that are not of so many numbers; returns how many."""
    rows = cursor.execute(
        f"DELETE FROM vector WHERE octet_length(embedding) <> {4 * dimension} "
        f"OR octet_length(hash) <> {HASH_BYTES}"
    ).fetchall()
    return int(rows[0][0])


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
