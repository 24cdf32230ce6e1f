"""What the store knows about itself: one text a key."""

from __future__ import annotations

from engine.errors import StoreCorrupt
from engine.store.extensions import Cursor


def get(cursor: Cursor, key: str) -> str | None:
    """The text of a key, or None."""
    row = cursor.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
    return None if row is None else str(row[0])


def number(cursor: Cursor, key: str, default: int = 0) -> int:
    """The number of a key; StoreCorrupt where it holds something else."""
    text = get(cursor, key)
    try:
        return default if text is None else int(text)
    except ValueError as error:
        raise StoreCorrupt(
            f"the store says {text!r} where its {key} should be, which is a number",
            "restore engramfs.duckdb from a backup",
        ) from error


def put(cursor: Cursor, key: str, value: str | int) -> None:
    """Set a key."""
    changed = cursor.execute("UPDATE meta SET value = ? WHERE key = ?", [str(value), key])
    row = changed.fetchone()
    if row is None or row[0] == 0:
        cursor.execute("INSERT INTO meta VALUES (?, ?)", [key, str(value)])
