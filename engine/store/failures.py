"""What DuckDB says when something fails, in the engine's own errors.

Every `duckdb.Error` is turned into an EngineError here and nowhere else; the original is kept as
the cause. The texts are those of DuckDB 1.5.5, each shown by a test.
"""

from __future__ import annotations

import re

import duckdb

from engine.errors import EngineError, SchemaTooNew, StoreCorrupt, StoreFull, StoreHeld

_FULL = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")
_CORRUPT = (
    "Corrupt database file",
    "does not match stored checksum",
    "not a valid DuckDB database file",
    "Failure while replaying WAL",
    "Failed to deserialize",
    "Serialization Error",
    "Could not read enough bytes from file",
    "Could not read from file",
)
_HOLDER = re.compile(r"Conflicting lock is held in (.*?) ?\(PID (\d+)\)")


def is_fatal(error: duckdb.Error) -> bool:
    """DuckDB answers nothing more until the database is opened again."""
    return isinstance(error, duckdb.FatalException | duckdb.InternalException) or (
        "database has been invalidated" in str(error)
    )


def translate(error: duckdb.Error, place: str) -> EngineError:
    """The engine's error for DuckDB's; `place` names the store in the sentence."""
    text = str(error)
    first_line = text.split("\n", 1)[0]
    if any(mark in text for mark in _FULL):
        return full(place)
    if "Could not set lock" in text:
        found = _HOLDER.search(text)
        return held(place, f"process {found[2]}" if found else "another process")
    if "Cannot open file" in text:
        return EngineError(
            f"the store {place} cannot be opened: {first_line}",
            "give another directory, or the right to write to this one",
        )
    if "trying to read a database file with version number" in text:
        return SchemaTooNew(
            f"the store {place} is in a file format that this DuckDB cannot read: {first_line}",
            "use the release of engramfs that wrote it",
        )
    if "sqlite_scanner" in text:
        return StoreCorrupt(
            f"the file engramfs.duckdb in {place} is a database of SQLite",
            "give another directory",
        )
    if any(mark in text for mark in _CORRUPT):
        return StoreCorrupt(
            f"the store {place} is damaged: {first_line}",
            "restore engramfs.duckdb from a backup; the damaged file is left as it is",
        )
    if isinstance(error, duckdb.CatalogException):
        return StoreCorrupt(
            f"the tables of the store {place} are not those that were made: {first_line}",
            "restore engramfs.duckdb from a backup; the damaged file is left as it is",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(
            f"the store {place} needs more memory than it may use: {first_line}",
            "raise store_memory_small, store_memory_medium or store_memory_large",
        )
    if is_fatal(error):
        return EngineError(
            f"the database of the store {place} stopped and was opened again: {first_line}",
            "nothing of this operation was written; try it again",
        )
    return EngineError(f"the store {place} could not do this: {first_line}")


def full(place: str) -> StoreFull:
    """The disk has no room for the store."""
    return StoreFull(
        f"no space left on the disk that holds the store {place}",
        "nothing was written; free some space and try again",
    )


def held(place: str, holder: str) -> StoreHeld:
    """Somebody else has the store open."""
    return StoreHeld(
        f"the store {place} is held by {holder}",
        "use it through its mount, or stop that process first",
    )
