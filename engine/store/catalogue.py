"""The catalogue as stored: one row a kind, replaced as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from engine.store.extensions import Cursor

KindRow = tuple[str, str]  # name ("": groups and recipes), its part of kinds.yaml as JSON


def load(cursor: Cursor) -> list[KindRow]:
    """The rows in the order of kinds.yaml."""
    return cursor.execute("SELECT name, spec FROM kind ORDER BY ordinal").fetchall()


def replace(cursor: Cursor, rows: Sequence[KindRow]) -> None:
    """Store a catalogue in place of the one before, in the caller's transaction."""
    cursor.execute("DELETE FROM kind")
    for ordinal, (name, spec) in enumerate(rows):
        cursor.execute("INSERT INTO kind VALUES (?, ?, ?)", [name, ordinal, spec])
