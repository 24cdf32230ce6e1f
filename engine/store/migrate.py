"""Bring a store's schema up to date: numbered SQL files, each applied once, in a transaction.

A file holds definitions only (DuckDB refuses ALTER after changed rows in one transaction); the
number of the last one applied is the last thing written of it.
"""

from __future__ import annotations

from importlib import resources

from engine.errors import SchemaTooNew, StoreCorrupt
from engine.store import meta
from engine.store.extensions import Cursor

Migration = tuple[int, str]


def packaged() -> list[Migration]:
    """(number, SQL) of the migrations that come with the program, in order, from 1 without gap."""
    folder = resources.files("engine.store") / "migrations"
    found = sorted(
        (int(file.name.split("_", 1)[0]), file.read_text("utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    )
    if [number for number, _ in found] != list(range(1, len(found) + 1)) or not found:
        raise StoreCorrupt(
            "the program's SQL migrations are not numbered from 1 without a gap",
            "install engramfs again",
        )
    return found


def migrate(cursor: Cursor, place: str, migrations: list[Migration] | None = None) -> int:
    """Apply what is missing and return the schema's number.

    Raises SchemaTooNew when the store has more than the program knows, StoreCorrupt when the file
    holds tables of something else.
    """
    known = packaged() if migrations is None else migrations
    current = _schema(cursor, place)
    if current > known[-1][0]:
        raise SchemaTooNew(
            f"the store {place} has schema {current}, this program knows {known[-1][0]}",
            "use the release of engramfs that wrote it, or a later one",
        )
    for number, sql in known:
        if number <= current:
            continue
        cursor.execute("BEGIN")
        try:
            cursor.execute(sql)
            meta.put(cursor, "schema", number)
            cursor.execute("COMMIT")
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        current = number
    return current


def _schema(cursor: Cursor, place: str) -> int:
    tables = {
        str(row[0])
        for row in cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_catalog = "
            "current_database()"
        ).fetchall()
    }
    if not tables:
        return 0
    if "meta" not in tables or "version" not in tables:
        raise StoreCorrupt(
            f"the file engramfs.duckdb in {place} holds tables that are not a store's",
            "give another directory",
        )
    return meta.number(cursor, "schema")
