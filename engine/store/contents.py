"""Single rows of `version`: an engram's bytes with their checksum, or its state alone."""

from __future__ import annotations

import json

from engine.store.extensions import Cursor
from engine.store.versions import Version


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
