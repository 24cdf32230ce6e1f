"""Single rows of `version`: an engram's bytes with their checksum, or its state alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.store.extensions import Cursor
from engine.store.versions import Version

_TERMS = 20_000  # terms whose postings are read at a time


def sealed(cursor: Cursor, seq: int) -> tuple[str, bytes] | None:
    """(SHA-256 in hexadecimal, bytes) of the row `seq` (an entry's `source_seq`).

    None when the row is missing, holds no bytes or cannot be read.
    """
    row = cursor.execute("SELECT state, source FROM version WHERE seq = ?", [seq]).fetchone()
    if row is None or row[1] is None:
        return None
    try:
        state = json.loads(row[0])
        return str(state["sha256"]), bytes(row[1])
    except (ValueError, KeyError, TypeError):
        return None


def bare(cursor: Cursor, seq: int) -> Version | None:
    """One row without source, parts and terms; None when it is missing or cannot be read."""
    row = cursor.execute(
        "SELECT seq, engram, state, documents FROM version WHERE seq = ?", [seq]
    ).fetchone()
    if row is None:
        return None
    try:
        values = json.loads(row[2])
        namespace = tuple((name, value) for name, value in values.pop("namespace"))
        return Version(
            seq=row[0], engram=row[1], documents=bytes(row[3]), namespace=namespace, **values
        )
    except (ValueError, KeyError, TypeError):
        return None


def postings(
    cursor: Cursor, table: str
) -> Iterator[tuple[list[str], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]]:
    """The postings of a folded table, some terms at a time.

    (texts of those terms, index into the texts int32[n], document int64[n], count int32[n]).
    """
    row = cursor.execute("SELECT max(id) FROM term").fetchone()
    end = int(row[0]) + 1 if row is not None and row[0] is not None else 0
    for first in range(0, end, _TERMS):
        texts = [""] * _TERMS
        for id, text in cursor.execute(
            f"SELECT id, text FROM term WHERE id >= {first} AND id < {first + _TERMS}"
        ).fetchall():
            texts[id - first] = text
        found = cursor.execute(
            f"SELECT term - {first} AS term, doc, tf FROM {table} "
            f"WHERE term >= {first} AND term < {first + _TERMS}"
        ).fetchnumpy()
        yield texts, found["term"], found["doc"], found["tf"]
