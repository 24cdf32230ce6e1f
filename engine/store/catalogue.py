"""The catalogue as stored: one row a kind, replaced as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.store.extensions import Cursor


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind and its part of kinds.yaml as JSON text; the name "" holds groups and recipes."""

    name: str
    spec: str


def load(cursor: Cursor) -> list[KindRow]:
    """The rows in the order of kinds.yaml."""
    return [
        KindRow(name, spec)
        for name, spec in cursor.execute("SELECT name, spec FROM kind ORDER BY ordinal").fetchall()
    ]


def replace(cursor: Cursor, rows: Sequence[KindRow]) -> None:
    """Store a catalogue in place of the one before, in the caller's transaction."""
    cursor.execute("DELETE FROM kind")
    for ordinal, row in enumerate(rows):
        cursor.execute("INSERT INTO kind VALUES (?, ?, ?)", [row.name, ordinal, row.spec])
