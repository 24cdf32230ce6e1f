"""What the store knows about itself: one text a key."""

from __future__ import annotations

from engine.store.extensions import Cursor


def get(cursor: Cursor, key: str) -> str | None:
    """The text of a key, or None."""
    row = cursor.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
    return None if row is None else str(row[0])


def number(cursor: Cursor, key: str, default: int = 0) -> int:
    """The number of a key."""
    text = get(cursor, key)
    return default if text is None else int(text)


def put(cursor: Cursor, key: str, value: str | int) -> None:
    """Set a key."""
    changed = cursor.execute("UPDATE meta SET value = ? WHERE key = ?", [str(value), key])
    row = changed.fetchone()
    if row is None or row[0] == 0:
        cursor.execute("INSERT INTO meta VALUES (?, ?)", [key, str(value)])
